import numpy as np
import pytest
import sympy

from fepysr_dyn.expressions import parse
from fepysr_dyn.search.front import evaluate_candidate
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.snapping import snap


def _snapped(text, target, *, noise=0.0, rows=300, seed=0):
    random = np.random.default_rng(seed)
    columns = {"x": random.normal(size=rows), "y": random.normal(size=rows)}
    from fepysr_dyn.expressions import compile_expression

    values = compile_expression(parse(target), ["x", "y"])(*columns.values())
    values = values + noise * np.sqrt(np.mean(values**2)) * random.normal(size=rows)
    problem = RegressionProblem(columns, values)
    return snap(evaluate_candidate(parse(text), problem, "test"), problem)


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("2.001*x + 0.9*y", "2*x + y", "2*x + y"),
        ("0.3333*x**2", "x**2/3", "x**2/3"),
        ("3.1*x + 2.7", "pi*x + exp(1)", "pi*x + exp(1)"),
        ("3.4*x**3 + 2.1*x**2 + 1.8*x", "3.39*x**3 + 2.12*x**2 + 1.78*x", "3.39*x**3 + 2.12*x**2 + 1.78*x"),
        ("0.9*sin(x) + 0.001*y", "sin(x)", "sin(x)"),
    ],
)
def test_exact_data_give_simple_values(text, target, expected):
    assert sympy.expand(_snapped(text, target).expression - parse(expected)) == 0


@pytest.mark.parametrize("constant", [0.7788007830714049, 1.6180339887498949, 123.456789])
def test_values_that_are_not_simple_stay(constant):
    found = _snapped(f"{constant * 1.001}*x + y", f"{constant}*x + y")
    assert found.constants == pytest.approx((constant,), rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_noise_decides_what_is_simple(seed):
    """Half is well within the error and short; 1.3574 is far from any shorter value."""
    found = _snapped("0.52*x**2 + 1.3*y", "x**2/2 + 1.3574*y", noise=0.01, seed=seed)
    assert found.expression.coeff(parse("x**2")) == sympy.Rational(1, 2)
    assert found.constants == pytest.approx((1.3574,), rel=0.01)


@pytest.mark.parametrize("seed", range(8))
def test_snapping_never_costs_more_than_the_uncertainty(seed):
    random = np.random.default_rng(seed)
    rows = 200
    columns = {"x": random.normal(size=rows), "y": random.normal(size=rows)}
    constants = random.normal(size=3)
    clean = constants[0] * columns["x"] + constants[1] * np.sin(columns["y"]) + constants[2]
    target = clean + random.normal(0, 0.05, rows)
    problem = RegressionProblem(columns, target)
    start = evaluate_candidate(parse("1.0*x + 1.0*sin(y) + 0.1"), problem, "test")
    found = snap(start, problem)
    design = np.column_stack([columns["x"], np.sin(columns["y"]), np.ones(rows)])
    squares = np.linalg.lstsq(design, target)[1][0]
    least = squares / rows / problem.scale**2
    assert (found.loss - least) / (least / (rows - 3)) <= 6.6 + 2.0 + 1e-9
