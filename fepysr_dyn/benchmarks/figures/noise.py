"""Sensitivity to noise: recovery, and the metrics of stage 1 relative to exact data."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.benchmarks.figures.style import OURS, PAPER, label, legend_above, panels
from fepysr_dyn.benchmarks.intervals import wilson
from fepysr_dyn.benchmarks.paper import paper_figures
from fepysr_dyn.benchmarks.suites.base import grouped, is_recovered
from fepysr_dyn.benchmarks.suites.noise import METRICS
from fepysr_dyn.benchmarks.units import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def noise_figure(lines: Sequence[Line]) -> Figure:
    """Draw recovery, EFR, DCG-1 and DCG-2 over the noise level, ours and the paper's."""
    problems = sorted({line["problem"] for line in lines})
    figure, grid = panels(1, 4, height=1.9)
    _recovery(grid[0, 0], lines, problems)
    for panel, (key, name) in zip(grid[0, 1:], METRICS.items(), strict=True):
        _metric(panel, lines, problems, key)
        label(panel, title=f"{name} relative to α = 0")
    for panel in grid[0]:
        label(panel, x="noise level α")
    legend_above(figure, grid[0, 0])
    return figure


def _recovery(panel: Axes, lines: Sequence[Line], problems: Sequence[str]) -> None:
    groups = sorted((level, group) for (level,), group in grouped(lines, "noise").items())
    levels = [level for level, _ in groups]
    counts = [(sum(map(is_recovered, group)), len(group)) for _, group in groups]
    low, high = 100 * np.array([wilson(good, count) for good, count in counts]).T
    panel.fill_between(levels, low, high, color=OURS, alpha=0.15, linewidth=0)
    rates = [100 * good / count for good, count in counts]
    panel.plot(levels, rates, "o-", color=OURS, markersize=3, linewidth=1.2, label="fepysr-dyn")
    paper = paper_figures()["noise"]
    shares = [[100 * value for value in paper["equations"][name]["recovery"]] for name in problems]
    panel.plot(
        paper["levels"],
        np.mean(shares, axis=0),
        "s--",
        color=PAPER,
        markersize=3,
        linewidth=1.0,
        label="FePySR (paper)",
    )
    panel.set_ylim(-3, 103)
    label(panel, title="structure recovered in %")


def _metric(panel: Axes, lines: Sequence[Line], problems: Sequence[str], key: str) -> None:
    """Draw the mean over equations of a metric divided by its value on exact data."""
    values = {
        place: mean(line[key] for line in group)
        for place, group in grouped(
            [line for line in lines if line.get(key) is not None], "problem", "noise"
        ).items()
    }
    levels = sorted({level for _, level in values})
    ours = []
    for level in levels:
        ratios = [
            values[name, level] / values[name, 0.0]
            for name in problems
            if (name, level) in values and values.get((name, 0.0))
        ]
        ours.append(mean(ratios) if ratios else np.nan)
    panel.plot(levels, ours, "o-", color=OURS, markersize=3, linewidth=1.2)
    paper = paper_figures()["noise"]
    rows = np.array([paper["equations"][name][key] for name in problems])
    panel.plot(
        paper["levels"],
        np.mean(rows / rows[:, :1], axis=0),
        "s--",
        color=PAPER,
        markersize=3,
        linewidth=1.0,
    )
    panel.axhline(1.0, color="0.7", linewidth=0.6, zorder=0)
    known = [value for value in ours if np.isfinite(value)]
    panel.set_ylim(
        min([0.5, *(0.9 * value for value in known)]), max([1.3, *(1.1 * value for value in known)])
    )
