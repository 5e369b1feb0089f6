"""The case study: trajectories, and the discovered equations integrated again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.benchmarks.figures.style import OURS, PAPER, label, legend_above, panels
from fepysr_dyn.benchmarks.paper import paper_figures
from fepysr_dyn.benchmarks.recovery import judged_again
from fepysr_dyn.benchmarks.suites.base import grouped
from fepysr_dyn.benchmarks.suites.tyson import best_line
from fepysr_dyn.benchmarks.units import Line
from fepysr_dyn.errors import DataError
from fepysr_dyn.expressions import parse
from fepysr_dyn.model_files import load_model
from fepysr_dyn.simulation import simulate
from fepysr_dyn.stimulus import Steps
from fepysr_dyn.system import OdeSystem

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

#: Levels that the data do not have.
_UNSEEN = (0.8, 0.1, 0.35)
#: Samples between two dots, and the least error that is drawn.
_EVERY = 25
_LEAST_ERROR = 1e-16


def tyson_figure(lines: Sequence[Line]) -> Figure:
    """Draw states and stimulus, the measured one on the left and one that nobody has seen on the right."""
    truth = load_model("tyson_two_protein")
    systems = {"fepysr-dyn, integrated again": (_discovered(truth, lines), OURS, "-")}
    line = replace(truth, rates={**truth.rates, "X1": parse(paper_figures()["tyson"]["pysr"]["best"])})
    systems["the paper's PySR formula for dX1/dt, as printed"] = (line, PAPER, "--")
    stimuli = (truth.inputs["S"], Steps((0.0, 20.0, 40.0), _UNSEEN))
    figure, grid = panels(4, 2, height=1.3, sharex=True, sharey="row", height_ratios=(2, 2, 1.6, 1))
    titles = ("the measured stimulus", "a stimulus never seen")
    for column, (stimulus, title) in enumerate(zip(stimuli, titles, strict=True)):
        data = _run(truth, stimulus)
        times = data["time"].to_numpy()
        for row, state in enumerate(truth.states):
            every = slice(None, None, _EVERY)
            grid[row, column].plot(
                times[every], data[state][every], "o", color="0.8", markersize=3.5, label="data"
            )
        for text, (system, colour, style) in systems.items():
            found = _run(system, stimulus)
            for row, state in enumerate(truth.states):
                grid[row, column].plot(times, found[state], style, color=colour, linewidth=1.1, label=text)
            misses = [np.abs(found[state].to_numpy() - data[state].to_numpy()) for state in truth.states]
            error = np.maximum(np.max(misses, axis=0), _LEAST_ERROR)
            grid[2, column].plot(times, error, style, color=colour, linewidth=1.0)
        grid[2, column].set_yscale("log")
        grid[2, column].set_ylim(_LEAST_ERROR, 1.0)
        grid[3, column].plot(times, data["S"], drawstyle="steps-post", color="0.2", linewidth=1.1)
        label(grid[3, column], x="time")
        label(grid[0, column], title=title)
    for row, text in enumerate((*truth.states, "error", "S")):
        label(grid[row, 0], y=text)
    legend_above(figure, grid[0, 0])
    return figure


def _discovered(truth: OdeSystem, lines: Sequence[Line]) -> OdeSystem:
    """Return the system of the best formulas."""
    judged = [judged_again(line) for line in lines]
    best = {name: best_line(group) for (name,), group in grouped(judged, "problem").items()}
    rates = {}
    for state in truth.states:
        line = best.get(f"tyson-{state}")
        if line is None:
            raise DataError(f"the figure of the case study needs a line of tyson-{state}, found none")
        rates[state] = parse(line["expression"])
    return replace(truth, name="discovered", rates=rates, parameters={}, assignments={}, units={})


def _run(system: OdeSystem, stimulus: object) -> xr.Dataset:
    return simulate(replace(system, inputs={"S": stimulus}), throw=False)[0]  # type: ignore[dict-item]
