"""Weak SINDy: integrals against test functions instead of derivatives, with polynomials as the library."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np

from fepysr_dyn.baselines.base import BaselineResult, Rates, Settings
from fepysr_dyn.baselines.grid import choose
from fepysr_dyn.baselines.libraries import polynomial
from fepysr_dyn.baselines.pieces import Array, Piece, pieces_of
from fepysr_dyn.baselines.pysindy_calls import load_pysindy, seeded
from fepysr_dyn.baselines.regression import THRESHOLDS
from fepysr_dyn.baselines.scaling import Units
from fepysr_dyn.errors import DataError

if TYPE_CHECKING:
    from fepysr_dyn.baselines.splitting import Split
    from fepysr_dyn.trajectories import Trajectories

NAME = "sindy-weak"
DEGREES = (1, 2, 3)
#: Degrees with more monomials than this are left out.
MAX_TERMS = 400
#: Half widths of the test functions as shares of a piece's duration; PySINDy's own default is 1/20.
HALF_WIDTHS = (0.05, 0.15)
#: Test functions over all pieces, and fewest per piece.
DOMAINS = 200
MIN_DOMAINS = 30
#: A test function spans at least this many of the widest sampling intervals. PySINDy draws forever for one
#: that holds fewer than two samples.
MIN_INTERVALS = 3.0
MIN_SAMPLES = 16


@dataclass(frozen=True)
class WeakSindy:
    """Weak SINDy over a grid of degrees, widths of the test functions, units and thresholds."""

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
        return choose(self.name, WeakFitter, trajectories, split=split, seed=seed, time_limit=time_limit)


def make_weak() -> WeakSindy:
    """Return the baseline."""
    return WeakSindy()


@dataclass
class WeakFitter:
    """The settings of weak SINDy on some data."""

    trajectories: Trajectories
    seed: int
    deadline: float = np.inf
    _weak: dict[float, tuple[Array, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ps = load_pysindy()
        self._names = (*self.trajectories.states, *self.trajectories.inputs)
        pieces = pieces_of(self.trajectories)
        self._pieces = [piece for piece in pieces if len(piece.times) >= MIN_SAMPLES]
        if not self._pieces:
            longest = max(len(piece.times) for piece in pieces)
            raise DataError(
                f"the weak form needs {MIN_SAMPLES} samples between two input steps, found at most {longest}"
            )

        self._degrees = [degree for degree in DEGREES if len(self._factors(degree)) <= MAX_TERMS]
        if not self._degrees:
            raise DataError(f"the weak form takes up to {MAX_TERMS - 1} variables, found {len(self._names)}")

    @property
    def grid(self) -> Iterator[Settings]:
        """Widths × units × degrees × thresholds."""
        for threshold in THRESHOLDS:
            for degree in self._degrees:
                for width in HALF_WIDTHS:
                    for units in ("natural", "plain"):
                        yield {"degree": degree, "width": width, "units": units, "threshold": threshold}

    def fit(self, settings: Settings) -> Rates:
        """Return the right-hand sides at one setting."""
        units, features, targets = self._integrals(settings["width"], settings["units"])
        library = polynomial(settings["degree"])
        # Monomials come by degree: those of a lower one are the first columns.
        count = len(self._factors(settings["degree"]))
        optimizer = self._ps.STLSQ(threshold=settings["threshold"])
        optimizer.fit(features[:, :count], targets)
        return units.rates(
            np.asarray(optimizer.coef_, dtype=float),
            library.terms,
            self.trajectories.states,
            self.trajectories.inputs,
        )

    def _integrals(self, width: float, kind: str) -> tuple[Units, Array, Array]:
        """Return the integrals of the monomials and of the derivatives in some units."""
        if width not in self._weak:
            self._weak[width] = self._plain_integrals(width)
        features, targets = self._weak[width]
        units = self._units(kind)
        sizes = np.concatenate([units.states, units.inputs])
        powers = [np.prod(sizes[list(factors)]) for factors in self._factors(self._degrees[-1])]
        return units, features / np.array(powers), targets / (units.states * units.rate)

    def _plain_integrals(self, width: float) -> tuple[Array, Array]:
        total = sum(len(piece.times) for piece in self._pieces)
        blocks = []
        with seeded(self.seed):
            for piece in self._pieces:
                share = max(MIN_DOMAINS, round(DOMAINS * len(piece.times) / total))
                blocks.append(_block(self._ps, piece, width, share, self._degrees[-1]))
        return np.vstack([block[0] for block in blocks]), np.vstack([block[1] for block in blocks])

    def _factors(self, degree: int) -> list[tuple[int, ...]]:
        """Return the factors of each monomial, by degree."""
        return [
            factors
            for order in range(degree + 1)
            for factors in combinations_with_replacement(range(len(self._names)), order)
        ]

    def _units(self, kind: str) -> Units:
        if kind == "plain":
            return Units.plain(len(self.trajectories.states), len(self.trajectories.inputs))
        # Rough rates are enough for a unit of time: changes over a tenth of each piece.
        slopes = []
        for piece in self._pieces:
            stride = max(1, len(piece.times) // 10)
            times, states = piece.times[::stride], piece.states[::stride]
            slopes.append(np.diff(states, axis=0) / np.diff(times)[:, None])
        return Units.natural(self._pieces, slopes)


def _block(ps: Any, piece: Piece, width: float, domains: int, degree: int) -> tuple[Array, Array]:
    """Return the integrals over random test functions on one piece."""
    duration = float(piece.times[-1] - piece.times[0])
    widest = float(np.max(np.diff(piece.times)))
    half = min(max(width * duration, MIN_INTERVALS * widest), 0.45 * duration)
    if half < 1.01 * widest:
        raise ValueError("a gap in the samples is wider than any test function")
    library = ps.WeakPDELibrary(
        ps.PolynomialLibrary(degree=degree, include_bias=True),
        spatiotemporal_grid=piece.times,
        K=domains,
        H_xt=[half],
        p=4,
    )
    columns = np.hstack([piece.states, piece.inputs])
    features = np.asarray(library.fit_transform(columns), dtype=float)
    targets = np.asarray(library.convert_u_dot_integral(piece.states), dtype=float)
    return features, targets
