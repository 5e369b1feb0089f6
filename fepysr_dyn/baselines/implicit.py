"""SINDy-PI: implicit laws that are sparse in polynomials and in their products with the derivative.

Each answer N(x) − x' D(x) = 0 is solved for the derivative, so that it can be integrated; one whose
denominator vanishes within the data is no candidate.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.baselines.base import BaselineResult, Rates, Settings
from fepysr_dyn.baselines.differentiation import differentiated, thinned, usable_windows
from fepysr_dyn.baselines.grid import choose
from fepysr_dyn.baselines.libraries import monomials
from fepysr_dyn.baselines.pieces import Array, pieces_of, stacked
from fepysr_dyn.baselines.pysindy_calls import load_implicit_optimizer, load_pysindy
from fepysr_dyn.baselines.regression import MAX_ROWS
from fepysr_dyn.baselines.scaling import Units
from fepysr_dyn.expressions import compile_expression

if TYPE_CHECKING:
    from fepysr_dyn.baselines.splitting import Split
    from fepysr_dyn.trajectories import Trajectories

NAME = "sindy-pi"
DEGREES = (1, 2)
#: Weights of the l1 penalty, for columns of unit root mean square.
PENALTIES = (1e-4, 1e-3, 1e-2)
#: Coefficients of the penalised fit below this share of the largest are taken as dropped.
DROPPED = 1e-3
#: More features than this would take minutes: every one of them is tried as the left-hand side.
MAX_FEATURES = 42
#: A denominator that comes this close to zero, relative to its mean size, has a pole within the data.
POLE = 1e-3


@dataclass(frozen=True)
class SindyPI:
    """SINDy-PI over a grid of degrees, smoothing windows and penalties."""

    name: str = NAME

    def fit(
        self,
        trajectories: Trajectories,
        *,
        split: Split | None = None,
        seed: int = 0,
        time_limit: float = 60.0,
    ) -> BaselineResult:
        """Choose a setting by its held-out score and fit it on all the data."""
        return choose(self.name, ImplicitFitter, trajectories, split=split, seed=seed, time_limit=time_limit)


def make_implicit() -> SindyPI:
    """Return the baseline; it needs the extra ``sindy-pi``."""
    load_implicit_optimizer()
    return SindyPI()


@dataclass
class ImplicitFitter:
    """The settings of SINDy-PI on some data."""

    trajectories: Trajectories
    seed: int
    deadline: float = np.inf
    _data: dict[int, tuple[Units, Array, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ps = load_pysindy()
        self._optimizer = load_implicit_optimizer()
        self._pieces = pieces_of(self.trajectories)
        self._names = (*self.trajectories.states, *self.trajectories.inputs)

    @property
    def grid(self) -> Iterator[Settings]:
        """Smoothing windows × degrees × penalties."""
        for window in usable_windows(self._pieces):
            for degree in DEGREES:
                for penalty in PENALTIES:
                    yield {"smoothing": window, "degree": degree, "penalty": penalty}

    def fit(self, settings: Settings) -> Rates:
        """Return the right-hand sides at one setting, solved for the derivatives."""
        units, values, rates = self._columns(settings["smoothing"])
        terms = monomials([sympy.Symbol(name) for name in self._names], settings["degree"])
        if 2 * len(terms) > MAX_FEATURES:
            raise ValueError(f"the library has {2 * len(terms)} terms, more than {MAX_FEATURES}")
        features = np.column_stack([compile_expression(term, self._names)(*values.T) for term in terms])
        scaled = dict(zip(map(sympy.Symbol, self._names), units.variables(self._names), strict=True))
        found = {}
        for index, state in enumerate(self.trajectories.states):
            if time.monotonic() > self.deadline:
                raise ValueError("the time limit was reached")
            law = _best_law(self._optimizer, features, rates[:, index], settings["penalty"])
            if law is None:
                raise ValueError(f"every implicit law for d{state}/dt has a pole within the data")
            top, bottom = (
                sympy.Add(*(sympy.Float(float(c)) * term for c, term in zip(part, terms, strict=True) if c))
                for part in law
            )
            size = sympy.Float(float(units.states[index] * units.rate))
            found[state] = (size * top / bottom).xreplace(scaled)
        return found

    def _columns(self, window: int) -> tuple[Units, Array, Array]:
        """Return states and inputs, and rates, in natural units: one row per sample."""
        if window not in self._data:
            pieces, rates = thinned(*differentiated(self._ps, self._pieces, window), MAX_ROWS)
            units = Units.natural(pieces, rates)
            pieces, rates = units.convert(pieces, rates)
            self._data[window] = (units, np.hstack(stacked(pieces)), np.vstack(rates))
        return self._data[window]


def _best_law(optimizer: Any, features: Array, rate: Array, penalty: float) -> tuple[Array, Array] | None:
    """Return numerator and denominator of the law that predicts the rate best, over all left-hand sides."""
    count = features.shape[1]
    if not np.any(rate):
        return np.zeros(count), np.eye(count)[0]
    columns = np.hstack([features, rate[:, None] * features])
    sizes = np.sqrt(np.mean(columns**2, axis=0))
    sizes[sizes == 0] = 1.0
    columns = columns / sizes
    # The penalised problem sees the columns through their products only: the triangular factor, with as
    # many rows as features, is the same problem as all the samples.
    factor = np.linalg.qr(columns, mode="r") / np.sqrt(len(columns))
    fitted = optimizer(reg_weight_lam=penalty, tol=1e-8, max_iter=20_000)
    fitted.fit(factor, np.zeros((len(factor), 1)))
    best, smallest = None, np.inf
    for left, row in enumerate(np.atleast_2d(fitted.coef_)):
        weights = _refitted(columns, left, np.asarray(row, dtype=float))
        if weights is None:
            continue
        weights = weights / sizes
        top, bottom = weights[:count], -weights[count:]
        below = features @ bottom
        if not _without_pole(below):
            continue
        error = float(np.mean((features @ top / below - rate) ** 2))
        if error < smallest:
            best, smallest = (top, bottom), error
    return best


def _refitted(columns: Array, left: int, row: Array) -> Array | None:
    """Return the weights of θ_left − Σ ξ θ = 0 with the kept ξ fitted again without penalty.

    What the fit without penalty makes small is dropped in turn, until nothing is.
    """
    weights = np.where(np.isfinite(row), row, 0.0)
    weights[left] = 0.0
    while True:
        kept = np.flatnonzero(np.abs(weights) > DROPPED * np.max(np.abs(weights), initial=0.0))
        if not len(kept):
            return None
        weights = np.zeros(columns.shape[1])
        weights[kept] = np.linalg.lstsq(columns[:, kept], columns[:, left], rcond=None)[0]
        if np.all(np.abs(weights[kept]) > DROPPED * np.max(np.abs(weights))):
            weights = -weights
            weights[left] = 1.0
            return weights


def _without_pole(below: NDArray[np.float64]) -> bool:
    """Return whether a denominator keeps its sign over the data, and its distance from zero."""
    sizes = np.abs(below)
    one_sign = bool(np.all(below > 0) or np.all(below < 0))
    return one_sign and float(np.min(sizes)) > POLE * float(np.mean(sizes))
