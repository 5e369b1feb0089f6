"""Find the times at which a sampled input jumps or bends.

The rules, in this order, on the samples that are there:

1. A series that is level or straight between most of its samples is taken piece by piece: a difference that
   leaves its straight neighbours is a jump and belongs to the sample that first shows the new value; a change
   of slope is a bend, at the point where the two lines meet.
2. Any other series is smooth or noisy: only a difference far above all those around it is a jump.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.trajectories.types import with_role

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: Differences below this share of the range are rounding.
ROUNDING = 1e-9
#: A series with this share of level differences has levels: smooth and noisy ones hardly ever stay in place.
LEVELS = 0.3
#: More changes than one in so many samples make a series of steps too fine to be cut into segments.
SAMPLES_PER_PIECE = 8
#: Steps of one size between this many levels or more are the digits of a smooth series.
DIGITS = 30
#: Jumps below this share of the range, and bends below this share of the steepest slope, are no changes.
SMALL_JUMP, SMALL_BEND = 1e-6, 1e-4
#: Neighbouring irregular differences up to this number are steps of one sample each, more are a curve.
SHORT_STRETCH = 3
#: A jump of a smooth or noisy series exceeds the median of the differences around it by this factor, ...
OUTSTANDING = 20.0
#: ... and its two neighbours by this one, ...
STEEPER = 4.0
#: ... is at least this share of the range, ...
LARGE = 0.05
#: ... and is compared with so many differences on either side.
WINDOW = 8


def detect_breakpoints(run: xr.Dataset) -> tuple[list[float], list[str]]:
    """Find the times at which the inputs of an experiment jump or bend.

    Returns
    -------
    breakpoints : list of float
        Ascending.
    too_fine : list of str
        Inputs that change so often that they were taken as smooth; they contribute no breakpoints.
    """
    times = run["time"].to_numpy()
    points: list[float] = []
    too_fine: list[str] = []
    for name in with_role(run, "input"):
        changes = find_changes(times, run[name].to_numpy())
        if changes is None:
            too_fine.append(name)
        else:
            points += changes
    resolution = ROUNDING * float(times[-1] - times[0])
    distinct: list[float] = []
    for point in sorted(points):
        if not distinct or point - distinct[-1] > resolution:
            distinct.append(point)
    return distinct, too_fine


def find_changes(times: Array, values: Array) -> list[float] | None:
    """Return the times at which one series jumps or bends; None if it has too many to be cut there.

    Examples
    --------
    >>> import numpy as np
    >>> find_changes(np.arange(6.0), np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]))
    [3.0]
    """
    present = np.isfinite(values)
    t, u = times[present], values[present]
    if len(u) < 2 or np.ptp(u) == 0:
        return []
    pieces = _Pieces.of(t, u)
    if np.mean(pieces.regular) < 0.5 and np.mean(pieces.level) < LEVELS:
        marked = _outstanding(np.diff(t), np.diff(u), float(np.ptp(u)))
        return None if _is_too_fine(int(marked.sum()), len(u)) else [float(time) for time in t[1:][marked]]
    stretches = _stretches(~pieces.regular)
    bends = np.flatnonzero(pieces.regular[1:] & pieces.regular[:-1] & ~pieces.follows)
    if _is_too_fine(len(stretches) + len(bends), len(u)) or _has_digits(u, pieces.level):
        return None
    least = SMALL_BEND * float(np.abs(pieces.slopes[pieces.regular]).max())
    points = [float(t[i + 1]) for i in bends if pieces.are_broken(int(i), int(i) + 1, least)]
    for start, stop in stretches:
        points += _irregular(t, u, pieces, start, stop)
    return None if _is_too_fine(len(points), len(u)) else sorted(points)


def _is_too_fine(changes: int, samples: int) -> bool:
    return changes > 3 and changes * SAMPLES_PER_PIECE > samples


@dataclass(frozen=True)
class _Pieces:
    """Which differences of a series lie on straight lines.

    Parameters
    ----------
    slopes : array, one per difference
    level : array of bool, one per difference
        Whether the series stays where it is.
    follows : array of bool, one per pair of neighbouring differences
        Whether both lie on one line.
    rounding : array, one per difference
        How much of its slope may be rounding.
    """

    slopes: Array
    level: NDArray[np.bool_]
    follows: NDArray[np.bool_]
    rounding: Array

    @classmethod
    def of(cls, t: Array, u: Array) -> _Pieces:
        steps, widths = np.diff(u), np.diff(t)
        slopes = steps / widths
        rounding = 8 * np.spacing(np.abs(u).max()) / widths
        tolerance = ROUNDING * np.ptp(u)
        # Slopes are compared over the wider of neighbouring intervals: two samples close together are
        # always almost equal, which says nothing about a level.
        wider = np.maximum(widths[1:], widths[:-1])
        reach = widths.copy()
        reach[1:] = np.maximum(reach[1:], wider)
        reach[:-1] = np.maximum(reach[:-1], wider)
        level = (np.abs(slopes) <= rounding) | (np.abs(slopes) * reach <= tolerance)
        changes = np.abs(np.diff(slopes)) - rounding[1:] - rounding[:-1]
        follows = (changes * wider <= tolerance) | (level[1:] & level[:-1])
        return cls(slopes, level, follows, rounding)

    @cached_property
    def regular(self) -> NDArray[np.bool_]:
        """Differences that are level or continue a neighbour's line."""
        regular = self.level.copy()
        regular[1:] |= self.follows
        regular[:-1] |= self.follows
        return regular

    def are_broken(self, i: int, j: int, least: float) -> bool:
        """Return whether neighbours `i` and `j` differ in slope far more than the lines beside them waver.

        A smooth series that comes out of a level does not: there each difference differs from the next
        about as much as that one does from its next.
        """
        gap = abs(self.slopes[i] - self.slopes[j])
        return bool(gap > max(least, OUTSTANDING * max(self._waver(i, i - 1), self._waver(j, j + 1))))

    def _waver(self, i: int, beside: int) -> float:
        """Return how well the line through differences `i` and `beside` is known."""
        low, high = min(i, beside), max(i, beside)
        if low >= 0 and high < len(self.slopes) and self.follows[low]:
            return float(max(abs(self.slopes[high] - self.slopes[low]), self.rounding[[low, high]].max()))
        return float(max(abs(self.slopes[i]), self.rounding[i])) if self.level[i] else 0.0


