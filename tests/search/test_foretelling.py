import numpy as np
import pytest

from fepysr_dyn.expressions import parse
from fepysr_dyn.search.foretelling import foretells
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.refit import refit_candidate
from fepysr_dyn.search.selection import surely_exact


@pytest.fixture
def x():
    return np.linspace(0.0, 1.0, 200)


def test_a_series_does_not_hold_outside(x):
    problem = RegressionProblem({"x": x}, np.exp(-x))
    text = " + ".join(f"0.1*x**{power}" if power else "0.9" for power in range(9))
    series = refit_candidate(parse(text), problem, "test")
    reached = float(np.sqrt(series.loss))
    assert reached < 1e-9, "it fits where it was fitted"
    assert not foretells(series.expression, problem, reached)


def test_a_law_with_many_constants_does(x):
    random = np.random.default_rng(0)
    y = random.uniform(0.1, 1.0, 200)
    law = parse("1.2345671*x/(0.345671 + x) - 0.765431*y/(0.123457 + y) + 0.0123457*x*y")
    values = 1.2345671 * x / (0.345671 + x) - 0.765431 * y / (0.123457 + y) + 0.0123457 * x * y
    error = 1e-10
    problem = RegressionProblem({"x": x, "y": y}, values + error * random.normal(size=200), noise=2 * error)
    candidate = refit_candidate(law, problem, "test")
    assert surely_exact(candidate, problem)


def test_three_levels_have_no_outside():
    x = np.repeat([0.0, 1.0, 2.0], 30)
    problem = RegressionProblem({"x": x}, 1.5 * x)
    assert not foretells(parse("1.5*x"), problem, 1e-12)


def test_constants_for_as_many_levels_say_nothing():
    x = np.repeat([0.2, 0.5, 1.0, 2.0, 3.0], 30)
    y = np.random.default_rng(0).uniform(size=len(x))
    problem = RegressionProblem({"x": x, "y": y}, x**2 / (x**2 + 0.25) - y)
    through = parse("0.1 + 0.3*x + 0.2*sqrt(x) + 0.1*sin(x) + 0.1*tanh(x) - 1.0*y")
    series = refit_candidate(through, problem, "test")
    assert series.loss < 1e-20
    assert not foretells(series.expression, problem, 1e-10)


def test_where_variables_hardly_move_nothing_can_be_told():
    x = np.linspace(0.45, 0.55, 300)
    problem = RegressionProblem({"x": x}, 1 / (1 + np.exp(0.15 - x / 2)), noise=1e-13)
    series = refit_candidate(parse("0.5 + 0.1*x + 0.01*x**2 + 0.01*x**3 + 0.01*x**5"), problem, "test")
    assert np.sqrt(series.loss) < 1e-9
    assert not foretells(series.expression, problem, 1e-9)
