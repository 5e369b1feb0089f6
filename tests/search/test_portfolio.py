import itertools
import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest
import sympy

from fepysr_dyn.errors import OptionError
from fepysr_dyn.expressions import equivalent, parse
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.pointwise import refitted
from fepysr_dyn.search.portfolio import Portfolio, PortfolioConfig
from fepysr_dyn.search.problem import Budget, RegressionProblem, Runtime
from fepysr_dyn.search.registry import make_engine


@dataclass
class Fixed:
    """An engine that offers given formulas and remembers what it was asked."""

    texts: tuple[str, ...]
    name: str = "sparse"
    asked: list[RegressionProblem] = field(default_factory=list)

    def search(self, problem, runtime=None):
        self.asked.append(problem)
        # A problem may be about other columns, such as an inner expression.
        known = [parse(text) for text in self.texts]
        allowed = set(map(sympy.Symbol, problem.names))
        found = [refitted(f, problem, self.name) for f in known if f.free_symbols <= allowed]
        return ParetoFront.of([candidate for candidate in found if candidate is not None])


@dataclass
class Seedable(Fixed):
    """A deep engine that shares its memory with its seeded copies."""

    config: list = field(default_factory=list)
    seeds: tuple = ()

    def __init__(self, config, seeds=()):
        self.config = config
        self.seeds = seeds
        self.name = "evolution"

    def search(self, problem, runtime=None):
        self.config.append((problem, self.seeds))
        return ParetoFront.of([])


@pytest.fixture
def columns():
    random = np.random.default_rng(0)
    return {"x": random.normal(size=100), "y": random.normal(size=100)}


def test_an_exact_answer_ends_the_search(columns):
    x, y = columns.values()
    problem = RegressionProblem(columns, x**2 + np.sin(y))
    first, second = Fixed(("1.1*x**2 + 0.9*sin(y)",)), Fixed(("x",), name="rational")
    deep = Seedable([])
    front = Portfolio([first, second, deep]).search(problem)
    assert front.best.expression == parse("x**2 + sin(y)")
    assert not second.asked
    assert not deep.config
    assert front.complete


def test_deep_engines_start_from_what_the_quick_ones_found(columns):
    x, y = columns.values()
    problem = RegressionProblem(columns, np.exp(x) * y + 0.1 * np.sin(5 * x + y**3))
    deep = Seedable([])
    Portfolio([Fixed(("1.1*exp(x)*y",)), deep], PortfolioConfig(digs=0)).search(problem)
    assert len(deep.config) == len(PortfolioConfig().rounds)
    (_, none), (_, seeds), *_ = deep.config
    assert not none, "the first round starts from nothing, so that it can run beside the quick engines"
    assert any(seed.has(sympy.exp) for seed in seeds)
    assert len({asked.seed for asked, _ in deep.config}) == len(deep.config)
    assert sum(asked.budget.evaluations for asked, _ in deep.config) <= problem.budget.evaluations


def test_deep_engines_dig_into_smaller_problems(columns):
    x, y = columns.values()
    problem = RegressionProblem(columns, np.exp(x) * y + 0.1 * np.sin(5 * x + y**3))
    deep = Seedable([])
    Portfolio([Fixed(("1.1*exp(x)*y",)), deep]).search(problem)
    smaller = [asked for asked, _ in deep.config if not np.array_equal(asked.target, problem.target)]
    assert len(PortfolioConfig().rounds) == len(deep.config) - len(smaller)
    assert 0 < len(smaller) <= PortfolioConfig().digs * len(PortfolioConfig().rounds)
    asked_for = {np.array([*asked.columns.values(), asked.target]).tobytes() for asked in smaller}
    assert len(asked_for) == len(smaller), "none is tried twice"


def test_parts_of_formulas_return_as_features(columns):
    x, y = columns.values()
    problem = RegressionProblem(columns, np.sin(x * y) + 0.1 * np.sin(5 * x + y**3))
    quick = Fixed(("0.9*sin(x*y)",))
    Portfolio([quick, Seedable([])]).search(problem)
    assert any(parse("sin(x*y)") in asked.features for asked in quick.asked)


