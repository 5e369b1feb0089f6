"""Experiments nobody was fitted on: other states and stimuli, of the same system, inside what it can be."""

import numpy as np
import pytest

from fepysr_dyn import load_model, simulate
from fepysr_dyn.benchmarks.unseen import moved_stimulus, unseen_runs
from fepysr_dyn.model_files import model_names
from fepysr_dyn.stimulus import Constant, Ramps, Sampled, Sine, Steps


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("stimulus", "levels"),
    [
        (Steps((0.0, 20.0, 40.0), (0.05, 0.5, 0.25)), []),
        (Steps((0.0, 80.0), (2.0, 1.0)), []),
        (Ramps((0.0, 8.0, 16.0), (0.5, 3.0, 1.0)), []),
        (Constant(2.5), [0.5, 2.5, 4.0]),
        (Sampled((0.0, 1.0, 2.0), (0.0, 1.0, 0.5)), []),
    ],
)
def test_levels_move_between_those_seen(stimulus, levels, seed):
    moved = moved_stimulus(stimulus, levels, np.random.default_rng(seed))
    times = np.linspace(0, 100, 400)
    old, new = stimulus(times), moved(times)
    seen = [*old, *levels]
    assert not np.any(np.isclose(old, new)) or isinstance(stimulus, Ramps | Sampled)
    assert not np.allclose(old, new)
    assert min(seen) <= new.min() <= new.max() <= max(seen)
    assert moved.breakpoints == stimulus.breakpoints
    assert len(set(old)) == 1 or len(set(new)) > 1, "steps stay steps"


def test_a_single_level_and_a_sine_move():
    random = np.random.default_rng(0)
    assert 1.0 < moved_stimulus(Constant(1.0), [1.0], random).value < 1.3
    assert moved_stimulus(Constant(0.0), [0.0], random).value > 0
    moved = moved_stimulus(Sine(0.5, 5.0), [], random)
    assert 0.3 < moved.amplitude < 0.5
    assert moved.period == 5.0


def test_conserved_sums_stay_and_nothing_is_repeated():
    system = load_model("sir")
    seen, unseen = simulate(system), unseen_runs(system, seed=1)
    totals = {round(sum(float(run[state][0]) for state in system.states), 9) for run in seen}
    for run in unseen:
        start = [float(run[state][0]) for state in system.states]
        assert min(start) >= 0
        assert min(abs(sum(start) - total) for total in totals) < 1e-6
        assert all(not np.allclose(start, [float(old[s][0]) for s in system.states]) for old in seen)
    again = unseen_runs(system, seed=1)
    assert all(np.array_equal(a["S"], b["S"]) for a, b in zip(unseen, again, strict=True))
    assert not np.array_equal(unseen[0]["S"], unseen_runs(system, seed=2)[0]["S"])


@pytest.mark.slow
@pytest.mark.parametrize("name", model_names())
def test_every_system_has_unseen_experiments(name):
    system = load_model(name)
    runs = unseen_runs(system, seed=0)
    assert len(runs) >= len(system.protocol.experiments)
    assert all(np.all(np.isfinite(run[state])) for run in runs for state in system.states)
