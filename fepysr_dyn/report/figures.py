"""Figures of series: states, inputs and derivatives, with the times at which a stimulus switches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.trajectories import Trajectories, segments

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fepysr_dyn.derivatives import Derivatives

#: Okabe and Ito's colours, which people with any colour vision can tell apart; without the pale yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: More experiments than colours cannot be told apart in one panel.
MAX_EXPERIMENTS = len(COLOURS)
MAX_STATES = 20
MAX_MARKS = 1500
#: More switches than this would fill a panel with lines.
MAX_SWITCHES = 40


def trajectories_figure(trajectories: Trajectories, *, title: str = "") -> Figure:
    """Draw one panel per state and one per input, all experiments in each."""
    states = trajectories.states[:MAX_STATES]
    names = [*states, *trajectories.inputs]
    figure, panels = _panels(len(states), len(trajectories.inputs), columns=1)
    for panel, name in zip(panels[:, 0], names, strict=True):
        for run, colour in _coloured(trajectories):
            _line(panel, run, name, colour, is_input=name not in states)
            _switches(panel, run, colour)
        panel.set_ylabel(name)
    _finish(figure, panels, trajectories, title, hidden=len(trajectories.states) - len(states))
    return figure


def derivatives_figure(trajectories: Trajectories, derivatives: Derivatives, *, title: str = "") -> Figure:
    """Draw data and smoothed curve on the left, the derivative with ±2 standard errors on the right."""
    states = trajectories.states[:MAX_STATES]
    figure, panels = _panels(len(states), len(trajectories.inputs), columns=2)
    dots = None if len(trajectories) > 1 else "0.6"
    for row, state in enumerate(states):
        left, right = panels[row]
        for (run, colour), slope in zip(_coloured(trajectories), derivatives, strict=False):
            times, values = _thinned(run["time"].to_numpy(), run[state].to_numpy())
            shade = {"color": dots or colour, "alpha": 1.0 if dots else 0.4}
            left.plot(times, values, ".", markersize=3, markeredgewidth=0, zorder=1, **shade)
            _line(left, slope, state, colour)
            _band(right, slope, f"d{state}", colour)
            _line(right, slope, f"d{state}", colour)
            _switches(left, run, colour)
            _switches(right, run, colour)
        _limit_to_bulk(
            right,
            [slope[f"d{state}"] for slope in derivatives],
            [slope[f"d{state}_se"] for slope in derivatives],
        )
        left.set_ylabel(state)
        right.set_ylabel(f"d{state}/dt")
    for row, name in enumerate(trajectories.inputs, start=len(states)):
        for panel in panels[row]:
            for run, colour in _coloured(trajectories):
                _line(panel, run, name, colour, is_input=True)
                _switches(panel, run, colour)
            panel.set_ylabel(name)
    panels[0, 0].set_title("data (dots) and smoothed state", fontsize="medium")
    panels[0, 1].set_title("derivative ± 2 standard errors", fontsize="medium")
    _finish(figure, panels, trajectories, title, hidden=len(trajectories.states) - len(states))
    return figure


def _panels(states: int, inputs: int, *, columns: int) -> tuple[Figure, NDArray[Any]]:
    from fepysr_dyn.report.shown_figure import ShownFigure

    heights = [2.2 if states < 5 else 1.6] * states + [1.2] * inputs
    size = (8.0 if columns == 1 else 11.0, 1.0 + sum(heights))
    figure = ShownFigure(figsize=size, layout="constrained", dpi=130)
    panels = figure.subplots(len(heights), columns, sharex=True, squeeze=False, height_ratios=heights)
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(x=0.01)
    return figure, panels


def _coloured(trajectories: Trajectories) -> Iterable[tuple[xr.Dataset, str]]:
    return zip(trajectories.experiments[:MAX_EXPERIMENTS], COLOURS, strict=False)


def _line(panel: Axes, run: xr.Dataset, name: str, colour: str, *, is_input: bool = False) -> None:
    """Draw a series, interrupted at breakpoints where it may jump."""
    times, values = run["time"].to_numpy(), run[name].to_numpy()
    pieces = segments(run)
    for piece in pieces:
        present = np.isfinite(values[piece])
        t, v = times[piece][present], values[piece][present]
        # A single sample makes no line but should not vanish.
        marker = "." if len(t) == 1 else ""
        panel.plot(t, v, color=colour, linewidth=1.4 if not is_input else 1.8, marker=marker)
    if is_input:
        panel.plot(times, values, color=colour, linewidth=0.8, alpha=0.5)


def _band(panel: Axes, slope: xr.Dataset, name: str, colour: str) -> None:
    times, values = slope["time"].to_numpy(), slope[name].to_numpy()
    errors = slope[f"{name}_se"].to_numpy()
    for piece in segments(slope):
        low, high = values[piece] - 2 * errors[piece], values[piece] + 2 * errors[piece]
        panel.fill_between(times[piece], low, high, color=colour, alpha=0.25, linewidth=0)


def _limit_to_bulk(panel: Axes, rates: list[xr.DataArray], errors: list[xr.DataArray]) -> None:
    """Show all of the rates, and of their bands all but the widest: at edges they can be huge."""
    low = min(float(rate.min()) for rate in rates)
    high = max(float(rate.max()) for rate in rates)
    band = 2 * max(float(error.quantile(0.95)) for error in errors)
    room = 0.05 * (high - low) + band
    if np.isfinite(room) and room > 0:
        panel.set_ylim(low - room, high + room)


def _switches(panel: Axes, run: xr.Dataset, colour: str) -> None:
    for point in run.attrs.get("breakpoints", [])[:MAX_SWITCHES]:
        panel.axvline(point, color=colour, alpha=0.6, linewidth=0.8, linestyle="--", zorder=0)


def _thinned(times: NDArray[Any], values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    every = max(1, len(times) // MAX_MARKS)
    return times[::every], values[::every]


def _finish(
    figure: Figure, panels: NDArray[Any], trajectories: Trajectories, title: str, *, hidden: int
) -> None:
    """Label the time axis, name the experiments, and say what was left out."""
    from matplotlib.lines import Line2D

    unit = trajectories[0]["time"].attrs.get("units", "")
    for panel in panels[-1]:
        panel.set_xlabel(f"time [{unit}]" if unit else "time")
    names: Sequence[str] = [str(run.attrs["name"]) for run, _ in _coloured(trajectories)]
    if len(names) > 1:
        handles = [
            Line2D([], [], color=colour, label=name) for name, colour in zip(names, COLOURS, strict=False)
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(names)), frameon=False)
    notes = [title] if title else []
    if len(trajectories) > len(names):
        notes.append(f"{len(names)} of {len(trajectories)} experiments")
    if hidden:
        notes.append(f"{hidden} more states not shown")
    if notes:
        figure.suptitle("; ".join(notes), fontsize="large")