def test_what_is_known_is_not_looked_for_again(columns):
    x, y = columns.values()
    problem = RegressionProblem(columns, np.exp(x) * y + 0.1 * np.sin(5 * x), features=(parse("x*y"),))
    known = ParetoFront.of([refitted(parse("1.1*exp(x)*y"), problem, "test")])
    quick, deep = Fixed(("x",)), Seedable([])
    front = Portfolio([quick, deep], PortfolioConfig(digs=0), known=known).search(problem)
    assert known.best.loss >= front.best.loss
    assert quick.asked[0].features, "the columns alone have been searched before"
    assert any(seed.has(sympy.exp) for seed in deep.config[1][1])


def test_the_rest_of_a_good_formula_is_a_problem_of_its_own(columns):
    x, y = columns.values()
    problem = RegressionProblem(columns, np.exp(x) * y**2 + np.sin(3 * x))
    # The engine only knows single terms: it finds the sum by taking one away.
    front = Portfolio([Fixed(("0.9*exp(x)*y**2", "1.1*sin(3*x)"))]).search(problem)
    assert equivalent(front.best.expression, parse("exp(x)*y**2 + sin(3*x)"))


def test_a_series_at_resolution_does_not_end_the_search():
    x = np.random.default_rng(0).uniform(-1, 1, 20)
    problem = RegressionProblem({"x": x}, np.sin(x))
    series = " + ".join(f"0.1*x**{power}" for power in (1, 3, 5, 7, 9, 11))
    better = Fixed(("sin(x)",), name="rational")
    front = Portfolio([Fixed((series,)), better]).search(problem)
    assert better.asked
    assert front.best.expression == parse("sin(x)") or parse("sin(x)") in [c.expression for c in front]


def test_cancellation_returns_the_best_so_far_and_says_so(columns):
    problem = RegressionProblem(columns, np.exp(columns["x"]) + columns["y"])
    cancelled = threading.Event()
    cancelled.set()
    front = Portfolio([Fixed(("x",))]).search(problem, Runtime(cancelled=cancelled))
    assert len(front)
    assert not front.complete
    assert "stopped early" in front.message


def test_progress_only_grows(columns):
    problem = RegressionProblem(columns, np.sin(3 * columns["x"]) + columns["y"], budget=Budget(20_000))
    seen = []
    Portfolio().search(problem, Runtime(progress=lambda report: seen.append(report.fraction)))
    assert seen
    assert all(0 <= fraction <= 1 for fraction in seen)
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(seen))


def test_real_engines_find_what_none_finds_alone(columns):
    """One seed, one answer; the default members are used."""
    x, y = columns.values()
    problem = RegressionProblem(columns, x * y / (1 + x**2) + y, budget=Budget(20_000))
    first = Portfolio().search(problem)
    second = Portfolio().search(problem, Runtime(workers=2))
    assert [c.expression for c in first] == [c.expression for c in second]
    assert equivalent(first.best.expression, parse("x*y/(1 + x**2) + y"))


def test_time_limit_is_kept(columns):
    # Noise has no formula, and the work allowed would take hours.
    noise = np.random.default_rng(1).normal(size=100)
    problem = RegressionProblem(columns, noise, budget=Budget(10**9, seconds=0.2))
    # Kernels are compiled on first use, which no time limit can shorten.
    make_engine("evolution").search(RegressionProblem(columns, noise, budget=Budget(5_000)))
    started = time.monotonic()
    front = Portfolio().search(problem)
    assert time.monotonic() - started < 60
    # That nothing but noise is left can be seen before the time is up.
    assert not front.complete or "noise" in front.message


def test_shares_must_make_sense():
    with pytest.raises(OptionError, match="positive"):
        PortfolioConfig(quick_share=0.0)
