"""Which right-hand sides make the best system: candidates are judged together, on the trajectories.

A derivative says little about a weak term that acts over a long time; the trajectory does. Starting from the
choices per state, one equation at a time is exchanged for another candidate of its fronts, as long as the
system foretells experiments or stretches of time that were kept out of the fit of its constants better than
its length costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.discovery.confidence import structure_of
from fepysr_dyn.discovery.states import StateSearch
from fepysr_dyn.expressions import complexity
from fepysr_dyn.refinement import judge_windows
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: Candidates of a front on either side of the chosen one that are tried in the system.
_NEIGHBOURS = 4
_ROUNDS = 3
#: Systems that are compared at most.
_TRIALS = 150
#: Description of one node of a formula, in nats.
_NODE_COST = 1.5


@dataclass(frozen=True)
class ChosenSystem:
    """The chosen system, and how often each of its structures wins when windows are resampled.

    `complete` is false if the comparison was ended before all systems had their turn.
    """

    system: OdeSystem
    confidence: dict[str, float]
    complete: bool = True


def choose_system(
    system: OdeSystem,
    searches: Mapping[str, Sequence[StateSearch]],
    trajectories: Trajectories,
    smoothed: Sequence[xr.Dataset],
    *,
    resamples: int = 20,
    seed: int = 0,
    must_stop: Callable[[], bool] = lambda: False,
) -> ChosenSystem:
    """Return the system whose equations foretell the trajectories best for their length.

    Parameters
    ----------
    searches : mapping of str to sequence of StateSearch
        What was found for each state, with one or several forms of its problem. An equation that fits
        exactly is not put to the test.
    must_stop : callable
        Ends the comparison of systems early; the best so far is returned.
    """
    judge = _Judge(trajectories, smoothed)
    options = {state: _all_options(found) for state, found in searches.items() if not found[0].choice.exact}
    best = system
    for _ in range(_ROUNDS):
        before = best
        for state, candidate in [(state, c) for state, own in options.items() for c in own]:
            if judge.tried >= _TRIALS or must_stop():
                return ChosenSystem(best, judge.confidence(best, resamples, seed), complete=False)
            if structure_of(candidate.expression) != structure_of(best.rates[state]):
                trial = replace(best, rates={**best.rates, state: candidate.expression})
                best = min(best, trial, key=judge.score)
        if best is before:
            break
    return ChosenSystem(best, judge.confidence(best, resamples, seed))


def has_structure(search: StateSearch, rate: sympy.Expr) -> bool:
    """Return whether a right-hand side is among what a search offers to the system."""
    return structure_of(rate) in {structure_of(candidate.expression) for candidate in _options(search)}


def _all_options(searches: Sequence[StateSearch]) -> list[Candidate]:
    """Return what the searches for a state offer, each structure once."""
    return list({structure_of(c.expression): c for s in reversed(searches) for c in _options(s)}.values())


def _options(search: StateSearch) -> list[Candidate]:
    """Return the neighbours of the chosen candidate on its front, and its alternatives."""
    front = list(search.front)
    chosen = search.choice.unsnapped
    position = sum(candidate.complexity < chosen.complexity for candidate in front)
    near = front[max(0, position - _NEIGHBOURS) : position + _NEIGHBOURS + 1]
    return [*near, *search.choice.alternatives, chosen]


class _Judge:
    """Description lengths of systems on one data set; each system is fitted once."""

    def __init__(self, trajectories: Trajectories, smoothed: Sequence[xr.Dataset]) -> None:
        self._trajectories = trajectories
        self._smoothed = smoothed
        self._judged: dict[tuple[sympy.Expr, ...], _Judged | None] = {}
        self._shortest = math.inf

    @property
    def tried(self) -> int:
        """Systems judged so far."""
        return len(self._judged)

    def score(self, system: OdeSystem) -> float:
        """Return the description length of data and system in nats; smaller is better."""
        rates = tuple(system.rates.values())
        if rates not in self._judged:
            self._judged[rates] = self._judge(system)
        return _length(self._judged[rates])

    def _judge(self, system: OdeSystem) -> _Judged | None:
        windows = judge_windows(system, self._trajectories, self._smoothed)
        if windows is None:
            return None
        nodes = sum(complexity(rate) for rate in system.rates.values())
        judged = _Judged(windows.fit.window_chi2, windows.fit.samples, len(windows.fit.theta), nodes)
        # What is kept out of a fit is never followed better than in it: a system that is worse already
        # needs no second look.
        if _length(judged) < self._shortest:
            judged = replace(judged, window_chi2=windows.left_out())
            self._shortest = min(self._shortest, _length(judged))
        return judged

    def confidence(self, chosen: OdeSystem, resamples: int, seed: int) -> dict[str, float]:
        """Return how often each structure of the chosen system wins among all systems tried."""
        judged = self._judged.get(tuple(chosen.rates.values()))
        if judged is None or resamples < 1:
            return dict.fromkeys(chosen.states, 0.0)
        random = np.random.default_rng(seed)
        windows = len(judged.window_chi2)
        wins = dict.fromkeys(chosen.states, 0)
        for _ in range(resamples):
            weights = np.bincount(random.integers(0, windows, windows), minlength=windows).astype(float)
            winner = min(self._judged, key=lambda rates: _length(self._judged[rates], weights))
            for (state, rate), other in zip(chosen.rates.items(), winner, strict=True):
                wins[state] += structure_of(rate) == structure_of(other)
        return {state: count / resamples for state, count in wins.items()}


@dataclass(frozen=True)
class _Judged:
    """What the description length of a system depends on."""

    window_chi2: Array
    samples: int
    constants: int
    nodes: int


def _length(judged: _Judged | None, weights: Array | None = None) -> float:
    """Return the description length in nats, with windows counted as often as their weights say."""
    if judged is None:
        return math.inf
    counted = (
        judged.window_chi2 if weights is None else judged.window_chi2[weights > 0] * weights[weights > 0]
    )
    misfit = 0.5 * judged.samples * math.log(max(float(np.sum(counted)), 1e-300) / judged.samples)
    return misfit + 0.5 * judged.constants * math.log(judged.samples) + _NODE_COST * judged.nodes
