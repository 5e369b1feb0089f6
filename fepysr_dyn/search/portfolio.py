"""Portfolio: cheap exact engines first, then evolution seeded with their answers, one front for all.

The budget is shared in slices. Quick engines get a small slice each. What is left goes to the deep engines
in rounds. The first round starts from nothing, so that it can run beside the quick engines; later ones start
from all that was found. Between rounds the parts of the best formulas go back to the quick engines as
features, as long as that pays. An exact fit ends the search, after a look for a shorter way to write it;
one that needs many long constants may be a series, so the search for a shorter formula goes on.
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
from fepysr_dyn.search.enumeration import short_formulas
from fepysr_dyn.search.front import Candidate, ParetoFront, evaluate_candidate
from fepysr_dyn.search.inside import inner_rests
from fepysr_dyn.search.peeling import Rest, rests
from fepysr_dyn.search.pointwise import refitted
from fepysr_dyn.search.problem import (
    Budget,
    Progress,
    ProgressCallback,
    RegressionProblem,
    Runtime,
    SearchEngine,
)
from fepysr_dyn.search.registry import make_engine
from fepysr_dyn.search.scouting import Answer, beside
from fepysr_dyn.search.selection import choose, is_exact, settled, surely_exact, with_snapped
from fepysr_dyn.search.simplification import shortened

#: Engines that are exact where they apply and cheap to try; all others are deep.
QUICK = ("sparse", "rational", "parametric")
_INSIDE = "parametric"
#: Name of what comes from trying all short formulas.
_SHORT = "short"
#: Share of the best loss that a formula from there must get below.
_SHORT_GAIN = 0.3
#: So many times more inner expressions are tried with short formulas than with an engine.
_SHORT_INSIDES = 3
_PART_SIZES = (2, 14)
_LAST_PEEL = 0.92
#: About where the quick engines are done when they find nothing: peeling and looking inside included.
_AFTER_QUICK = 0.08
#: Share of the time that is left for one quick engine between two rounds.
_ASIDE = 0.04
#: Share of the time that smaller problems get after each deep round.
_DIGGING = 0.1
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
        Shares of the rest that the deep engines get, round by round; only the first runs beside others.
    parts : int
        Parts of formulas that go back to the quick engines as features between rounds.
    rests : int
        Parts of formulas that are taken away, so that the rest becomes a problem of its own.
    insides : int
        Inner expressions of formulas that are tried as the only variable of what is outside of them.
    digs : int
        Smaller problems, of both kinds, that the deep engines try after each round.
    """

    quick_share: float = 0.15
    quick_time: float = 0.36
    rounds: tuple[float, ...] = (0.35, 0.25, 0.4)
    parts: int = 12
    rests: int = 6
    insides: int = 3
    digs: int = 4

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
    known : ParetoFront, optional
        What quick engines have found without features: the search starts there and does not repeat it.
    """

    def __init__(
        self,
        engines: Sequence[SearchEngine] | None = None,
        config: PortfolioConfig | None = None,
        known: ParetoFront | None = None,
    ) -> None:
        self.engines = None if engines is None else tuple(engines)
        self.config = config or PortfolioConfig()
        self.known = known

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        return "portfolio"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Return the front of all engines together."""
        members = self.engines
        if members is None:
            members = tuple(make_engine(name) for name in (*QUICK, "evolution"))
        return _Run(problem, runtime or Runtime(), members, self.config, self.known).search()


