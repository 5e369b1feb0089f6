"""Recorded inputs as functions of time."""

import numpy as np
import pytest

from fepysr_dyn import load_model, simulate, validate
from fepysr_dyn.replay import recorded_inputs
from fepysr_dyn.stimulus import Steps
from fepysr_dyn.trajectories import make_experiment

TIMES = np.linspace(0, 10, 101)


def recorded(values, breakpoints=()):
    run = make_experiment(
        TIMES, states={"x": np.ones(101)}, inputs={"u": values}, name="run", breakpoints=breakpoints
    )
    return recorded_inputs(run)["u"]


def test_a_smooth_input_is_followed_between_its_samples():
    fine = np.linspace(0, 10, 777)
    assert np.max(np.abs(recorded(np.sin(TIMES))(fine) - np.sin(fine))) < 1e-5


def test_a_smooth_input_is_continued_to_a_switch_from_its_own_side():
    values = np.where(TIMES < 5.05, np.sin(TIMES), 3 + np.cos(TIMES))
    stimulus = recorded(values, breakpoints=(5.05,))
    assert stimulus([5.04])[0] == pytest.approx(np.sin(5.04), abs=1e-4)
    assert stimulus([5.05])[0] == pytest.approx(3 + np.cos(5.05), abs=1e-4)


def test_a_noisy_input_is_joined_by_straight_lines():
    values = np.random.default_rng(0).normal(size=101)
    middle = (TIMES[1:] + TIMES[:-1]) / 2
    assert recorded(values)(middle) == pytest.approx((values[1:] + values[:-1]) / 2)


def test_levels_are_steps():
    assert isinstance(recorded(np.where(TIMES < 5, 0.2, 0.7), breakpoints=(5.0,)), Steps)


def test_the_true_system_under_a_sampled_sine_reproduces_the_run():
    system = load_model("duffing")
    assert validate(system, simulate(system)).worst_r2 > 1 - 1e-9
