"""Errors of the columns: their share of a residual, and the law that is found in spite of them."""

import numpy as np
import pytest

from fepysr_dyn.errors import DataError
from fepysr_dyn.expressions import parse, same_structure
from fepysr_dyn.search.column_errors import likeliest, row_variances, weighed_like
from fepysr_dyn.search.front import evaluate_candidate
from fepysr_dyn.search.kinetic import KineticEngine
from fepysr_dyn.search.problem import Budget, RegressionProblem
from fepysr_dyn.search.selection import choose

LAW = "20/(0.3 + s**2) - 0.8*z"
BOX = {"s": (0.0, 4.0), "z": (0.0, 30.0)}


def steep_problem(seed):
    """A law that is steep where `s` is small, and `s` known with an error as large as that."""
    random = np.random.default_rng(seed)
    s, z = 4.0 * random.uniform(0.0, 1.0, 500) ** 2, random.uniform(0.0, 30.0, 500)
    rate = 20 / (0.3 + s**2) - 0.8 * z
    error = np.full(500, 0.1)
    columns = {"s": np.abs(s + error * random.normal(size=500)), "z": z}
    return RegressionProblem(
        columns,
        rate + 0.3 * random.normal(size=500),
        noise=0.3,
        column_errors={"s": error},
        budget=Budget(seconds=60.0),
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_steep_law_is_found_in_spite_of_the_errors_of_a_column(seed):
    problem = steep_problem(seed)
    weighed = KineticEngine().weighed(problem)
    found = choose(KineticEngine().search(weighed), weighed).candidate.expression
    assert same_structure(found, parse(LAW), BOX)
    # Least squares alone is far from the error of the target there.
    assert evaluate_candidate(parse(LAW), problem, "truth").loss > 20 * (problem.noise / problem.scale) ** 2


def test_variances_are_those_of_many_draws():
    random = np.random.default_rng(0)
    x, error, noise = 1.5, 0.02, 0.1
    draws = (x + error * random.normal(size=200_000)) ** 3 + noise * random.normal(size=200_000)
    problem = RegressionProblem(
        {"x": np.array([x])}, np.zeros(1), noise=noise, column_errors={"x": np.array([error])}
    )
    assert row_variances(parse("x**3"), problem)[0] == pytest.approx(np.var(draws), rel=0.02)


def test_the_likelier_law_wins_although_it_misses_more():
    problem = steep_problem(0)
    truth = evaluate_candidate(parse(LAW), problem, "")
    flat = evaluate_candidate(parse("9.0 - 0.3*z"), problem, "")
    assert likeliest([flat, truth], problem) not in (None, flat.expression)
    assert likeliest([], problem) is None
    weighed = weighed_like(truth.expression, problem)
    s = problem.columns["s"]
    # The slope is largest near s = 0.3, where half of the peak is reached, and small beyond 2.
    steep, gentle = np.abs(s - 0.3) < 0.1, s > 2.0
    assert np.max(weighed.weights[steep]) < 0.1 * np.min(weighed.weights[gentle])


def test_errors_must_belong_to_the_columns():
    with pytest.raises(DataError, match="errors of column 'y'"):
        RegressionProblem({"x": np.ones(3)}, np.ones(3), column_errors={"y": np.ones(3)})