def _stretches(marks: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the half-open index ranges of neighbouring marks."""
    edges = np.flatnonzero(np.diff(np.r_[False, marks, False].astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _irregular(t: Array, u: Array, pieces: _Pieces, start: int, stop: int) -> list[float]:
    """Return the changes within neighbouring irregular differences ``start .. stop - 1``."""
    later = t[start + 1 : stop + 1]
    if stop - start > SHORT_STRETCH:
        part = slice(start, stop + 1)
        later = later[_outstanding(np.diff(t[part]), np.diff(u[part]), float(np.ptp(u)))]
        return [float(time) for time in later]
    for i in [start - 1] * (start > 0) + [stop - 1] * (stop < len(t) - 1):
        width = t[start + 1] - t[start] if i < start else t[stop] - t[stop - 1]
        if not pieces.are_broken(i, i + 1, SMALL_JUMP * np.ptp(u) / width):
            return []
    if stop - start == 1 and start > 0 and stop < len(t) - 1:
        return [_meeting_point(t, u, start)]
    return [float(time) for time in later]


def _meeting_point(t: Array, u: Array, i: int) -> float:
    """Return where the lines on either side of difference `i` meet, or the next sample if it is a jump."""
    width = t[i + 1] - t[i]
    before = (u[i] - u[i - 1]) / (t[i] - t[i - 1])
    after = (u[i + 2] - u[i + 1]) / (t[i + 2] - t[i + 1])
    if before != after:
        offset = (u[i + 1] - u[i] - after * width) / (before - after)
        if 0 <= offset <= width:
            return float(t[i] + offset)
    return float(t[i + 1])


def _has_digits(u: Array, level: NDArray[np.bool_]) -> bool:
    """Return whether a series moves in single steps of one size between many levels."""
    if np.mean(level) < LEVELS:
        return False
    sizes = np.abs(np.diff(u))
    sizes = sizes[sizes > ROUNDING * np.ptp(u)]
    return bool(np.ptp(sizes) <= 1e-6 * sizes[0]) and np.ptp(u) >= (DIGITS - 1.5) * sizes[0]


def _outstanding(widths: Array, steps: Array, spread: float) -> NDArray[np.bool_]:
    """Mark differences far above those around them, as they are and as slopes."""
    marked = np.abs(steps) >= LARGE * spread
    if len(steps) <= WINDOW:
        return np.zeros_like(marked)
    around = np.r_[0:WINDOW, WINDOW + 1 : 2 * WINDOW + 1]
    for sizes in (np.abs(steps), np.abs(steps / widths)):
        padded = np.pad(sizes, WINDOW, mode="reflect")
        # In portions: the neighbours of a million differences at once would take much more than the data.
        for portion in np.array_split(np.flatnonzero(marked), 1 + int(marked.sum()) // 100_000):
            medians = np.median(padded[portion[:, None] + around], axis=1)
            nearest = np.maximum(padded[portion + WINDOW - 1], padded[portion + WINDOW + 1])
            marked[portion] &= sizes[portion] > np.maximum(OUTSTANDING * medians, STEEPER * nearest)
    return np.asarray(marked)
