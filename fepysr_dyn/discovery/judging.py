"""How good a system is, in one number: the description length of the data and of its formulas.

Systems are fitted to the same windows of the trajectories, and what counts is how well each half of them is
foretold from the other one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.discovery.confidence import structure_of
from fepysr_dyn.expressions import complexity
from fepysr_dyn.expressions.canonical import NODE_COST
from fepysr_dyn.linearised import LinearisedSystem
from fepysr_dyn.refinement import StiffSystemError, WindowJudge
from fepysr_dyn.shooting import WindowFit
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: Systems are much worse than the best if they are longer by so many nats.
_CLOSE = 60.0
#: On shorter windows they are if they are longer by so many.
_FAR_BEHIND = 150.0
#: Description of a function beyond arithmetic, in nats, besides its node: there are many.
_FUNCTION_COST = 8.0


class SystemJudge:
    """Description lengths of systems on one data set; each system is fitted once.

    Attributes
    ----------
    quickly : bool
        Whether stiff systems count as infinitely long for now, because they would take too much time.
    """

    def __init__(
        self, trajectories: Trajectories, smoothed: Sequence[xr.Dataset], held: Collection[str]
    ) -> None:
        self._windows = WindowJudge(trajectories, smoothed, held)
        self._judged: dict[tuple[sympy.Expr, ...], _Judged | None] = {}
        #: Of systems that were the best ones for a time.
        self._fits: dict[tuple[sympy.Expr, ...], WindowFit] = {}
        self._best: _Judged | None = None
        self._stiff: set[tuple[sympy.Expr, ...]] = set()
        self.quickly = False

    @property
    def tried(self) -> int:
        """Systems judged so far."""
        return len(self._judged)

    def score(self, system: OdeSystem) -> float:
        """Return the description length of data and system in nats; smaller is better."""
        rates = tuple(system.rates.values())
        if rates not in self._judged:
            if self.quickly and rates in self._stiff:
                return math.inf
            try:
                self._judged[rates] = self._judge(system)
            except StiffSystemError:
                self._stiff.add(rates)
                return math.inf
        return _length(self._judged[rates])

    def is_stiff(self, system: OdeSystem) -> bool:
        """Return whether a system that was judged needs finer steps than most do."""
        return tuple(system.rates.values()) in self._stiff

    def fitted(self, system: OdeSystem) -> OdeSystem:
        """Return a system with its constants refitted; as it is if it cannot be followed."""
        fit = self._fits.get(tuple(system.rates.values())) or self._windows.fit(system)
        return system if fit is None else self._windows.fitted(system, fit)

    def linearised(self, system: OdeSystem) -> LinearisedSystem | None:
        """Return what small changes of a system's rates do to the samples; None if it cannot be followed."""
        return self._windows.linearised(system)

    def ranking(self, like: OdeSystem) -> list[OdeSystem]:
        """Return the systems judged that are not much worse than the best, best first."""
        lengths = {rates: _length(judged) for rates, judged in self._judged.items()}
        limit = min(lengths.values()) + _CLOSE
        near = sorted((rates for rates in lengths if lengths[rates] <= limit), key=lambda r: lengths[r])
        return [replace(like, rates=dict(zip(like.states, rates, strict=True))) for rates in near]

    def _judge(self, system: OdeSystem) -> _Judged | None:
        formula, hopeless, harder = formula_cost(system), math.inf, 1.0
        if self._best is not None:
            # Beyond this not even a formula without constants would be near the best: windows of any length
            # tell systems apart, only less surely the shorter they are.
            nats = _length(self._best, on_shorter=True) + _FAR_BEHIND - formula
            samples = self._best.samples
            hopeless = samples * math.exp(min(700.0, 2.0 * nats / samples))
            harder = float(np.sum(self._best.window_chi2)) / max(self._best.on_shorter, 1e-300)
        fit = self._windows.fit(system, hopeless=hopeless, harder=harder, quickly=self.quickly)
        if fit is None:
            return None
        if fit.stepping not in self._windows.quick_steppings:
            self._stiff.add(tuple(system.rates.values()))
        judged = _Judged(fit.window_chi2, fit.samples, len(fit.theta), formula, fit.on_shorter)
        # What is kept out of a fit is never followed better than in it: a system that is worse already
        # needs no second look.
        if fit.on_shorter <= hopeless and _length(judged) < _length(self._best):
            judged = replace(judged, window_chi2=self._windows.left_out(system, fit))
            if _length(judged) < _length(self._best):
                self._best = judged
            self._fits[tuple(system.rates.values())] = fit
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
    formula: float
    on_shorter: float


def formula_cost(system: OdeSystem) -> float:
    """Return the description of the formulas of a system without their constants, in nats."""
    return sum(
        NODE_COST * complexity(rate) + _FUNCTION_COST * _functions(rate) for rate in system.rates.values()
    )


def _functions(rate: sympy.Expr) -> int:
    """Return how often a formula leaves arithmetic: functions, roots and powers that vary."""
    return sum(
        isinstance(node, sympy.Function) or (node.is_Pow and not node.exp.is_Integer)
        for node in sympy.preorder_traversal(rate)
    )


def _length(judged: _Judged | None, weights: Array | None = None, *, on_shorter: bool = False) -> float:
    """Return the description length in nats, with windows counted as often as their weights say.

    Or what it would be with the residuals on shorter windows.
    """
    if judged is None:
        return math.inf
    if on_shorter:
        chi2 = judged.on_shorter
    elif weights is None:
        chi2 = float(np.sum(judged.window_chi2))
    else:
        chi2 = float(np.sum(judged.window_chi2[weights > 0] * weights[weights > 0]))
    misfit = 0.5 * judged.samples * math.log(max(chi2, 1e-300) / judged.samples)
    return misfit + 0.5 * judged.constants * math.log(judged.samples) + judged.formula
