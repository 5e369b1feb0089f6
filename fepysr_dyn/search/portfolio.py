"""Portfolio: cheap exact engines first, then evolution seeded with their answers, one front for all.

The budget is shared in slices. Quick engines get a small slice each. What is left goes to the deep engines
in growing rounds; between rounds the parts of the best formulas go back to the quick engines as features,
as long as that pays. An exact fit ends the search, after a look for a shorter way to write it; one that
needs many long constants may be a series, so the search for a shorter formula goes on.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy

from fepysr_dyn.errors import OptionError
from fepysr_dyn.expressions import complexity
from fepysr_dyn.search.baseline import baseline
from fepysr_dyn.search.front import Candidate, ParetoFront
from fepysr_dyn.search.inside import inner_rests
from fepysr_dyn.search.peeling import rests
from fepysr_dyn.search.pointwise import refitted
from fepysr_dyn.search.problem import Budget, Progress, RegressionProblem, Runtime, SearchEngine
from fepysr_dyn.search.registry import make_engine
from fepysr_dyn.search.selection import choose, is_exact, settled, surely_exact, with_snapped
from fepysr_dyn.search.simplification import shortened

#: Engines that are exact where they apply and cheap to try; all others are deep.
QUICK = ("sparse", "rational", "parametric")
_INSIDE = "parametric"
_PART_SIZES = (2, 14)
_LAST_PEEL = 0.92
#: Share of the time that is left for one quick engine between two rounds.
_ASIDE = 0.04
#: Share of the quick engines' time for the variables alone: what they can solve, they mostly solve so.
_PLAIN = 0.78


@dataclass(frozen=True)
class PortfolioConfig:
    """Options of the portfolio.

    Parameters
    ----------
    quick_share : float
        Share of the budget that one quick engine may use at first.
    quick_time : float
        Share of a time limit that the quick engines may use together at first; what they leave is passed on.
    rounds : tuple of float
        Shares of the rest that the deep engines get, round by round.
    parts : int
        Parts of formulas that go back to the quick engines as features between rounds.
    rests : int
        Parts of formulas that are taken away, so that the rest becomes a problem of its own.
    insides : int
        Inner expressions of formulas that are tried as the only variable of what is outside of them.
    """

    quick_share: float = 0.15
    quick_time: float = 0.46
    rounds: tuple[float, ...] = (0.3, 0.3, 0.4)
    parts: int = 12
    rests: int = 6
    insides: int = 3

    def __post_init__(self) -> None:
        """Refuse shares that make no sense."""
        shares = (self.quick_share, self.quick_time)
        if not all(0 < share <= 0.8 for share in shares) or not self.rounds or min(self.rounds) <= 0:
            raise OptionError(f"shares of a budget must be positive, got {self.quick_share}, {self.rounds}")


class Portfolio:
    """The default engine: several engines that help one another.

    Parameters
    ----------
    engines : sequence of SearchEngine, optional
        By default sparse, rational, parametric and evolution.
    config : PortfolioConfig, optional
        How the budget is shared.
    """

    def __init__(
        self, engines: Sequence[SearchEngine] | None = None, config: PortfolioConfig | None = None
    ) -> None:
        self.engines = None if engines is None else tuple(engines)
        self.config = config or PortfolioConfig()

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        return "portfolio"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Return the front of all engines together."""
        members = self.engines
        if members is None:
            members = tuple(make_engine(name) for name in (*QUICK, "evolution"))
        return _Run(problem, runtime or Runtime(), members, self.config).search()


