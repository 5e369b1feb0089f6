"""What the sparse, rational and parametric engines promise alike."""

import threading
import time

import numpy as np
import pytest

from fepysr_dyn.expressions import complexity, equivalent, parse
from fepysr_dyn.search.front import evaluate_candidate
from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.parametric import ParametricEngine
from fepysr_dyn.search.problem import Budget, RegressionProblem, Runtime
from fepysr_dyn.search.rational import RationalEngine
from fepysr_dyn.search.sparse import SparseEngine

ENGINES = [SparseEngine(), RationalEngine(), ParametricEngine()]


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request):
    return request.param


@pytest.fixture
def columns():
    random = np.random.default_rng(3)
    return {"x": random.uniform(0.2, 2.0, 70), "y": random.uniform(-1.0, 1.0, 70)}


def hard(columns):
    """Return a target that no library holds."""
    x, y = columns.values()
    return np.sin(3.3 * x * y + 0.7) * np.exp(-(x**1.7)) + 0.3 * np.abs(y - 0.2 * x)


def test_front_is_scored_and_within_bounds(engine, columns):
    operators = ("+", "-", "*", "/", "sqrt")
    problem = RegressionProblem(columns, hard(columns), operators=operators, max_complexity=17)
    front = engine.search(problem)
    assert len(front) >= 1
    assert front.complete
    for candidate in front:
        assert candidate.engine == engine.name
        assert candidate.complexity == complexity(candidate.expression) <= 17
        assert uses_only(candidate.expression, operators)
        scored = evaluate_candidate(candidate.expression, problem, "")
        assert candidate.loss == pytest.approx(scored.loss, rel=1e-9)


def test_same_seed_same_front(engine, columns):
    problem = RegressionProblem(columns, hard(columns), operators=("+", "*", "/"), seed=4)
    first, second = engine.search(problem), engine.search(problem)
    assert [c.expression for c in first] == [c.expression for c in second]


def test_time_limit_cuts_short_and_says_so(engine):
    random = np.random.default_rng(0)
    columns = {name: random.uniform(0.5, 2.0, 3_000) for name in "abcde"}
    target = np.sin(3.1 * columns["a"] * columns["b"]) + np.sqrt(columns["c"] + columns["d"] ** 2.2)
    problem = RegressionProblem(columns, target, budget=Budget(seconds=0.3))
    start = time.monotonic()
    front = engine.search(problem)
    # Parts between two looks at the clock are short, but this may be a slow and busy machine.
    assert time.monotonic() - start < 20
    assert not front.complete
    assert "budget" in front.message
    assert len(front) >= 1


def test_cancelled_search_returns_what_it_has(engine, columns):
    cancelled = threading.Event()
    cancelled.set()
    front = engine.search(RegressionProblem(columns, hard(columns)), Runtime(cancelled=cancelled))
    assert not front.complete
    assert len(front) >= 1


def test_evaluations_are_a_budget(engine, columns):
    front = engine.search(RegressionProblem(columns, hard(columns), budget=Budget(evaluations=3)))
    assert not front.complete


def test_progress_is_reported(engine, columns):
    reports = []
    problem = RegressionProblem(columns, hard(columns), operators=("+", "*", "/"))
    engine.search(problem, Runtime(progress=reports.append))
    assert reports
    assert all(0 <= report.fraction <= 1 and report.engine == engine.name for report in reports)


def test_weights_decide_the_constant(engine):
    columns = {"x": np.array([0.0, 1.0, 2.0, 3.0])}
    problem = RegressionProblem(
        columns, np.array([1.0, 1.0, 1.0, 5.0]), weights=np.array([1.0, 1.0, 1.0, 9.0]), max_complexity=1
    )
    assert float(engine.search(problem).best.expression) == pytest.approx(48 / 12)


def test_a_constant_target_is_a_constant(engine):
    problem = RegressionProblem({"x": np.linspace(0, 1, 30)}, np.full(30, 2.5))
    front = engine.search(problem)
    assert equivalent(front.candidates[0].expression, parse("2.5"))
    assert len(front) == 1


def test_a_constant_column_does_no_harm(engine):
    columns = {"x": np.linspace(0.5, 2, 60), "k": np.full(60, 3.0)}
    problem = RegressionProblem(columns, 2.0 * columns["x"] + 0.5, operators=("+", "*", "/", "exp"))
    front = engine.search(problem)
    assert any(c.loss < 1e-20 for c in front)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_rows_are_no_crash(engine, rows):
    random = np.random.default_rng(rows)
    problem = RegressionProblem({"x": random.uniform(1, 2, rows)}, random.uniform(1, 2, rows))
    assert len(engine.search(problem)) >= 1
