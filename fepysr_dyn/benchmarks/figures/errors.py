"""Smallest errors relative to the paper's, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.benchmarks.figures.style import OTHER, OURS, PAPER, SMALL, label, legend_above, panels
from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.benchmarks.suites.base import grouped, is_recovered
from fepysr_dyn.benchmarks.suites.unrecover import best_error
from fepysr_dyn.benchmarks.units import Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Ratios below this are drawn here, with an arrow: an exact formula has no error to compare.
_LEAST = 1e-8


def error_ratio_figure(lines: Sequence[Line]) -> Figure:
    """Draw the ratio of our smallest error to the paper's for every problem, and PySR's beside it."""
    names, ours, pysr, exact = [], [], [], []
    for (name,), group in grouped(lines, "problem").items():
        figures = load_problems(name)[0].paper["min_mse"]
        names.append(name.removeprefix("Unrecover-"))
        ours.append(best_error(group, "mse") / figures["fepysr"])
        pysr.append(figures["pysr"] / figures["fepysr"])
        exact.append(any(map(is_recovered, group)))
    places, ratios, is_exact = np.arange(len(names)), np.array(ours), np.array(exact)
    known = np.isfinite(ratios)
    drawn = np.maximum(ratios, _LEAST)
    figure, grid = panels(1, 1, height=2.9)
    panel = grid[0, 0]
    panel.axhline(1.0, color="0.3", linewidth=0.8)
    panel.plot(places, pysr, "_", color="0.45", markersize=7, markeredgewidth=1.2, label="PySR (paper)")
    for mask, colour, text in (
        (known & ~is_exact & (ratios < 1), OURS, "fepysr-dyn, lower error"),
        (known & ~is_exact & (ratios >= 1), PAPER, "fepysr-dyn, higher error"),
    ):
        if mask.any():
            panel.vlines(places[mask], drawn[mask], 1.0, color=colour, linewidth=1.6, alpha=0.6)
            panel.plot(places[mask], drawn[mask], "o", color=colour, markersize=3.5, label=text)
    if is_exact.any():
        panel.vlines(places[is_exact], _LEAST, 1.0, color=OURS, linewidth=0.8, linestyle=":", alpha=0.6)
        panel.plot(
            places[is_exact],
            np.full(is_exact.sum(), _LEAST),
            "*",
            color=OURS,
            markersize=7,
            label="fepysr-dyn, recovered",
            clip_on=False,
        )
    panel.set_yscale("log")
    panel.set_ylim(_LEAST, max(30.0, 3 * float(np.max(drawn[known], initial=1.0)), 2 * max(pysr)))
    panel.set_xlim(-0.7, len(names) - 0.3)
    panel.set_xticks(places, names, fontsize=SMALL)
    panel.grid(axis="y", color=OTHER, alpha=0.25, linewidth=0.5)
    label(panel, x="Unrecover equation", y="smallest MSE / the paper's FePySR")
    legend_above(figure, panel)
    return figure
