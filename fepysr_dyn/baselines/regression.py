"""SINDy with a function library: what the polynomial, Fourier, exponential and ensemble baselines share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fepysr_dyn.baselines.base import BaselineResult, Rates, Settings
from fepysr_dyn.baselines.differentiation import differentiated, thinned, usable_windows
from fepysr_dyn.baselines.grid import choose
from fepysr_dyn.baselines.libraries import Library
from fepysr_dyn.baselines.pieces import Array, Piece, pieces_of
from fepysr_dyn.baselines.pysindy_calls import load_pysindy, seeded
from fepysr_dyn.baselines.scaling import Units

if TYPE_CHECKING:
    from fepysr_dyn.baselines.splitting import Split
    from fepysr_dyn.trajectories import Trajectories

#: Coefficients below a threshold are dropped, in the user's units or in natural ones.
#: The likeliest first: a time limit may leave the others out.
THRESHOLDS = (0.1, 0.03, 0.01, 0.3, 0.003, 0.001)
#: Rows of a regression; more of a smooth series add time and nothing else.
MAX_ROWS = 4000
#: Rows × terms² × states × repeats above which a fit would take minutes.
MAX_WORK = 8e9

MakeOptimizer = Callable[[Any, Settings], Any]


def sequential_thresholding(ps: Any, settings: Settings) -> Any:
    """Return PySINDy's usual optimizer at a threshold."""
    return ps.STLSQ(threshold=settings["threshold"])


@dataclass(frozen=True)
class LibraryRegression:
    """A baseline that is one function library and one optimizer over a grid of thresholds.

    Parameters
    ----------
    libraries : mapping of str to Library
        By name; with more than one the library is part of the grid.
    repeats : int
        Regressions that one fit takes.
    """

    name: str
    libraries: dict[str, Library]
    make_optimizer: MakeOptimizer = sequential_thresholding
    thresholds: tuple[float, ...] = THRESHOLDS
    repeats: int = 1

    def fit(
        self,
        trajectories: Trajectories,
        *,
        split: Split | None = None,
        seed: int = 0,
        time_limit: float = 60.0,
    ) -> BaselineResult:
        """Choose a setting by its held-out score and fit it on all the data."""
        return choose(self.name, self.prepare, trajectories, split=split, seed=seed, time_limit=time_limit)

    def prepare(self, trajectories: Trajectories, seed: int, deadline: float = np.inf) -> RegressionFitter:
        """Differentiate the data once for all settings."""
        return RegressionFitter(self, trajectories, seed)


@dataclass
class RegressionFitter:
    """The settings of a library baseline on some data."""

    baseline: LibraryRegression
    trajectories: Trajectories
    seed: int
    _data: dict[tuple[int, str], tuple[Units, list[Piece], list[Array]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ps = load_pysindy()
        self._pieces = pieces_of(self.trajectories)

    @property
    def grid(self) -> Iterator[Settings]:
        """Libraries × smoothing windows × units × thresholds."""
        several = len(self.baseline.libraries) > 1
        for threshold in self.baseline.thresholds:
            for window in usable_windows(self._pieces):
                for units in ("natural", "plain"):
                    for library in self.baseline.libraries:
                        settings = {"smoothing": window, "units": units, "threshold": threshold}
                        yield {"library": library, **settings} if several else settings

    def fit(self, settings: Settings) -> Rates:
        """Return the right-hand sides at one setting."""
        model, units, library = self.model(settings)
        return units.rates(
            np.asarray(model.coefficients(), dtype=float),
            library.terms,
            self.trajectories.states,
            self.trajectories.inputs,
        )

    def model(self, settings: Settings) -> tuple[Any, Units, Library]:
        """Return PySINDy's fitted model, the units it was fitted in, and the library."""
        library = self.baseline.libraries[settings.get("library", next(iter(self.baseline.libraries)))]
        units, pieces, rates = self._in_units(settings["smoothing"], settings["units"])
        self._refuse_large(library, rates)
        model = self._ps.SINDy(
            optimizer=self.baseline.make_optimizer(self._ps, settings),
            feature_library=library.make(self._ps),
        )
        with seeded(self.seed):
            model.fit(
                [piece.states for piece in pieces],
                t=[piece.times for piece in pieces],
                x_dot=rates,
                u=[piece.inputs for piece in pieces] if self.trajectories.inputs else None,
            )
        return model, units, library

    def _in_units(self, window: int, kind: str) -> tuple[Units, list[Piece], list[Array]]:
        if (window, kind) not in self._data:
            pieces, rates = thinned(*differentiated(self._ps, self._pieces, window), MAX_ROWS)
            if kind == "plain":
                units = Units.plain(len(self.trajectories.states), len(self.trajectories.inputs))
            else:
                units = Units.natural(pieces, rates)
            self._data[window, kind] = (units, *units.convert(pieces, rates))
        return self._data[window, kind]

    def _refuse_large(self, library: Library, rates: list[Array]) -> None:
        names = (*self.trajectories.states, *self.trajectories.inputs)
        count = len(library.terms(Units.plain(len(names), 0).variables(names)))
        rows = sum(len(rate) for rate in rates)
        if rows * count**2 * len(self.trajectories.states) * self.baseline.repeats > MAX_WORK:
            raise ValueError(f"the library has {count} terms for {rows} rows, which is too large")
