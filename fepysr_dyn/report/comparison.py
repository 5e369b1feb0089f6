"""The figure of a comparison: data, and what every method makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.report.figures import COLOURS, MAX_STATES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fepysr_dyn.comparison import Comparison

#: Line styles for more methods than colours.
STYLES = ("-", "--", ":")


def comparison_figure(result: Comparison) -> Figure:
    """Draw one row per state: the first training experiment, and the first held-out one if there is one."""
    from fepysr_dyn.report.shown_figure import ShownFigure

    states = result.training.states[:MAX_STATES]
    parts = [("reconstruction", result.training)]
    if result.held_out is not None:
        parts.append(("generalization", result.held_out))
    figure = ShownFigure(figsize=(5.5 * len(parts), 1.5 + 2.0 * len(states)), layout="constrained", dpi=130)
    panels = figure.subplots(len(states), len(parts), sharex="col", squeeze=False)
    for column, (label, measured) in enumerate(parts):
        run = measured[0]
        for row, state in enumerate(states):
            panel = panels[row, column]
            data = run[state].to_numpy()
            panel.plot(run["time"], data, ".", color="0.75", markersize=4, zorder=1)
            for index, entry in enumerate(result.entries):
                scores = getattr(entry, label)
                if scores is None:
                    continue
                simulated = scores.runs[0].simulated
                panel.plot(
                    simulated["time"],
                    simulated[state],
                    color=COLOURS[index % len(COLOURS)],
                    linestyle=STYLES[index // len(COLOURS) % len(STYLES)],
                    linewidth=1.2,
                    label=entry.name,
                )
            low, high = float(np.nanmin(data)), float(np.nanmax(data))
            margin = 0.3 * (high - low) or 1.0
            # A method that runs away must not hide the others.
            panel.set_ylim(low - margin, high + margin)
            panel.spines[["top", "right"]].set_visible(False)
            panel.set_ylabel(state)
        panels[0, column].set_title(f"{label}: {run.attrs['name']}", fontsize="medium")
        panels[-1, column].set_xlabel("time")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
