"""Loss over time, one panel per equation and one line per number of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fepysr_dyn.benchmarks.figures.style import FLOOR, NORMAL, label, panels
from fepysr_dyn.benchmarks.suites.base import grouped
from fepysr_dyn.benchmarks.units import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 4


def loss_curves_figure(lines: Sequence[Line]) -> Figure:
    """Draw the best loss so far; the mean of logarithms where there are several runs."""
    from matplotlib import colormaps

    known = [line for line in lines if line.get("curve")]
    groups = list(grouped(known, "problem").items())
    counts = sorted({line["top"] for line in known})
    shades = colormaps["viridis"](np.linspace(0.0, 0.9, max(1, len(counts))))
    rows = max(1, -(-len(groups) // _COLUMNS))
    figure, grid = panels(rows, min(_COLUMNS, max(1, len(groups))), height=1.5, sharey=True)
    for panel in grid.flat[len(groups) :]:
        panel.set_visible(False)
    for panel, ((name,), group) in zip(grid.flat, groups, strict=False):
        longest = max(point[0] for line in group for point in line["curve"])
        for count, shade in zip(counts, shades, strict=True):
            own = [line["curve"] for line in group if line["top"] == count]
            if own:
                _draw(panel, own, longest, shade, f"{count} features")
        panel.set_yscale("log")
        panel.set_ylim(FLOOR / 10, 10)
        label(panel, title=name)
    for panel in grid[:, 0]:
        label(panel, y="loss")
    for panel in grid[-1]:
        label(panel, x="seconds")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=6, frameon=False, fontsize=NORMAL)
    return figure


def _draw(
    panel: Axes, curves: Sequence[Sequence[Sequence[float]]], longest: float, shade: Any, text: str
) -> None:
    times = np.linspace(0.0, longest, 400)
    logs = []
    for curve in curves:
        seconds, losses = np.array(curve, dtype=float).T
        place = np.searchsorted(seconds, times, side="right") - 1
        # Before the first report nothing is known: the mean explains none of the variance.
        best = np.where(place >= 0, losses[np.maximum(place, 0)], 1.0)
        logs.append(np.log10(np.maximum(best, FLOOR)))
    panel.plot(times, 10 ** np.mean(logs, axis=0), color=shade, linewidth=1.1, label=text)
