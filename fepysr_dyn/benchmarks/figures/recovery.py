"""Recovery problem by problem: ours, the paper's and PySR's as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.benchmarks.figures.style import OTHER, OURS, PAPER, SMALL, label, legend_above, panels
from fepysr_dyn.benchmarks.intervals import wilson
from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.benchmarks.suites.base import grouped, is_recovered
from fepysr_dyn.benchmarks.units import Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Problems in one row of a printed page.
_IN_A_ROW = 19
_WIDTH = 0.27


def recovery_figure(lines: Sequence[Line]) -> Figure:
    """Draw three bars per problem, and the 95 % interval of ours."""
    groups = [(name, group) for (name,), group in grouped(lines, "problem").items()]
    rows = -(-len(groups) // _IN_A_ROW)
    size = -(-len(groups) // rows)
    figure, grid = panels(rows, 1, height=1.75)
    for index, panel in enumerate(grid[:, 0]):
        _draw(panel, groups[index * size : (index + 1) * size], size)
        label(panel, y="recovered in %")
    legend_above(figure, grid[0, 0])
    return figure


def _draw(panel: Axes, groups: Sequence[tuple[str, list[Line]]], size: int) -> None:
    places = np.arange(len(groups))
    paper = [load_problems(name)[0].paper.get("recovery") or {} for name, _ in groups]
    counts = [(sum(map(is_recovered, group)), len(group)) for _, group in groups]
    rates = np.array([100 * good / count for good, count in counts])
    bounds = 100 * np.array([wilson(good, count) for good, count in counts]).T
    panel.bar(places - _WIDTH, rates, _WIDTH, color=OURS, label="fepysr-dyn")
    panel.errorbar(
        places - _WIDTH,
        rates,
        yerr=np.maximum(0.0, np.array([rates - bounds[0], bounds[1] - rates])),
        fmt="none",
        ecolor="black",
        elinewidth=0.8,
        capsize=1.2,
        capthick=0.6,
    )
    for place, colour, key, name in (
        (0, PAPER, "fepysr", "FePySR (paper)"),
        (1, OTHER, "pysr", "PySR (paper)"),
    ):
        known = [(x, 100 * figures[key]) for x, figures in zip(places, paper, strict=True) if key in figures]
        if known:
            x, heights = np.array(known).T
            panel.bar(x + place * _WIDTH, heights, _WIDTH, color=colour, label=name)
    names = [name for name, _ in groups]
    panel.set_xticks(places, names, rotation=45, ha="right", rotation_mode="anchor", fontsize=SMALL)
    panel.set_xlim(-0.6, size - 0.4)
    panel.set_ylim(0, 104)
    panel.tick_params(axis="x", length=0)
