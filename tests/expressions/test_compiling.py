from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import symbols

from fepysr_dyn.errors import ExpressionError
from fepysr_dyn.expressions import compile_expression, compile_scalar, free_constants, parse

x, y = symbols("x y")
POINTS = np.array([-1.5, -0.2, 0.0, 0.7, 2.0])


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("x**2 + 1", lambda v: v**2 + 1),
        ("3", lambda v: 3.0 + 0 * v),
        ("Max(x, 0)", lambda v: np.maximum(v, 0)),
        ("Min(x, 0, -1)", lambda v: np.minimum(v, -1)),
        ("abs(x)*sign(x)", lambda v: v),
        (
            "Piecewise((x, x < 0), (x**2, x < 1), (5, True))",
            lambda v: np.where(v < 0, v, np.where(v < 1, v**2, 5)),
        ),
        ("exp(-x)*tanh(x) + atan(x)", lambda v: np.exp(-v) * np.tanh(v) + np.arctan(v)),
        ("sqrt(x**2)", np.abs),
        ("1/x", lambda v: np.where(v == 0, np.inf, 1 / np.where(v == 0, 1, v))),
        ("sin(10**50)*x", lambda v: float(sympy.sin(sympy.Float(1e50, 80))) * v),
    ],
)
def test_values_on_arrays(text: str, function) -> None:
    found = compile_expression(parse(text), ["x"])(POINTS)
    expected = function(POINTS)
    finite = np.isfinite(expected)
    if "10**50" not in text:
        assert np.allclose(found[finite], expected[finite], rtol=1e-13)
    assert found.shape == POINTS.shape and found.dtype == np.float64


def test_undefined_points_are_not_finite_and_silent() -> None:
    with np.errstate(all="raise"):
        assert np.isnan(compile_expression(parse("log(x)"), ["x"])(np.array([-1.0])))[0]
        assert np.isnan(compile_expression(parse("sqrt(x)"), ["x"])(np.array([-1.0])))[0]
        assert np.isinf(compile_expression(parse("exp(x)"), ["x"])(np.array([1e4])))[0]


def test_order_of_variables_and_broadcasting() -> None:
    function = compile_expression(x - 2 * y, ["y", "x"])
    assert function(np.array([1.0, 2.0]), np.array(10.0)).tolist() == [8.0, 6.0]
    assert compile_expression(sympy.Integer(2), ["x", "y"])(np.zeros((2, 3)), np.zeros(3)).shape == (2, 3)


def test_compiled_once() -> None:
    assert compile_expression(x**3 + y, ["x", "y"]) is compile_expression(x**3 + y, ["x", "y"])


def test_unknown_variables_are_named() -> None:
    with pytest.raises(ExpressionError, match=r"uses \['y'\]"):
        compile_expression(x + y, ["x"])


def test_hostile_names_never_reach_the_code() -> None:
    names = ["lambda", "None", "__import__", "v0", "numpy", "exp_", "part0", "x0"]
    expression = sympy.Add(*(sympy.Symbol(name) * (i + 1) for i, name in enumerate(names)))
    nested = sympy.sin(sympy.cos(sympy.sin(sympy.cos(expression))))
    values = [np.array([0.1 * i]) for i in range(len(names))]
    total = sum((i + 1) * 0.1 * i for i in range(len(names)))
    assert compile_expression(expression, names)(*values)[0] == pytest.approx(total)
    assert compile_expression(nested, names)(*values)[0] == pytest.approx(
        np.sin(np.cos(np.sin(np.cos(total))))
    )


def test_scalars_raise_instead_of_returning_infinity() -> None:
    function = compile_scalar([1 / x, sympy.log(x), sympy.exp(x)], ["x"])
    assert function(2.0) == pytest.approx([0.5, np.log(2), np.exp(2)])
    with pytest.raises((ZeroDivisionError, ValueError)):
        function(0.0)
    with pytest.raises(OverflowError):
        function(1e4)


def test_free_constants() -> None:
    template = free_constants(2 * x + 0.5 * sympy.sin(1.5 * x) + 3 * x**2)
    assert sorted(template.values) == [0.5, 1.5]
    assert template.expression.free_symbols == {x, *symbols("c_0 c_1")}
    everything = free_constants(2 * x + 0.5 - x**2, rationals=True)
    assert sorted(everything.values) == [0.5, 2.0]  # neither the exponent nor the sign
    assert free_constants(x + y).parameters == ()


def test_free_constants_of_branches() -> None:
    template = free_constants(parse("Piecewise((0.5*x, x < 1.5), (Max(x, 2.5), True))"))
    assert sorted(template.values) == [0.5, 1.5, 2.5]
    value, _ = template.functions(["x"])
    assert value(np.array(template.values), np.array([1.0, 2.0, 3.0])).tolist() == [0.5, 2.5, 3.0]


def test_parameters_never_collide_with_variables() -> None:
    c = sympy.Symbol("c_0")
    template = free_constants(2.5 * c)
    assert template.parameters != ("c_0",)
    assert template.with_values([4.0]) == 4.0 * c


@pytest.mark.parametrize(
    "text", ["0.5*x**2 + 1.5", "1.2*tanh(0.7*x)/(0.3 + abs(x))", "exp(-0.5*x)*Max(x, 0.25)"]
)
def test_jacobian_is_the_slope(text: str) -> None:
    template = free_constants(parse(text))
    value, jacobian = template.functions(["x"])
    theta = np.array(template.values)
    slopes = jacobian(theta, POINTS)
    assert slopes.shape == (len(POINTS), len(theta))
    for i in range(len(theta)):
        step = np.zeros(len(theta))
        step[i] = 1e-6
        numeric = (value(theta + step, POINTS) - value(theta - step, POINTS)) / 2e-6
        assert np.allclose(slopes[:, i], numeric, atol=1e-8)


def test_template_without_constants_has_an_empty_jacobian() -> None:
    _, jacobian = free_constants(x**2).functions(["x"])
    assert jacobian(np.array([]), POINTS).shape == (len(POINTS), 0)
