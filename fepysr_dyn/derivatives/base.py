"""What a derivative estimator is given and what it answers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """One state of one experiment, with the places where its derivative may jump.

    Parameters
    ----------
    times : array
        True time stamps, strictly increasing.
    values : array
        Measurements; NaN where one is missing.
    pieces : tuple of slice
        The samples between breakpoints, in order. A sample at a breakpoint belongs to what follows.
    joints : tuple of float
        The breakpoint between each piece and the next; NaN where the state is not taken as continuous there.
    name : str
        How messages call this series.

    Examples
    --------
    >>> series = make_series([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.5, 2.0], breakpoints=[1.5])
    >>> series.pieces
    (slice(0, 2, None), slice(2, 4, None))
    """

    times: Array
    values: Array
    pieces: tuple[slice, ...]
    joints: tuple[float, ...] = ()
    name: str = "the series"


@dataclass(frozen=True)
class Estimate:
    """A smoothed state, its derivative and their standard errors at all time stamps of a series.

    `method` is the estimator that was used in the end, `settings` names its smoothing in a few words and
    `reason` says in a sentence why it was taken.
    """

    values: Array
    values_se: Array
    rates: Array
    rates_se: Array
    method: str = ""
    settings: str = ""
    reason: str = ""


@runtime_checkable
class DerivativeEstimator(Protocol):
    """One state of one experiment in, the smoothed state and its derivative out."""

    @property
    def name(self) -> str:
        """The name under which the estimator is registered."""
        ...

    def estimate(self, series: Series) -> Estimate:
        """Return smoothed values and derivatives at every time stamp of the series."""
        ...


def make_series(times: object, values: object, breakpoints: object = (), name: str = "the series") -> Series:
    """Make a series from plain sequences; `breakpoints` are the times at which the derivative may jump."""
    t = np.array(times, dtype=float)
    x = np.array(values, dtype=float)
    points = np.unique(np.array(breakpoints, dtype=float).ravel())
    points = points[(points > t[0]) & (points <= t[-1])] if len(t) else points
    edges = np.unique(np.concatenate([[0], np.searchsorted(t, points, side="left"), [len(t)]])).astype(int)
    pieces = tuple(slice(int(a), int(b)) for a, b in itertools.pairwise(edges))
    joints = []
    for piece in pieces[1:]:
        between = points[(points > t[piece.start - 1]) & (points <= t[piece.start])]
        # Two breakpoints with no sample between them leave nothing to tie the value to.
        joints.append(float(between[0]) if len(between) == 1 else float("nan"))
    return Series(t, x, pieces, tuple(joints), name)
