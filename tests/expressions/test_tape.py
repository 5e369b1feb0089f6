"""The tape computes what the expressions say."""

import numpy as np
import pytest
import sympy

from fepysr_dyn.errors import ExpressionError
from fepysr_dyn.expressions import compile_expression, parse
from fepysr_dyn.expressions.tape import record
from fepysr_dyn.expressions.tape_kernel import run_tape, run_tape_on_lanes

FORMULAS = [
    "x + 2*y - z/3",
    "x**3/(1 + y**2)",
    "x**-2 + y**-0.5",
    "exp(-x)*sin(y) + cos(z)*tan(x)",
    "tanh(x) + sinh(y) + cosh(z) + atan(x*y)",
    "sqrt(x) + log(y) + abs(z - 1) + sign(x - y)",
    "hill(x, 0.5, 4) + michaelis_menten(y, z)",
    "x**y + y**1.7",
    "Min(x, y, z) + Max(x, 2*y)",
    "Piecewise((x, y < 1), (z, (y >= 2) & (x > 1)), (x*y, True))",
    "Piecewise((1, (x < 0.5) | (z <= 1)), (0, True))",
    "3.5",
]


def evaluate(tape, point):
    registers = np.zeros(tape.registers)
    registers[: len(point)] = point
    registers[len(point) : tape.first_result] = tape.constants
    run_tape(tape.operations, tape.first_result, registers)
    return registers[tape.outputs]


def test_tape_agrees_with_numpy():
    expressions = [parse(text) for text in FORMULAS]
    tape = record(expressions, ["x", "y", "z"])
    points = np.random.default_rng(0).uniform(0.1, 3.0, (50, 3))
    expected = np.array([compile_expression(e, ["x", "y", "z"])(*points.T) for e in expressions]).T
    found = np.array([evaluate(tape, point) for point in points])
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_lanes_agree_with_one_row_of_registers():
    tape = record([parse(text) for text in FORMULAS], ["x", "y", "z"])
    points = np.random.default_rng(1).uniform(0.1, 3.0, (50, 3))
    registers = np.zeros((tape.registers, len(points)))
    registers[:3] = points.T
    registers[3 : tape.first_result] = tape.constants[:, None]
    run_tape_on_lanes(tape.operations, tape.first_result, registers)
    one_by_one = np.array([evaluate(tape, point) for point in points])
    np.testing.assert_allclose(registers[tape.outputs].T, one_by_one, rtol=1e-13)


@pytest.mark.parametrize("text", ["log(x)", "sqrt(x)", "x**0.5", "1/(x + 1)"])
def test_undefined_values_are_not_finite(text):
    assert not np.isfinite(evaluate(record([parse(text)], ["x"]), [-1.0])[0])


def test_common_parts_are_computed_once():
    x = sympy.Symbol("x")
    tape = record([sympy.exp(x**2), 1 + sympy.exp(x**2)], ["x"])
    assert len(tape.operations) == 3


def test_unknown_variables_are_refused():
    with pytest.raises(ExpressionError, match="'y' is not among"):
        record([sympy.Symbol("y")], ["x"])