class _Run:
    """One search of a portfolio."""

    def __init__(
        self,
        problem: RegressionProblem,
        runtime: Runtime,
        members: Sequence[SearchEngine],
        config: PortfolioConfig,
    ) -> None:
        self.problem = problem
        self.config = config
        deadline = min(runtime.deadline, time.monotonic() + problem.budget.seconds)
        self.runtime = replace(runtime, deadline=deadline)
        self.quick = [engine for engine in members if engine.name in QUICK]
        self.deep = [engine for engine in members if engine.name not in QUICK]
        self.front = baseline(problem)
        self.exact: Candidate | None = None
        self.notes: list[str] = []
        self._tried: set[sympy.Expr] = set(problem.features)
        self._peeled: set[tuple[str, sympy.Expr]] = set()
        self._fraction = 0.0
        self._timed = False

    def search(self) -> ParetoFront:
        """Run the engines one after the other until one is exact or the budget is used."""
        end = self.config.quick_time if self.deep else 0.8
        if self.problem.features:
            # Features widen the libraries and can crowd out what is already there: first without them.
            self._quick_pass(replace(self.problem, features=()), self.config.quick_share, until=_PLAIN * end)
        self._quick_pass(self.problem, self.config.quick_share, until=end)
        self._look_inside(until=self._fraction + 0.03)
        self._peel(until=self._fraction + 0.05)
        if not self._done():
            self._deep_rounds()
        if self.exact is not None:
            self.notes.append("an exact fit was found")
        stopped = self.runtime.must_stop() and not self._sure()
        if stopped:
            self.notes.append("stopped early by its time limit or by the user")
        elif self._timed:
            self.notes.append("an engine's share of the time was used up: a faster machine may find more")
        return replace(self.front, complete=not stopped, message="; ".join(self.notes))

    def _quick_pass(self, problem: RegressionProblem, share: float, until: float) -> None:
        start = self._fraction
        for index, engine in enumerate(self.quick):
            if self._done():
                return
            end = start + (until - start) * (index + 1) / len(self.quick)
            self._run(engine, problem, share, until=end)

    def _deep_rounds(self) -> None:
        total = sum(self.config.rounds)
        before = settled(self.front, self.problem)
        for number, share in enumerate(self.config.rounds):
            left = sum(self.config.rounds[number:])
            # A little is left for the rests of what the last round finds.
            until = self._fraction + (_LAST_PEEL - self._fraction) * share / left
            for engine in self.deep:
                if self._done():
                    return
                problem = replace(self.problem, seed=_derived_seed(self.problem.seed, number))
                self._run(
                    _seeded(engine, self._seeds()), problem, share / total / len(self.deep), until=until
                )
            now = settled(self.front, self.problem)
            if now is not None and now == before:
                self.notes.append("a whole round found nothing better than noise allows")
                return
            before = now
            if self._done():
                return
            if number + 1 < len(self.config.rounds):
                self._return_parts()
            self._look_inside(until=min(1.0, self._fraction + 0.03))
            self._peel(until=min(1.0, self._fraction + 0.03))

    def _return_parts(self) -> None:
        """Offer the parts of the best formulas to the quick engines."""
        parts = self._parts()
        if not parts or not self.quick:
            return
        problem = replace(self.problem, features=(*parts, *self.problem.features))
        self._quick_pass(problem, self.config.quick_share / 2, until=self._fraction)

    def _peel(self, until: float) -> None:
        """Solve what is left when a part of a good formula is taken away, if more than noise is left."""
        if self._done() or settled(self.front, self.problem) is not None:
            return
        fresh = [rest for rest in rests(self.front, self.problem) if rest.key not in self._peeled]
        chosen = fresh[: self.config.rests]
        self._peeled.update(rest.key for rest in chosen)
        start, began = self._fraction, time.monotonic()
        allowed = (self.runtime.deadline - began) * (until - start) / max(1 - start, 1e-9)
        for engine in self.quick:
            for index, rest in enumerate(chosen):
                if self._done() or time.monotonic() - began > allowed:
                    return
                end = start + (until - start) * (index + 1) / len(chosen)
                self._run(engine, rest.problem, self.config.quick_share / 10, until=end, wrap=rest.wrap)

    def _look_inside(self, until: float) -> None:
        """Solve what is outside of an inner expression that a good formula has found."""
        if self._done() or settled(self.front, self.problem) is not None:
            return
        fresh = [rest for rest in inner_rests(self.front, self.problem) if rest.key not in self._peeled]
        chosen = fresh[: self.config.insides]
        self._peeled.update(rest.key for rest in chosen)
        # Constants inside functions are what such problems are about.
        engines = [engine for engine in self.quick if engine.name == _INSIDE] or self.quick
        start, turns = self._fraction, len(chosen) * len(engines)
        for turn, (engine, rest) in enumerate(itertools.product(engines, chosen)):
            if self._done():
                return
            end = start + (until - start) * (turn + 1) / turns
            self._run(engine, rest.problem, self.config.quick_share / 20, until=end, wrap=rest.wrap)

    def _run(
        self,
        engine: SearchEngine,
        problem: RegressionProblem,
        share: float,
        until: float,
        wrap: Callable[[sympy.Expr], sympy.Expr] | None = None,
    ) -> None:
        now = time.monotonic()
        seconds = self.runtime.deadline - now
        # A round never takes more of the clock than of the work, so that every engine has its turn.
        if until > self._fraction and self._fraction < 1:
            seconds *= min(1.0, (until - self._fraction) / (1 - self._fraction) * 1.0001)
        else:
            seconds *= _ASIDE
        start = self._fraction

        def forward(report: Progress) -> None:
            fraction = start + max(0.0, until - start) * min(1.0, max(0.0, report.fraction))
            self.runtime.report(report.engine, fraction, report.message, self._best_loss(report.best_loss))

        budget = Budget(max(1, int(problem.budget.evaluations * share)), max(seconds, 1e-3))
        inner = replace(self.runtime, deadline=now + max(seconds, 1e-3), progress=forward)
        found = engine.search(replace(problem, budget=budget), inner)
        self._timed |= time.monotonic() >= inner.deadline
        self._fraction = max(start, until)
        if wrap is not None:
            wrapped = [refitted(wrap(candidate.expression), self.problem, engine.name) for candidate in found]
            found = ParetoFront.of([candidate for candidate in wrapped if candidate is not None])
        self._take(found)

    def _take(self, found: ParetoFront) -> None:
        """Merge a front, with simple constants where they fit."""
        merged = ParetoFront.of([*self.front, *found])
        if merged.candidates == self.front.candidates:
            return
        merged = with_snapped(merged, self.problem)
        exact = [candidate for candidate in merged if is_exact(candidate, self.problem)]
        if exact:
            short = shortened(choose(merged, self.problem).candidate, self.problem)
            merged = ParetoFront.of([*merged, short])
            self.exact = short
        self.front = merged
        self.runtime.show(merged)

    def _parts(self) -> tuple[sympy.Expr, ...]:
        """Return subexpressions of the best formulas that have not been features yet."""
        counts: dict[sympy.Expr, float] = {}
        for rank, candidate in enumerate(reversed(self.front.candidates)):
            for node in set(sympy.preorder_traversal(candidate.expression)):
                if isinstance(node, sympy.Expr) and node.free_symbols and not node.is_Symbol:
                    counts[node] = counts.get(node, 0.0) + 0.8**rank
        low, high = _PART_SIZES
        new = [part for part in counts if low <= complexity(part) <= high and part not in self._tried]
        new.sort(key=lambda part: (-counts[part], complexity(part), sympy.default_sort_key(part)))
        chosen = tuple(new[: self.config.parts])
        self._tried.update(chosen)
        return chosen

    def _seeds(self) -> tuple[sympy.Expr, ...]:
        return tuple(candidate.expression for candidate in self.front)

    def _best_loss(self, other: float) -> float:
        return min([other, *(candidate.loss for candidate in self.front.candidates[-1:])])

    def _sure(self) -> bool:
        return self.exact is not None and surely_exact(self.exact, self.problem)

    def _done(self) -> bool:
        return self._sure() or self.runtime.must_stop()


def _seeded(engine: SearchEngine, seeds: tuple[sympy.Expr, ...]) -> SearchEngine:
    """Return an engine that starts from given formulas, if it can."""
    if not hasattr(engine, "seeds") or not hasattr(engine, "config"):
        return engine
    seeded: SearchEngine = type(engine)(engine.config, seeds=seeds)  # type: ignore[call-arg]
    return seeded


def _derived_seed(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([abs(seed), number]).generate_state(1)[0])
