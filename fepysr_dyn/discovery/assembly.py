"""Which right-hand sides make the best system: candidates are judged together, on the trajectories.

A derivative says little about a weak term that acts over a long time; the trajectory does. First the
candidates of each state are judged alone, with the other states as they were measured. The best of them are
put together first, and then all: a law that is steep where another state is near zero can only be followed
together with that one. One equation at a time is exchanged for another, or for a plainer one near it, as long
as the system foretells experiments or stretches of time that were kept out of the fit of its constants better
than its length costs. Equations are then searched once more, now that there is a system which tells how much
an error of a state does to each of them. The best systems are then fitted to whole experiments, and what
follows them best is chosen: a system can be good at each step and still lead elsewhere.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.discovery.confidence import structure_of
from fepysr_dyn.discovery.judging import SystemJudge, formula_cost
from fepysr_dyn.discovery.plainer import plainer_rates
from fepysr_dyn.discovery.states import StateSearch
from fepysr_dyn.integration import SolverOptions
from fepysr_dyn.measured_system import measured_system
from fepysr_dyn.refinement import Refinement, refine
from fepysr_dyn.replay import replay
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories, make_experiment

if TYPE_CHECKING:
    import xarray as xr

    from fepysr_dyn.search.problem import Runtime

Array = NDArray[np.float64]

#: Candidates of a front before and after the chosen one that are tried in the system.
_SHORTER, _LONGER = 6, 3
#: Candidates of a state that are the first to be tried together with those of other states, besides what each
#: search chose.
_SHORTLIST = 6
#: Rounds of exchanges with the first candidates, and then with all.
_ROUNDS = 3
#: Systems that are compared at most.
_TRIALS = 1500
#: Systems that are fitted to whole experiments at most.
_FINALISTS = 6
#: A mean squared residual over whole experiments that is so many times that over stretches of them is a miss.
_MUCH_WORSE = 4.0
#: A system that follows no whole experiment is chosen for being nearer only if it is by this factor.
_NEARER = 0.8
_SECONDS_PER_RUN = 3.0
#: Shares of the time until which candidates are judged alone, and systems are put together.
_ALONE, _TOGETHER = 0.15, 0.4
#: The same for searching equations again and for comparing what was found, round by round.
_AGAIN = ((0.55, 0.65), (0.75, 0.85))

#: (state, its law in the best system so far with constants as found and refitted, runtime)
SearchAgain = Callable[[str, Sequence[sympy.Expr], "Runtime"], StateSearch]


@dataclass(frozen=True)
class ChosenSystem:
    """The chosen system, and how often each of its structures wins when windows are resampled.

    `complete` is false if the comparison was ended before all systems had their turn.
    """

    system: OdeSystem
    refinement: Refinement
    confidence: dict[str, float]
    complete: bool = True


def choose_system(
    system: OdeSystem,
    searches: Mapping[str, Sequence[StateSearch]],
    trajectories: Trajectories,
    smoothed: Sequence[xr.Dataset],
    runtime: Runtime,
    *,
    as_found: Collection[str] = (),
    again: SearchAgain | None = None,
    resamples: int = 20,
    seed: int = 0,
) -> ChosenSystem:
    """Return the system whose equations foretell the trajectories best for their length.

    Parameters
    ----------
    searches : mapping of str to sequence of StateSearch
        What was found for each state, with one or several forms of its problem. An equation that fits
        exactly is not put to the test, and its constants stay.
    as_found : collection of str
        States whose equations are not tried without a term: something is known about them that the search
        took care of.
    again : callable, optional
        Searches the equation of a state once more, knowing laws near the truth.
    runtime : Runtime
        Its deadline ends the comparison of systems early; the best so far is returned.
    """
    clock = _Clock(runtime)
    exact = [state for state, found in searches.items() if found[0].choice.exact]
    options = {state: _all_options(found) for state, found in searches.items() if state not in exact}
    if len(searches) > 1:
        options = {
            state: _best_alone(state, own, trajectories, smoothed, clock.until(_ALONE, i, options))
            for i, (state, own) in enumerate(options.items())
        }
    first = {state: _shortlisted(searches[state], own[:_SHORTLIST]) for state, own in options.items()}
    last = {state: _unlikely(searches[state], own) for state, own in options.items()}
    judge = SystemJudge(trajectories, smoothed, exact)
    beginnings = [system, *_beginnings(system, searches, options)]
    stop = clock.until(_TOGETHER)
    best, complete = _compared(beginnings, (first, options, last), judge, stop, as_found)
    for searched, compared in _AGAIN:
        if again is None or runtime.must_stop():
            break
        before, nearest = best, judge.fitted(best)
        found = {
            state: again(
                state, (best.rates[state], nearest.rates[state]), clock.runtime(searched, i, options)
            )
            for i, state in enumerate(options)
        }
        new = {state: _all_options([search]) for state, search in found.items()}
        rest = {state: _unlikely([search], new[state]) for state, search in found.items()}
        best, complete = _compared([best], (new, rest, first), judge, clock.until(compared), as_found)
        if best is before:
            break
    finalists = [best, *(other for other in judge.ranking(best) if other != best)][:_FINALISTS]
    fitted: list[tuple[OdeSystem, Refinement]] = []
    for finalist in finalists:
        if fitted and runtime.must_stop():
            complete = False
            break
        fitted.append(
            (finalist, refine(finalist, trajectories, smoothed, held=exact, must_stop=runtime.must_stop))
        )
    best, refined = _most_faithful(fitted, trajectories)
    return ChosenSystem(best, refined, judge.confidence(best, resamples, seed), complete)


def _compared(
    beginnings: Sequence[OdeSystem],
    offers: Sequence[Mapping[str, Sequence[Candidate]]],
    judge: SystemJudge,
    must_stop: Callable[[], bool],
    as_found: Collection[str],
) -> tuple[OdeSystem, bool]:
    """Exchange equations for those offered; return the best system, and whether all had their turn."""
    best, complete = beginnings[0], False
    # A stiff system takes as long as many others: these go first.
    for judge.quickly in (True, False):
        best = min((best, *beginnings), key=judge.score)
        for offered in offers:
            best, complete = _exchanged(best, offered, judge, must_stop, as_found)
    return best, complete


def has_structure(search: StateSearch, rate: sympy.Expr) -> bool:
    """Return whether a right-hand side is among what a search offers to the system."""
    return structure_of(rate) in {structure_of(candidate.expression) for candidate in _options(search)}


def _all_options(searches: Sequence[StateSearch]) -> list[Candidate]:
    """Return what the searches for a state offer, each structure once.

    They take turns, because time may be up before all candidates have had theirs.
    """
    turns = itertools.zip_longest(*(_options(search) for search in searches))
    offered = [candidate for turn in turns for candidate in turn if candidate is not None]
    return list({structure_of(c.expression): c for c in offered}.values())


def _options(search: StateSearch) -> list[Candidate]:
    """Return the chosen candidate, its alternatives, and its neighbours on the front."""
    front = list(search.front)
    chosen = search.choice.unsnapped
    position = sum(candidate.complexity < chosen.complexity for candidate in front)
    near = front[max(0, position - _SHORTER) : position + _LONGER + 1]
    return [chosen, *search.choice.alternatives, *near]


def _shortlisted(searches: Sequence[StateSearch], best_alone: Sequence[Candidate]) -> list[Candidate]:
    """Return the best candidates of a state, and what each search chose."""
    chosen = [search.choice.unsnapped for search in searches]
    return list({structure_of(c.expression): c for c in (*best_alone, *chosen)}.values())


def _unlikely(searches: Sequence[StateSearch], offered: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates of a state that lie far from what was chosen."""
    known = {structure_of(candidate.expression) for candidate in offered}
    rest = {structure_of(c.expression): c for search in searches for c in search.front}
    return [candidate for structure, candidate in rest.items() if structure not in known]


