"""Which right-hand sides make the best system: candidates are judged together, on the trajectories.

A derivative says little about a weak term that acts over a long time; the trajectory does. First the
candidates of each state are judged alone, with the other states as they were measured. The best of them are
put together first, and then all: a law that is steep where another state is near zero can only be followed
together with that one. One equation at a time is exchanged for another, or for a plainer one near it, as long
as the system foretells experiments or stretches of time that were kept out of the fit of its constants better
than its length costs. Equations are then searched again, several times, now that there is a system: near it a
rate does something known to the samples, which are told from their errors much better than any derivative.
The best systems are fitted to whole experiments in the end, and what follows these best is chosen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import sympy

from fepysr_dyn.discovery.clock import Clock
from fepysr_dyn.discovery.confidence import structure_of
from fepysr_dyn.discovery.faithfulness import most_faithful
from fepysr_dyn.discovery.judging import SystemJudge
from fepysr_dyn.discovery.offered import all_options, first_systems, shortlisted, unlikely
from fepysr_dyn.discovery.plainer import plainer_rates
from fepysr_dyn.discovery.states import StateSearch
from fepysr_dyn.measured_system import measured_system
from fepysr_dyn.refinement import Refinement, refine
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories, make_experiment

if TYPE_CHECKING:
    import xarray as xr

    from fepysr_dyn.linearised import LinearisedSystem
    from fepysr_dyn.search.problem import Runtime

#: Candidates of a state that are the first to be tried together with those of other states, besides what each
#: search chose.
_SHORTLIST = 6
#: Rounds of exchanges with the first candidates, and then with all.
_ROUNDS = 3
#: Systems that are compared at most.
_TRIALS = 1500
#: Systems that are fitted to whole experiments at most.
_FINALISTS = 6
#: Nats by which a system may be longer and still count as the same.
_SAME = 1.0
#: Shares of the time until which candidates are judged alone, and systems are put together.
_ALONE, _TOGETHER = 0.12, 0.3
#: Shares of it for searching equations again and for exchanging them, in each round, and until which there
#: are rounds.
_SEARCHED, _EXCHANGED = 0.1, 0.1
#: Where nothing better is found the next search is thorough, and may take twice as long, up to this share.
_LONGEST_SEARCH = 0.4
_ROUNDS_OVER = 0.87

#: (state, the rates of the best system so far, what small changes of these do, thorough or not, runtime)
#: -> laws, likely ones and others
SearchAgain = Callable[
    [str, Mapping[str, sympy.Expr], "LinearisedSystem | None", bool, "Runtime"],
    tuple[list[Candidate], list[Candidate]],
]


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
    clock = Clock(runtime)
    exact = [state for state, found in searches.items() if found[0].choice.exact]
    options = {state: all_options(found) for state, found in searches.items() if state not in exact}
    if len(searches) > 1:
        options = {
            state: _best_alone(state, own, trajectories, smoothed, clock.until(_ALONE, i, options))
            for i, (state, own) in enumerate(options.items())
        }
    first = {state: shortlisted(searches[state], own[:_SHORTLIST]) for state, own in options.items()}
    last = {state: unlikely(searches[state], own) for state, own in options.items()}
    judge = SystemJudge(trajectories, smoothed, exact)
    beginnings = [system, *first_systems(system, searches, options)]
    best, complete = _compared(beginnings, (first, options, last), judge, clock.until(_TOGETHER), as_found)
    if again is not None:
        best, complete = _searched_again(best, again, first, judge, clock, as_found)
    finalists = [best, *(other for other in judge.ranking(best) if other != best)][:_FINALISTS]
    refined: list[tuple[OdeSystem, Refinement]] = []
    for finalist in finalists:
        if refined and runtime.must_stop():
            complete = False
            break
        refinement = refine(finalist, trajectories, smoothed, held=exact, must_stop=runtime.must_stop)
        refined.append((finalist, refinement))
    best, refinement = most_faithful(refined, trajectories)
    return ChosenSystem(best, refinement, judge.confidence(best, resamples, seed), complete)


def _searched_again(
    best: OdeSystem,
    again: SearchAgain,
    offered: Mapping[str, Sequence[Candidate]],
    judge: SystemJudge,
    clock: Clock,
    as_found: Collection[str],
) -> tuple[OdeSystem, bool]:
    """Search all equations along the best system, round by round, and exchange them for what is found.

    Returns the best system, and whether all that was found had its turn.
    """
    share = _SEARCHED
    while not clock.until(_ROUNDS_OVER)():
        before = best = _with_fitted_constants(best, judge)
        along, thorough = judge.linearised(best), share > _SEARCHED
        found = {
            state: again(state, best.rates, along, thorough, clock.runtime(share, offered, _ROUNDS_OVER))
            for state in offered
        }
        likely = {state: own for state, (own, _) in found.items()}
        rest = {state: own for state, (_, own) in found.items()}
        # Two wrong laws may hold each other up: then only both together can be exchanged.
        at_once = replace(
            best, rates={**best.rates, **{s: own[0].expression for s, own in likely.items() if own}}
        )
        stop = clock.part(_EXCHANGED, _ROUNDS_OVER)
        best, complete = _compared([best, at_once], (likely,), judge, stop, as_found)
        if best is not before:
            continue
        best, complete = _compared([best], (rest, offered), judge, clock.until(_ROUNDS_OVER), as_found)
        if best is not before:
            continue
        if share >= _LONGEST_SEARCH:
            return best, complete
        # Whatever a quick search finds is known now.
        share = 2 * share
    return best, False


def _with_fitted_constants(system: OdeSystem, judge: SystemJudge) -> OdeSystem:
    """Return a system with its best constants: what is exchanged in it is then fitted in less time."""
    fitted = judge.fitted(system)
    return fitted if judge.score(fitted) <= judge.score(system) + _SAME else system


def _compared(
    beginnings: Sequence[OdeSystem],
    offers: Sequence[Mapping[str, Sequence[Candidate]]],
    judge: SystemJudge,
    must_stop: Callable[[], bool],
    as_found: Collection[str],
) -> tuple[OdeSystem, bool]:
    """Exchange equations for those offered; return the best system, and whether all had their turn."""
    best, complete = beginnings[0], False
    # A stiff system takes as long as many others: these go first. Beside a stiff one all are.
    for quickly in (False,) if judge.is_stiff(best) else (True, False):
        judge.quickly = quickly
        best = min((best, *beginnings), key=judge.score)
        for offered in offers:
            best, complete = _exchanged(best, offered, judge, must_stop, as_found)
    return best, complete


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
    # States take turns, because time may be up before all candidates have had theirs.
    turns = itertools.zip_longest(*([(state, c.expression) for c in own] for state, own in options.items()))
    offered = [pair for turn in turns for pair in turn if pair is not None]
    for _ in range(_ROUNDS):
        before = best
        plainer = (
            (state, rate)
            for state in options
            if state not in as_found
            for rate in plainer_rates(best.rates[state])
        )
        for state, rate in itertools.chain(offered, plainer):
            if judge.tried >= _TRIALS or must_stop():
                return best, False
            if structure_of(rate) != structure_of(best.rates[state]):
                trial = replace(best, rates={**best.rates, state: rate})
                if judge.score(trial) < judge.score(best):
                    best = _with_fitted_constants(trial, judge)
        if best is before:
            break
    return best, True
