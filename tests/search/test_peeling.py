import numpy as np
import pytest

from fepysr_dyn.expressions import parse
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.peeling import rests
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.refit import refit_candidate


@pytest.fixture
def columns():
    return dict(zip("xyz", np.random.default_rng(0).normal(size=(3, 200)), strict=True))


def _rests(problem, text):
    front = ParetoFront.of([refit_candidate(parse(text), problem, "test")])
    return {f"{rest.kind} {rest.part}": rest for rest in rests(front, problem)}


def test_a_term_with_a_distorted_coefficient_is_taken_away_exactly(columns):
    x, y, z = columns.values()
    target = x**2 * y + 0.5 * np.sin(x + z)
    problem = RegressionProblem(columns, target)
    found = _rests(problem, "1.1*x**2*y + 0.3*x")
    rest = found["term x**2*y"]
    np.testing.assert_allclose(rest.problem.target, 0.5 * np.sin(x + z), atol=1e-12)
    assert rest.wrap(parse("sin(x + z)/2")) == parse("x**2*y + sin(x + z)/2")
    assert rest.problem.max_complexity < problem.max_complexity


def test_a_factor_is_divided_out_and_weighted(columns):
    x, _, z = columns.values()
    problem = RegressionProblem(columns, np.exp(x) * np.sqrt(z**4 + 1))
    rest = _rests(problem, "1.1*z**2*exp(x) + 0.5*exp(x)")["factor exp(x)"]
    np.testing.assert_allclose(rest.problem.target, np.sqrt(z**4 + 1))
    # A residual of the rest counts as much as it does in the whole.
    np.testing.assert_allclose(rest.problem.weights, np.exp(2 * x))
    assert rest.wrap(parse("z")) == parse("z*exp(x)")


def test_a_factor_with_zeros_is_not_divided_out(columns):
    x, y, _ = columns.values()
    x[3] = 0.0
    problem = RegressionProblem(columns, x * np.exp(y))
    found = _rests(problem, "1.0*x*exp(y)")
    assert "factor x" not in found
    assert "factor exp(y)" in found


def test_under_a_measurement_only_terms_are_taken_away(columns):
    x, y, _ = columns.values()
    operator = np.random.default_rng(1).normal(size=(50, 200))
    problem = RegressionProblem(columns, operator @ (x**2 + np.exp(y)), measurement=operator)
    found = _rests(problem, "1.0*x**2 + 0.9*exp(y)")
    assert set(found) == {"term x**2", "term exp(y)"}
    np.testing.assert_allclose(found["term x**2"].problem.target, operator @ np.exp(y), atol=1e-9)


def test_a_factor_of_one_term_is_divided_out_after_the_others(columns):
    x, y, _ = columns.values()
    problem = RegressionProblem(columns, np.exp(x) / (y**2 + 2) - x)
    found = _rests(problem, "exp(x)*(0.4 - 0.1*y) - x")
    rest = next(rest for rest in found.values() if rest.wrap(parse("y")).equals(parse("y*exp(x) - x")))
    np.testing.assert_allclose(rest.problem.target, 1 / (y**2 + 2), atol=1e-12)
