"""All reference systems: who generalizes at which noise level, and what confidence means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fepysr_dyn.benchmarks.figures.style import NORMAL, OURS, SMALL, label, panels
from fepysr_dyn.benchmarks.intervals import wilson
from fepysr_dyn.benchmarks.suites.base import grouped
from fepysr_dyn.benchmarks.suites.ode_tables import calibration_table, methods_of, share_above
from fepysr_dyn.benchmarks.units import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


def odes_figure(lines: Sequence[Line]) -> Figure:
    """Draw the share of systems that generalize, by method and level, and the calibration of confidence."""
    from matplotlib import colormaps

    groups = sorted((level, group) for (level,), group in grouped(lines, "noise").items())
    methods = methods_of(lines)
    greys = colormaps["Greys"](np.linspace(0.35, 0.8, max(1, len(methods) - 1)))
    figure, grid = panels(1, 2, height=2.6, width_ratios=(2.6, 1))
    panel, width = grid[0, 0], 0.8 / len(methods)
    for place, (method, colour) in enumerate(zip(methods, (OURS, *greys), strict=True)):
        shares = [share_above(group, method, "generalization") for _, group in groups]
        centres = np.arange(len(groups)) + (place + 0.5) * width - 0.4
        _bars(panel, centres, shares, [len(group) for _, group in groups], width, colour, method)
    panel.set_xticks(range(len(groups)), [f"α = {level:g}" for level, _ in groups], fontsize=NORMAL)
    panel.tick_params(axis="x", length=0)
    panel.set_ylim(0, 104)
    label(panel, y="systems with R² > 0.9 on unseen data, %")
    figure.legend(
        *panel.get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False, fontsize=SMALL
    )
    _calibration(grid[0, 1], lines)
    return figure


def _bars(
    panel: Axes,
    centres: NDArray[Any],
    shares: Sequence[float],
    counts: Sequence[int],
    width: float,
    colour: Any,
    name: str,
) -> None:
    rates = 100 * np.array(shares)
    bounds = 100 * np.array([wilson(s * n, n) for s, n in zip(shares, counts, strict=True)]).T
    panel.bar(centres, rates, 0.92 * width, color=colour, label=name)
    beyond = np.maximum(0.0, np.array([rates - bounds[0], bounds[1] - rates]))
    panel.errorbar(centres, rates, yerr=beyond, fmt="none", ecolor="0.2", elinewidth=0.6)


def _calibration(panel: Axes, lines: Sequence[Line]) -> None:
    table = calibration_table(lines)
    shown = [(text, count, good) for text, count, good, _ in table.rows if count]
    places = np.arange(len(shown))
    rates = np.array([100 * good / count for _, count, good in shown])
    bounds = 100 * np.array([wilson(good, count) for _, count, good in shown]).reshape(-1, 2).T
    panel.bar(places, rates, 0.6, color=OURS)
    beyond = np.maximum(0.0, np.array([rates - bounds[0], bounds[1] - rates]))
    panel.errorbar(places, rates, yerr=beyond, fmt="none", ecolor="0.2", elinewidth=0.6, capsize=2)
    panel.set_xticks(places, [f"{text}\n({count})" for text, count, _ in shown], fontsize=SMALL)
    panel.set_ylim(0, 104)
    label(panel, x="confidence (equations)", y="structurally right, %")
