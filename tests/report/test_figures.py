"""What is in the figures: every state and input, the switches, the bands, and what was left out."""

import numpy as np
import pytest

from fepysr_dyn.derivatives import estimate_derivatives
from fepysr_dyn.report.figures import MAX_EXPERIMENTS, MAX_MARKS, derivatives_figure, trajectories_figure
from fepysr_dyn.trajectories import Trajectories, make_experiment

TIMES = np.linspace(0.0, 10.0, 200)


def experiment(name, shift=0.0):
    states = {"x": np.sin(TIMES + shift), "y": np.exp(-TIMES / 3)}
    return make_experiment(TIMES, states, {"u": np.where(TIMES >= 4, 1.0, 0.0)}, name=name, breakpoints=[4.0])


def switches(panel):
    """Return the places of vertical lines."""
    lines = [np.asarray(line.get_xdata()) for line in panel.lines if line.get_linestyle() == "--"]
    return sorted({float(x[0]) for x in lines if len(x) == 2 and x[0] == x[1]})


def test_trajectories_have_a_panel_for_each_variable():
    figure = trajectories_figure(Trajectories((experiment("a"), experiment("b", 1.0))), title="two runs")
    assert [panel.get_ylabel() for panel in figure.axes] == ["x", "y", "u"]
    assert figure.axes[-1].get_xlabel() == "time"
    assert all(switches(panel) == [4.0] for panel in figure.axes)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    assert figure.get_suptitle() == "two runs"


def test_lines_are_interrupted_at_breakpoints():
    """A line across a switch would show a derivative that never was."""
    runs = Trajectories((experiment("a"),))
    figure = derivatives_figure(runs, estimate_derivatives(runs))
    panel = figure.axes[1]
    assert panel.get_ylabel() == "dx/dt"
    ends = sorted(
        (line.get_xdata()[0], line.get_xdata()[-1]) for line in panel.lines if line.get_linestyle() == "-"
    )
    before = TIMES[TIMES < 4][-1]
    after = TIMES[TIMES >= 4][0]
    assert ends == [(0.0, before), (after, 10.0)]
    assert len(panel.collections) == 2


def test_the_limits_hold_the_whole_derivative():
    runs = Trajectories((experiment("a"),))
    slopes = estimate_derivatives(runs)
    low, high = derivatives_figure(runs, slopes).axes[1].get_ylim()
    assert low < float(slopes[0]["dx"].min())
    assert high > float(slopes[0]["dx"].max())


def test_what_is_left_out_is_said():
    many = Trajectories(tuple(experiment(f"run {i}", i) for i in range(MAX_EXPERIMENTS + 3)))
    figure = trajectories_figure(many)
    assert figure.get_suptitle() == f"{MAX_EXPERIMENTS} of {MAX_EXPERIMENTS + 3} experiments"
    states = {f"x{i}": np.sin(TIMES + i) for i in range(25)}
    figure = trajectories_figure(Trajectories((make_experiment(TIMES, states),)))
    assert figure.get_suptitle() == "5 more states not shown"


def test_missing_values_and_long_series_are_drawn(tmp_path):
    times = np.linspace(0.0, 10.0, 20_000)
    values = np.sin(times)
    values[::3] = np.nan
    runs = Trajectories((make_experiment(times, {"x": values}),))
    figure = derivatives_figure(runs, estimate_derivatives(runs, method="finite_differences"))
    dots = next(line for line in figure.axes[0].lines if line.get_marker() == ".")
    assert len(dots.get_xdata()) <= 2 * MAX_MARKS
    figure.savefig(tmp_path / "out.png")
    assert (tmp_path / "out.png").stat().st_size > 10_000


@pytest.mark.parametrize("count", [1, 2])
def test_no_legend_for_one_experiment(count):
    figure = trajectories_figure(Trajectories(tuple(experiment(f"r{i}") for i in range(count))))
    assert len(figure.legends) == count - 1