class _Run:
    """One search of a portfolio."""

    def __init__(
        self,
        problem: RegressionProblem,
        runtime: Runtime,
        members: Sequence[SearchEngine],
        config: PortfolioConfig,
        known: ParetoFront | None,
    ) -> None:
        self.problem = problem
        self.known = known
        self.config = config
        deadline = min(runtime.deadline, time.monotonic() + problem.budget.seconds)
        self.runtime = replace(runtime, deadline=deadline)
        self.quick = [engine for engine in members if engine.name in QUICK]
        self.deep = [engine for engine in members if engine.name not in QUICK]
        self.front = baseline(problem)
        self._began = time.monotonic()
        self.exact: Candidate | None = None
        self.notes: list[str] = []
        self._tried: set[sympy.Expr] = set(problem.features)
        self._peeled: set[tuple[str, sympy.Expr]] = set()
        self._dug: set[tuple[str, sympy.Expr]] = set()
        self._enumerated: set[tuple[str, sympy.Expr]] = set()
        self._fraction = 0.0
        self._timed = False
        self._is_sure = False

    def search(self) -> ParetoFront:
        """Run the engines one after the other until one is exact or the budget is used."""
        if self.known is not None:
            self._take(self.known)
        with beside(self._first_round, self.runtime) as scouted:
            self._quick_phase()
            if not self._done():
                self._deep_rounds(scouted)
        if self.exact is not None:
            self.notes.append("an exact fit was found")
        stopped = self.runtime.must_stop() and not self._is_sure
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

    def _quick_phase(self) -> None:
        end = self.config.quick_time if self.deep else 0.8
        if self.known is None:
            # Features widen the libraries and can crowd out what is already there: first without them.
            plain = _PLAIN * end if self.problem.features else end
            self._quick_pass(replace(self.problem, features=()), self.config.quick_share, until=plain)
        if self.problem.features:
            left = end if self.known is None else (1 - _PLAIN) * end
            self._quick_pass(self.problem, self.config.quick_share, until=left)
        self._look_inside(until=self._fraction + 0.03)
        self._peel(until=self._fraction + 0.05)

    def _first_round(self, runtime: Runtime) -> ParetoFront:
        """Return what the deep engines find by themselves; this changes nothing here."""
        share = self.config.rounds[0] / sum(self.config.rounds)
        until = self._first_end()
        left = (1 - until) * (self.runtime.deadline - self._began)
        own = replace(
            runtime,
            deadline=np.inf if np.isinf(left) else self.runtime.deadline - left,
            progress=None if runtime.progress is None else self._forward(self._fraction, until),
        )
        fronts = [engine.search(self._deep_problem(0, share), own) for engine in self.deep]
        found = [candidate for front in fronts for candidate in front]
        return ParetoFront.of(found, complete=all(front.complete for front in fronts))

    def _first_end(self) -> float:
        """Return the share of the whole after which the first round ends."""
        quick = self.config.quick_time + _AFTER_QUICK
        return quick + (_LAST_PEEL - quick) * self.config.rounds[0] / sum(self.config.rounds)

    def _deep_problem(self, number: int, share: float) -> RegressionProblem:
        """Return the problem of one deep engine in a round."""
        evaluations = int(self.problem.budget.evaluations * share / max(1, len(self.deep)))
        budget = replace(self.problem.budget, evaluations=max(1, evaluations))
        return replace(self.problem, seed=_derived_seed(self.problem.seed, number), budget=budget)

    def _deep_rounds(self, scouted: Answer) -> None:
        before = settled(self.front, self.problem)
        for number in range(len(self.config.rounds)):
            if number == 0:
                found = scouted()
                self._timed |= not found.complete
                self._fraction = max(self._fraction, self._first_end())
                self._take(found)
            else:
                self._seeded_round(number)
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
            self._dig(until=min(1.0, self._fraction + _DIGGING))

    def _seeded_round(self, number: int) -> None:
        """Let the deep engines go on from all that was found."""
        shares = self.config.rounds
        # A little is left for the rests of what the last round finds.
        until = self._fraction + (_LAST_PEEL - self._fraction) * shares[number] / sum(shares[number:])
        for engine in self.deep:
            if self._done():
                return
            problem = self._deep_problem(number, shares[number] / sum(shares))
            self._run(_seeded(engine, self._seeds()), problem, 1.0, until=until)

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
        self._try_short(chosen)
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
        self._try_short(fresh[: _SHORT_INSIDES * self.config.insides])
        # Constants inside functions are what such problems are about.
        engines = [engine for engine in self.quick if engine.name == _INSIDE] or self.quick
        start, turns = self._fraction, len(chosen) * len(engines)
        for turn, (engine, rest) in enumerate(itertools.product(engines, chosen)):
            if self._done():
                return
            end = start + (until - start) * (turn + 1) / turns
            self._run(engine, rest.problem, self.config.quick_share / 20, until=end, wrap=rest.wrap)

    def _try_short(self, smaller: Sequence[Rest]) -> None:
        """Try all short formulas for smaller problems: cheap, and nothing short is passed by."""
        for rest in smaller:
            if self._done() or rest.key in self._enumerated:
                continue
            self._enumerated.add(rest.key)
            nearest = [
                evaluate_candidate(formula, rest.problem, _SHORT) for formula in short_formulas(rest.problem)
            ]
            whole = self._whole(ParetoFront.of(nearest), rest.wrap, _SHORT)
            # Of so many some fit a little better by chance; that would make the front look flat.
            much_better = [found for found in whole if found.loss < _SHORT_GAIN * self.front.best.loss]
            self._take(ParetoFront.of(much_better))

    def _dig(self, until: float) -> None:
        """Let the deep engines solve the most promising smaller problems: a short formula is soon found."""
        if self._done() or settled(self.front, self.problem) is not None:
            return
        smaller = [*itertools.islice(inner_rests(self.front, self.problem), self.config.digs)]
        smaller += itertools.islice(rests(self.front, self.problem), 2 * self.config.digs)
        fresh = [rest for rest in smaller if rest.key not in self._dug][: self.config.digs]
        self._dug.update(rest.key for rest in fresh)
        start, turns = self._fraction, len(fresh) * len(self.deep)
        for turn, (rest, engine) in enumerate(itertools.product(fresh, self.deep)):
            if self._done():
                return
            end = start + (until - start) * (turn + 1) / turns
            self._run(engine, rest.problem, self.config.quick_share / 10, until=end, wrap=rest.wrap)

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
        budget = Budget(max(1, int(problem.budget.evaluations * share)), max(seconds, 1e-3))
        inner = replace(self.runtime, deadline=now + max(seconds, 1e-3), progress=self._forward(start, until))
        found = engine.search(replace(problem, budget=budget), inner)
        self._timed |= time.monotonic() >= inner.deadline
        self._fraction = max(start, until)
        self._take(found if wrap is None else ParetoFront.of(self._whole(found, wrap, engine.name)))

    def _whole(
        self, found: ParetoFront, wrap: Callable[[sympy.Expr], sympy.Expr], engine: str
    ) -> list[Candidate]:
        """Return answers to a smaller problem as answers to the whole."""
        whole = [refitted(wrap(candidate.expression), self.problem, engine) for candidate in found]
        return [candidate for candidate in whole if candidate is not None]

    def _forward(self, start: float, until: float) -> ProgressCallback:
        """Return what passes the reports of an engine on as a part of the whole."""

        def forward(report: Progress) -> None:
            fraction = start + max(0.0, until - start) * min(1.0, max(0.0, report.fraction))
            self.runtime.report(report.engine, fraction, report.message, self._best_loss(report.best_loss))

        return forward

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
            self._is_sure = surely_exact(short, self.problem)
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

    def _done(self) -> bool:
        return self._is_sure or self.runtime.must_stop()


def _seeded(engine: SearchEngine, seeds: tuple[sympy.Expr, ...]) -> SearchEngine:
    """Return an engine that starts from given formulas, if it can."""
    if not hasattr(engine, "seeds") or not hasattr(engine, "config"):
        return engine
    seeded: SearchEngine = type(engine)(engine.config, seeds=seeds)  # type: ignore[call-arg]
    return seeded


def _derived_seed(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([abs(seed), number]).generate_state(1)[0])
