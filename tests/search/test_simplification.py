import numpy as np
import pytest
import sympy

from fepysr_dyn.expressions import compile_expression, equivalent, parse
from fepysr_dyn.search.front import evaluate_candidate
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.simplification import shortened


def _short(text):
    columns = dict(zip("xy", np.random.default_rng(0).uniform(0.5, 2.0, size=(2, 60)), strict=True))
    target = compile_expression(parse(text), ["x", "y"])(*columns.values())
    problem = RegressionProblem(columns, target)
    return shortened(evaluate_candidate(parse(text), problem, "test"), problem)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("x**3 + 3*x**2*y + 3*x*y**2 + y**3", 5),
        ("(x**2 - y**2)/(x - y)", 3),
        ("x*y + x*y**2", 7),
        (f"{3 * np.cos(0.5)}*sin(2*x) + {3 * np.sin(0.5)}*cos(2*x)", 8),
        (f"{np.exp(-0.25)}*exp(x - y)", 6),
        (f"(exp(x) - x*exp(x) - {np.exp(-1)}*x*exp(y))/(exp(x) + {np.exp(-1)}*exp(y))", 13),
    ],
)
def test_equal_forms_get_shorter(text, nodes):
    found = _short(text)
    assert found.complexity <= nodes
    assert equivalent(found.expression, parse(text))
    assert not found.expression.has(sympy.Float)


def test_a_switch_is_written_with_one_exponential():
    found = _short("exp(x/2)/(exp(x/2) + 1.1618342427282831) - y")
    assert found.expression == parse("1/(exp(3/20 - x/2) + 1) - y")


def test_constants_that_agree_cancel():
    found = _short("(-x*exp(y) - 0.7345234521*x + exp(y))/(exp(y) + 0.7345234521)")
    assert found.complexity <= 10
    assert len(found.constants) == 1


@pytest.mark.parametrize("text", ["sin(x) + y", "x/(1 + y**2)", "exp(-x**2)*sqrt(y)"])
def test_short_forms_stay(text):
    assert _short(text).expression == parse(text)


def test_a_form_that_needs_another_operator_is_not_taken():
    x = np.linspace(1, 2, 20)
    problem = RegressionProblem({"x": x}, x**2 + x, operators=("+", "*"))
    found = shortened(evaluate_candidate(parse("x**2 + x"), problem, "test"), problem)
    assert not found.expression.has(sympy.Pow) or found.expression.has(sympy.Symbol)
    assert equivalent(found.expression, parse("x**2 + x"))
