import numpy as np
import pytest
import sympy

from fepysr_dyn.expressions import free_constants, parse
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.refit import ConstantFitter, refit_candidate


@pytest.fixture
def columns():
    random = np.random.default_rng(0)
    return {"x": random.normal(size=200), "y": random.normal(size=200)}


def test_nonlinear_constants_reach_float64_resolution(columns):
    x, y = columns.values()
    problem = RegressionProblem(columns, 1.35 * x * y + 5.5 * np.sin((x - 1) * (y - 1)))
    found = refit_candidate(parse("1.2*x*y + 5.0*sin((x - 0.9)*(y - 1.1))"), problem, "test")
    np.testing.assert_allclose(sorted(found.constants), [-1.0, -1.0, 1.35, 5.5], rtol=1e-12)
    assert found.loss < 1e-28


def test_standard_errors_match_linear_regression(columns):
    x, y = columns.values()
    target = 2 * x - 3 * y + np.random.default_rng(1).normal(0, 0.1, 200)
    problem = RegressionProblem(columns, target)
    fit = ConstantFitter(free_constants(parse("1.5*x - 2.0*y")), problem).fit(np.array([1.5, -2.0]))
    design = np.column_stack([x, y])
    best, squares, *_ = np.linalg.lstsq(design, target)
    errors = np.sqrt(squares[0] / 198 * np.diag(np.linalg.inv(design.T @ design)))
    order = np.argsort(fit.values)
    np.testing.assert_allclose(fit.values[order], np.sort(best), rtol=1e-8)
    np.testing.assert_allclose(fit.errors[order], errors[np.argsort(best)], rtol=1e-6)


def test_weights_and_measurement_decide_the_fit(columns):
    x = columns["x"]
    operator = np.random.default_rng(2).normal(size=(50, 200)) / 200
    problem = RegressionProblem({"x": x}, operator @ np.exp(0.7 * x), measurement=operator)
    found = refit_candidate(parse("exp(0.5*x)"), problem, "test")
    np.testing.assert_allclose(found.constants, [0.7], rtol=1e-10)
    # Two contradicting rows: the weighted mean wins.
    weighted = RegressionProblem({"x": np.zeros(2)}, np.array([0.0, 1.0]), weights=np.array([1.0, 3.0]))
    assert refit_candidate(parse("0.1"), weighted, "test").constants == pytest.approx((0.75,))


def test_held_constants_stay(columns):
    x, _ = columns.values()
    problem = RegressionProblem(columns, 2.0 * x + 1.0)
    template = free_constants(parse("1.5*x + 0.5"))
    held = template.values.index(0.5)
    fit = ConstantFitter(template, problem).fit(np.array(template.values), held=(held,))
    assert fit.values[held] == 0.5
    assert fit.errors[held] == 0.0


def test_what_is_not_finite_is_left_alone():
    problem = RegressionProblem({"x": np.linspace(-1, 1, 20)}, np.linspace(-1, 1, 20))
    found = refit_candidate(parse("log(x) + 0.3"), problem, "test")
    assert found.loss == np.inf


@pytest.mark.parametrize("undefined", [sympy.zoo, sympy.nan, sympy.oo, sympy.I])
def test_a_formula_that_is_undefined_has_an_infinite_loss(columns, undefined):
    problem = RegressionProblem(columns, columns["x"])
    expression = sympy.Add(parse("1.5*sin(x)"), undefined * sympy.Symbol("y"), evaluate=False)
    assert refit_candidate(expression, problem, "test").loss == np.inf
