"""Charts: what is thinned out looks the same, and numbers at the axes are round."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from fepysr_dyn.report.charts.front import Point, front_chart
from fepysr_dyn.report.charts.lines import COLUMNS, dots_path, envelope, line_path, simplified
from fepysr_dyn.report.charts.phase import phase_chart
from fepysr_dyn.report.charts.scales import Scale, padded, tick_text
from fepysr_dyn.report.charts.series import Series, series_chart
from fepysr_dyn.trajectories import make_experiment

TIMES = np.linspace(0.0, 10.0, 50_000)


def read_svg(text):
    return ET.fromstring(text)  # noqa: S314 (our own)


def points_of(path):
    return np.array([[float(v) for v in pair] for pair in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path)])


def test_every_column_keeps_its_extremes():
    values = np.random.default_rng(0).normal(size=len(TIMES))
    kept = envelope(TIMES, values)
    assert len(kept) <= 4 * COLUMNS
    column = np.minimum((COLUMNS * TIMES / 10).astype(int), COLUMNS - 1)
    for k in (0, 7, COLUMNS - 1):
        own = values[column == k]
        shown = values[kept][column[kept] == k]
        assert (shown.min(), shown.max()) == (own.min(), own.max())


def test_a_simplified_line_stays_within_its_tolerance():
    x, y = 40 * TIMES[::10], 50 * np.sin(3 * TIMES[::10])
    corners = simplified(x, y, 0.25)
    assert len(corners) < 500
    # The line is at most 3.75 steep: distances across it are a quarter of those measured upright.
    assert np.max(np.abs(np.interp(x, x[corners], y[corners]) - y)) < 0.25 * np.hypot(1, 3.75)


def test_a_loop_is_not_lost():
    angle = np.linspace(0, 2 * np.pi, 400)
    assert len(simplified(100 * np.cos(angle), 100 * np.sin(angle))) > 20


def test_lines_are_interrupted_where_values_are_missing():
    y = np.sin(TIMES[:100])
    y[40:60] = np.nan
    path = line_path(TIMES[:100], y)
    assert path.count("M") == 2
    assert "nan" not in path + dots_path(TIMES[:100], y)


@pytest.mark.parametrize("low, high", [(0.0, 1.0), (-3.7, 12.0), (1e-14, 3e-14), (0.445, 0.556), (-5e7, 9e8)])
@pytest.mark.parametrize("count", [2, 4, 6])
def test_ticks_are_round_inside_and_enough(low, high, count):
    ticks = Scale(low, high, 0, 100).ticks(count)
    assert 2 <= len(ticks) <= 3 * count + 1
    assert all(low - 1e-9 * (high - low) <= tick <= high + 1e-9 * (high - low) for tick in ticks)
    texts = [tick_text(tick, ticks[1] - ticks[0]) for tick in ticks]
    assert len(set(texts)) == len(texts)


def test_scales_of_no_width_get_one():
    for low, high in [(2.0, 2.0), (0.0, 0.0), (float("nan"), 1.0)]:
        a, b = padded(low, high)
        assert a < b


def experiment(**changes):
    time = np.linspace(0, 10, 101)
    states = {"x": np.sin(time), "y": np.cos(time), **changes}
    return make_experiment(time, states, {"u": np.where(time >= 4, 1.0, 0.0)}, name="a", breakpoints=[4.0])


def classes(svg):
    return [node.get("class") for node in read_svg(str(svg)).iter() if node.get("class")]


def test_a_state_is_drawn_with_residuals_stimulus_and_switches():
    made = series_chart(Series(experiment(), experiment(), horizon=6.0), "x", "id")
    names = classes(made)
    assert {"data", "model", "residual", "stimulus", "switch", "beyond"} <= set(names)
    # One switch and one shaded end in each of the three panels.
    assert (names.count("switch"), names.count("beyond")) == (3, 3)
    assert "nan" not in made


def test_a_jump_of_the_stimulus_is_upright():
    made = read_svg(str(series_chart(Series(None, experiment()), "x", "id")))
    (path,) = [node for node in made.iter() if node.get("class") == "stimulus"]
    places = points_of(path.get("d"))
    steps = np.abs(np.diff(places, axis=0))
    assert len(places) == 4
    assert np.all((steps[:, 0] == 0) | (steps[:, 1] == 0))


def test_a_model_that_runs_away_does_not_hide_the_data():
    away = experiment(x=np.exp(3 * np.linspace(0, 10, 101)))
    away["x"][80:] = np.nan
    made = read_svg(str(series_chart(Series(experiment(), away), "x", "id")))
    (data,) = [node for node in made.iter() if node.get("class") == "data"]
    heights = points_of(data.get("d").replace("h0", ""))[:, 1]
    assert np.ptp(heights) > 60


def test_phase_portraits_have_starts_and_ends():
    names = classes(phase_chart([Series(experiment(), experiment())] * 2, "x", "y", "id"))
    assert {"start run0", "end run0", "model run1", "start run1"} <= set(names)


def test_a_front_has_one_stop_and_every_candidate():
    points = [
        Point(1, 0.9, "front", "r0", "a"),
        Point(4, 1e-3, "chosen", "r1", "<b>"),
        Point(9, 0.0, "alternative", "r2", "c"),
    ]
    root = read_svg(str(front_chart(points, "x")))
    marks = [node for node in root.iter() if "point" in (node.get("class") or "").split()]
    assert {node.get("data-row") for node in marks} == {"r0", "r1", "r2"}
    assert [node.get("tabindex") for node in marks].count("0") == 1
    assert {node.get("aria-label") for node in marks} == {"a", "<b>", "c"}
