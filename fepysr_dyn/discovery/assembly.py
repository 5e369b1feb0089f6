"""Which right-hand sides make the best system: candidates are judged together, on the trajectories.

A derivative says little about a weak term that acts over a long time; the trajectory does. Starting from the
choices per state, one equation at a time is exchanged for another candidate of its front, as long as the
system follows the data better than its length costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.discovery.confidence import structure_of
from fepysr_dyn.discovery.states import StateSearch
from fepysr_dyn.expressions import complexity
from fepysr_dyn.refinement import fit_windows
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.shooting import WindowFit
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: Candidates of a front on either side of the chosen one that are tried in the system.
_NEIGHBOURS = 4
_ROUNDS = 3
#: Description of one node of a formula, in nats.
_NODE_COST = 1.5


@dataclass(frozen=True)
class ChosenSystem:
    """The chosen system, and how often each of its structures wins when windows are resampled."""

    system: OdeSystem
    confidence: dict[str, float]


def choose_system(
    system: OdeSystem,
    searches: Mapping[str, StateSearch],
    trajectories: Trajectories,
    smoothed: Sequence[xr.Dataset],
    *,
    resamples: int = 20,
    seed: int = 0,
) -> ChosenSystem:
    """Return the system whose equations follow the trajectories best for their length."""
    judge = _Judge(trajectories, smoothed)
    options = {state: _options(search) for state, search in searches.items()}
    best = system
    for _ in range(_ROUNDS):
        before = best
        for state, candidates in options.items():
            for candidate in candidates:
                if structure_of(candidate.expression) != structure_of(best.rates[state]):
                    trial = replace(best, rates={**best.rates, state: candidate.expression})
                    best = min(best, trial, key=judge.score)
        if best is before:
            break
    return ChosenSystem(best, judge.confidence(best, resamples, seed))


def _options(search: StateSearch) -> list[Candidate]:
    """Return the neighbours of the chosen candidate on its front, and its alternatives."""
    front = list(search.front)
    chosen = search.choice.unsnapped
    position = sum(candidate.complexity < chosen.complexity for candidate in front)
    near = front[max(0, position - _NEIGHBOURS) : position + _NEIGHBOURS + 1]
    return list(
        {structure_of(c.expression): c for c in (*near, *search.choice.alternatives, chosen)}.values()
    )


class _Judge:
    """Description lengths of systems on one data set; each system is fitted once."""

    def __init__(self, trajectories: Trajectories, smoothed: Sequence[xr.Dataset]) -> None:
        self._trajectories = trajectories
        self._smoothed = smoothed
        self._fits: dict[tuple[sympy.Expr, ...], WindowFit | None] = {}

    def score(self, system: OdeSystem, weights: Array | None = None) -> float:
        """Return the description length of data and system in nats, windows weighted; smaller is better."""
        rates = tuple(system.rates.values())
        if rates not in self._fits:
            self._fits[rates] = fit_windows(system, self._trajectories, self._smoothed)
        return self._length(rates, weights)

    def confidence(self, chosen: OdeSystem, resamples: int, seed: int) -> dict[str, float]:
        """Return how often each structure of the chosen system wins among all systems tried."""
        fit = self._fits.get(tuple(chosen.rates.values()))
        if fit is None or resamples < 1:
            return dict.fromkeys(chosen.states, 0.0)
        random = np.random.default_rng(seed)
        windows = len(fit.window_chi2)
        wins = dict.fromkeys(chosen.states, 0)
        for _ in range(resamples):
            weights = np.bincount(random.integers(0, windows, windows), minlength=windows).astype(float)
            winner = min(self._fits, key=lambda rates: self._length(rates, weights))
            for (state, rate), other in zip(chosen.rates.items(), winner, strict=True):
                wins[state] += structure_of(rate) == structure_of(other)
        return {state: count / resamples for state, count in wins.items()}

    def _length(self, rates: tuple[sympy.Expr, ...], weights: Array | None) -> float:
        fit = self._fits[rates]
        if fit is None:
            return math.inf
        chi2 = fit.chi2 if weights is None else float(weights @ fit.window_chi2)
        nodes = sum(complexity(rate) for rate in rates)
        misfit = 0.5 * fit.samples * math.log(max(chi2, 1e-300) / fit.samples)
        return misfit + 0.5 * len(fit.theta) * math.log(fit.samples) + _NODE_COST * nodes
