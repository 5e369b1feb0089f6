"""Series as short SVG paths that look the same as all their samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Columns of a chart; in each the first, lowest, highest and last sample are kept.
COLUMNS = 160
#: A line may leave its samples by so many units: a fraction of its width.
TOLERANCE = 0.25


def envelope(x: Array, y: Array, columns: int = COLUMNS) -> NDArray[np.intp]:
    """Return the samples that draw the same picture: first, lowest, highest and last of every column.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 100_000)
    >>> y = np.zeros(100_000)
    >>> y[777] = 5.0
    >>> kept = envelope(x, y)
    >>> len(kept) <= 4 * COLUMNS, 777 in kept
    (True, True)
    """
    present = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if len(present) <= 4 * columns:
        return present
    xs, ys = x[present], y[present]
    span = float(xs[-1] - xs[0]) or 1.0
    column = np.minimum((columns * (xs - xs[0]) / span).astype(int), columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    stops = np.append(starts[1:], len(xs))
    kept = [
        (a, a + int(np.argmin(ys[a:b])), a + int(np.argmax(ys[a:b])), b - 1)
        for a, b in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
    chosen: NDArray[np.intp] = present[np.unique(np.array(kept).ravel())]
    return chosen


def simplified(x: Array, y: Array, tolerance: float = TOLERANCE) -> NDArray[np.intp]:
    """Return the corners of a line that no sample leaves by more than the tolerance (Douglas and Peucker)."""
    keep = np.zeros(len(x), dtype=bool)
    keep[[0, -1]] = True
    waiting = [(0, len(x) - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        dx, dy = x[last] - x[first], y[last] - y[first]
        px, py = x[first + 1 : last] - x[first], y[first + 1 : last] - y[first]
        length = float(np.hypot(dx, dy))
        # A loop back to its start has no chord: the distance from the point itself counts.
        distance = np.abs(dx * py - dy * px) / length if length > 1e-9 else np.hypot(px, py)
        worst = int(np.argmax(distance))
        if distance[worst] > tolerance:
            middle = first + 1 + worst
            keep[middle] = True
            waiting += [(first, middle), (middle, last)]
    return np.flatnonzero(keep)


def line_path(x: Array, y: Array) -> str:
    """Return the path data of a line, interrupted where values are missing, through places on the page."""
    parts = []
    for piece in _pieces(np.isfinite(x) & np.isfinite(y)):
        corners = simplified(x[piece], y[piece])
        parts.append(
            "M" + "L".join(_place(a, b) for a, b in zip(x[piece][corners], y[piece][corners], strict=True))
        )
    return "".join(parts)


def series_path(x: Array, y: Array) -> str:
    """Return the path data of a series over time, at most a few samples for each column of the chart."""
    parts = []
    for piece in _pieces(np.isfinite(x) & np.isfinite(y)):
        kept = envelope(x[piece], y[piece])
        parts.append(line_path(x[piece][kept], y[piece][kept]))
    return "".join(parts)


def dots_path(x: Array, y: Array, columns: int = COLUMNS) -> str:
    """Return the path data of dots: lines of no length, drawn with round ends."""
    kept = envelope(x, y, columns)
    places = dict.fromkeys(_place(a, b) for a, b in zip(x[kept], y[kept], strict=True))
    return "".join(f"M{place}h0" for place in places)


def _pieces(present: NDArray[np.bool_]) -> list[slice]:
    """Return the stretches without missing values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], present, [False]]).astype(int)))
    return [slice(a, b) for a, b in edges.reshape(-1, 2).tolist()]


def _place(x: float, y: float) -> str:
    return f"{x:.1f} {y:.1f}".replace(".0 ", " ").removesuffix(".0")
