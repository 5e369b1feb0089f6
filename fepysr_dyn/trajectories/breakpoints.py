"""Find the times at which a sampled input jumps or bends.

The rules, in this order, on the samples that are there:

1. A series that is level or straight between most of its samples is taken piece by piece: a difference that
   leaves its straight neighbours is a jump and belongs to the sample that first shows the new value; a change
   of slope is a bend, at the point where the two lines meet.
2. Any other series is smooth or noisy: only a difference far above all those around it is a jump.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.trajectories.types import with_role

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: Differences below this share of the range are rounding.
ROUNDING = 1e-9
#: More changes than one in so many samples make a series of steps too fine to be cut into segments.
SAMPLES_PER_PIECE = 8
#: Steps of one size between this many levels or more are the digits of a smooth series.
DIGITS = 20
#: Neighbouring irregular differences up to this number are steps of one sample each, more are a curve.
SHORT_STRETCH = 3
#: A jump of a smooth or noisy series exceeds the median of the differences around it by this factor, ...
OUTSTANDING = 20.0
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
    regular, bends = _pieces(t, u)
    if np.mean(regular) < 0.5:
        return [float(time) for time in t[1:][_outstanding(np.diff(t), np.diff(u), float(np.ptp(u)))]]
    stretches = _stretches(~regular)
    count = len(stretches) + int(bends.sum())
    if (count > 3 and count * SAMPLES_PER_PIECE > len(u)) or _has_digits(u):
        return None
    points = [float(time) for time in t[1:-1][bends]]
    for start, stop in stretches:
        points += _irregular(t, u, start, stop)
    return sorted(points)


def _pieces(t: Array, u: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the differences that are level or continue a neighbour's slope, and the samples between two such.

    Returns
    -------
    regular : array of bool, one per difference
    bends : array of bool, one per inner sample
        Samples at which one straight piece ends and another begins.
    """
    steps, widths = np.diff(u), np.diff(t)
    tolerance = ROUNDING * np.ptp(u) + 4 * np.spacing(np.abs(u).max())
    level = np.abs(steps) <= tolerance
    # Two differences lie on one line if the slope of one foretells the other.
    room = np.minimum(widths[1:], widths[:-1])
    follows = (np.abs(np.diff(steps / widths)) * room <= 4 * tolerance) | (level[1:] & level[:-1])
    regular = level.copy()
    regular[1:] |= follows
    regular[:-1] |= follows
    return regular, np.asarray(regular[1:] & regular[:-1] & ~follows)


def _stretches(marks: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the half-open index ranges of neighbouring marks."""
    edges = np.flatnonzero(np.diff(np.r_[False, marks, False].astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _irregular(t: Array, u: Array, start: int, stop: int) -> list[float]:
    """Return the changes within neighbouring irregular differences ``start .. stop - 1``."""
    later = t[start + 1 : stop + 1]
    if stop - start > SHORT_STRETCH:
        part = slice(start, stop + 1)
        later = later[_outstanding(np.diff(t[part]), np.diff(u[part]), float(np.ptp(u)))]
    elif stop - start == 1 and start > 0 and stop < len(t) - 1:
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


def _has_digits(u: Array) -> bool:
    """Return whether a series moves in single steps of one size between many levels."""
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
            marked[portion] &= sizes[portion] > OUTSTANDING * medians
    return np.asarray(marked)
