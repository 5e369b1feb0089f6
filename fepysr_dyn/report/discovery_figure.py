"""A discovery as a figure: data and the equations integrated again, stimulus below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import sympy

from fepysr_dyn.exchange.latex import expression_in_latex, name_in_latex
from fepysr_dyn.report.experiments import paired
from fepysr_dyn.report.figures import COLOURS, MAX_STATES, MAX_SWITCHES
from fepysr_dyn.report.numbers import r2_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.report.charts.series import Series

#: Columns of the figure.
MAX_EXPERIMENTS = 4
#: Marks of a panel that do not hide the line.
_MARKS = 120
_LONGEST_EQUATION = 140


def discovery_figure(found: Discovery) -> Figure:
    """Draw one column per experiment, one row per state and input."""
    from fepysr_dyn.report.shown_figure import ShownFigure

    scores = found.validation.runs[:MAX_EXPERIMENTS]
    shown = list(paired(scores, found.data))
    states, inputs = found.system.states[:MAX_STATES], tuple(found.system.inputs)
    heights = [1.9] * len(states) + [0.9] * len(inputs)
    size = (0.8 + 5.2 * len(shown) if len(shown) < 3 else 3.6 * len(shown), 0.9 + sum(heights))
    figure = ShownFigure(figsize=size, layout="constrained", dpi=130)
    panels = figure.subplots(
        len(heights), len(shown), sharex="col", sharey="row", squeeze=False, height_ratios=heights
    )
    for column, (score, series) in enumerate(zip(scores, shown, strict=True)):
        for row, state in enumerate(states):
            _state(panels[row, column], series, state)
            text = f"R² {r2_text(score.r2[state])}"
            panels[row, column].set_title(text, fontsize="small", loc="right", color="0.35")
        for row, name in enumerate(inputs, start=len(states)):
            panels[row, column].plot(
                series.simulated["time"], series.simulated[name], color=COLOURS[2], drawstyle="steps-post"
            )
        if len(scores) > 1:
            panels[0, column].set_title(score.experiment, fontsize="medium", loc="left")
        panels[-1, column].set_xlabel("time")
        for panel in panels[:, column]:
            _dress(panel, series)
    for panel, name in zip(panels[:, 0], (*states, *inputs), strict=True):
        panel.set_ylabel(name)
    if len(scores) == 1:
        for panel, state in zip(panels[:, 0], states, strict=False):
            title = _equation(state, found.system.rates[state])
            panel.set_title(title, fontsize="medium", loc="left", pad=14)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _equation(state: str, rate: sympy.Expr) -> str:
    """Return an equation as matplotlib sets it; nothing for one that is too long, or that it cannot set."""
    from matplotlib.mathtext import MathTextParser

    right = expression_in_latex(rate, flat=True).replace(r"\frac", r"\dfrac")
    text = f"$d{name_in_latex(state)}/dt = {right}$"
    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return ""
    return text if len(text) <= _LONGEST_EQUATION else ""


def _state(panel: Axes, series: Series, state: str) -> None:
    times, model = series.simulated["time"].to_numpy(), series.simulated[state].to_numpy()
    shown = model
    if series.measured is not None:
        data = series.measured[state].to_numpy()
        shown = data
        every = max(1, len(times) // _MARKS)
        panel.plot(times[::every], data[::every], "o", color="0.65", markersize=3.5, label="measured")
    panel.plot(times, model, color=COLOURS[0], linewidth=1.4, label="equations, integrated again")
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    margin = 0.1 * (high - low) or 1.0
    if np.isfinite(margin):
        # A model that runs away must not hide the data.
        panel.set_ylim(low - margin, high + margin)


def _dress(panel: Axes, series: Series) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.margins(x=0.01)
    for point in series.simulated.attrs.get("breakpoints", [])[:MAX_SWITCHES]:
        panel.axvline(point, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
