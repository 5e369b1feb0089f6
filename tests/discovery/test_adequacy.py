"""Warnings say what the data cannot decide."""

import numpy as np

import fepysr_dyn as fd
from fepysr_dyn.discovery.adequacy import data_warnings
from fepysr_dyn.discovery.problems import telling_rows
from fepysr_dyn.trajectories import make_experiment


def warned(**columns):
    inputs = {name: columns.pop(name) for name in list(columns) if name == "u"}
    times = np.linspace(0, 10, len(next(iter(columns.values()))))
    runs = fd.Trajectories((make_experiment(times, states=columns, inputs=inputs),))
    return " | ".join(data_warnings(runs, fd.estimate_derivatives(runs)))


T = np.linspace(0, 10, 200)


def test_good_data_has_no_warning():
    assert warned(x=np.sin(T), y=np.cos(1.7 * T), u=np.sin(0.3 * T)) == ""


def test_few_levels_of_an_input_are_named():
    message = warned(x=np.sin(T), u=np.where(T < 5, 0.1, 0.7))
    assert "'u' has only 2 levels" in message
    assert "at least 5 levels" in message


def test_an_input_that_never_changes_is_named():
    assert "'u' never changes" in warned(x=np.sin(T), u=np.ones_like(T))


def test_collinear_columns_are_named():
    assert "'x' and 'y' move together" in warned(x=np.sin(T), y=2 * np.sin(T) + 1)


def test_states_at_rest_and_short_series_are_named():
    message = warned(x=np.sin(T[:20]), y=np.full(20, 3.0))
    assert "'y' hardly moves" in message
    assert "only 20 samples" in message


def test_telling_rows_keep_the_fast_phase_of_a_long_rest():
    times = np.linspace(0, 100, 10_000)
    column = np.exp(-20 * times)
    rows = telling_rows([times], {"x": column}, np.arange(len(times)), 500)
    assert len(rows) <= 500
    assert np.sum(times[rows] < 0.5) > 25  # an even choice would keep 2 or 3