def _beginnings(
    system: OdeSystem,
    searches: Mapping[str, Sequence[StateSearch]],
    options: Mapping[str, Sequence[Candidate]],
) -> list[OdeSystem]:
    """Return the systems from which equations are exchanged.

    The best equations alone, what was chosen by derivatives, and what each further form of the problem chose.
    """
    own_best = {state: own[0] for state, own in options.items()}
    forms = max(len(found) for found in searches.values())
    by_form = [
        {state: searches[state][min(form, len(searches[state]) - 1)].choice.unsnapped for state in options}
        for form in range(1, forms)
    ]
    begun = ({s: c.expression for s, c in rates.items()} for rates in (own_best, *by_form))
    return [replace(system, rates={**system.rates, **rates}) for rates in begun]


class _Clock:
    """Shares of the time until a deadline."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._began = time.monotonic()

    def until(self, share: float, position: int = 0, parts: Collection[object] = (1,)) -> Callable[[], bool]:
        """Return what says whether a part of a share of the time is over."""
        end = self._end(share * (position + 1) / len(parts))
        return lambda: time.monotonic() > end or self._runtime.must_stop()

    def runtime(self, share: float, position: int, parts: Collection[object]) -> Runtime:
        """Return a runtime that ends when such a part of what is left until a share of the time is over."""
        now = time.monotonic()
        end = now + (self._end(share) - now) / (len(parts) - position)
        return replace(self._runtime, deadline=min(max(now, end), self._runtime.deadline), progress=None)

    def _end(self, share: float) -> float:
        return self._began + share * (self._runtime.deadline - self._began)


def _best_alone(
    state: str,
    options: Sequence[Candidate],
    trajectories: Trajectories,
    smoothed: Sequence[xr.Dataset],
    must_stop: Callable[[], bool],
) -> list[Candidate]:
    """Return the candidates, best first, by how they follow their state while others move as measured."""
    names = [name for name in (*trajectories.states, *trajectories.inputs) if name != state]
    pairs = list(zip(trajectories, smoothed, strict=True))
    alone = Trajectories(tuple(_alone(state, run, known, names) for run, known in pairs))
    judge = SystemJudge(alone, [_alone(state, known, known, names) for _, known in pairs], ())
    lonely = measured_system("alone", {state: sympy.Integer(0)}, alone)
    scores: dict[Candidate, float] = {}
    for judge.quickly in (True, False):
        for candidate in options:
            if must_stop() and len(scores) >= _SHORTLIST:
                break
            scores[candidate] = judge.score(replace(lonely, rates={state: candidate.expression}))
    return sorted(options, key=lambda candidate: scores.get(candidate, math.inf))


def _alone(state: str, run: xr.Dataset, smoothed: xr.Dataset, inputs: Sequence[str]) -> xr.Dataset:
    """Return an experiment in which all other states are inputs."""
    return make_experiment(
        run["time"].to_numpy(),
        {state: run[state].to_numpy()},
        {name: smoothed[name].to_numpy() for name in inputs},
        name=str(run.attrs["name"]),
        breakpoints=run.attrs["breakpoints"],
    )


def _exchanged(
    best: OdeSystem,
    options: Mapping[str, Sequence[Candidate]],
    judge: SystemJudge,
    must_stop: Callable[[], bool],
    as_found: Collection[str],
) -> tuple[OdeSystem, bool]:
    """Exchange one equation at a time; return the best system, and whether all had their turn."""
    for _ in range(_ROUNDS):
        before = best
        for state, own in options.items():
            plainer = () if state in as_found else plainer_rates(best.rates[state])
            for rate in (*(c.expression for c in own), *plainer):
                if judge.tried >= _TRIALS or must_stop():
                    return best, False
                if structure_of(rate) != structure_of(best.rates[state]):
                    trial = replace(best, rates={**best.rates, state: rate})
                    best = min(best, trial, key=judge.score)
        if best is before:
            break
    return best, True


def _most_faithful(
    fitted: Sequence[tuple[OdeSystem, Refinement]], trajectories: Trajectories
) -> tuple[OdeSystem, Refinement]:
    """Return the best of those that follow whole experiments, or else the one that stays near them.

    A system that follows all of an experiment much worse than others follow long stretches of it does not
    count as one that follows it.
    """
    longest = max(run.sizes["time"] for run in trajectories)
    closest = min(refined.misfit for _, refined in fitted)
    whole = [pair for pair in fitted if pair[1].window >= longest and pair[1].misfit <= _MUCH_WORSE * closest]
    if whole:
        return min(whole, key=lambda pair: _whole_length(pair[0], pair[1], trajectories))
    # The first is the best on windows: only what is clearly nearer takes its place.
    distances = [_distance(refined, trajectories) for _, refined in fitted]
    nearest = int(np.argmin(distances))
    return fitted[nearest] if distances[nearest] < _NEARER * distances[0] else fitted[0]


def _distance(refined: Refinement, trajectories: Trajectories) -> float:
    """Return how far a system is from the data over whole experiments, in spreads; each sample at most one.

    Samples that are not reached count as one, so that a late blow-up is better than an early one.
    """
    options = SolverOptions(rtol=1e-6, atol=1e-8, time_limit=_SECONDS_PER_RUN)
    squares = []
    for run, initial in zip(trajectories, refined.initial, strict=True):
        result = replay(refined.system, run, initial=initial, options=options)
        for state, simulated in zip(refined.system.states, result.states, strict=True):
            data = run[state].to_numpy()
            miss = np.ones(len(data))
            miss[: len(simulated)] = (simulated - data[: len(simulated)]) / (np.nanstd(data) or 1.0)
            squares.append(np.fmin(miss**2, 1.0)[np.isfinite(data)])
    return float(np.sqrt(np.mean(np.concatenate(squares))))


def _whole_length(system: OdeSystem, refined: Refinement, trajectories: Trajectories) -> float:
    """Return the description length of a system that was fitted to whole experiments, in nats."""
    samples = sum(run.sizes["time"] for run in trajectories) * len(system.states)
    misfit = 0.5 * samples * math.log(max(refined.misfit, 1e-300))
    constants = 0.5 * len(refined.constants) * math.log(samples)
    return misfit + constants + formula_cost(system)
