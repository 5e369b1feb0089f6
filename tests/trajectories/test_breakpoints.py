"""Which changes of a sampled input are found, and which are not taken for steps."""

import numpy as np
import pytest

from fepysr_dyn.model_files import load_model, model_names
from fepysr_dyn.stimulus import Ramps, Steps
from fepysr_dyn.trajectories.breakpoints import detect_breakpoints, find_changes
from fepysr_dyn.trajectories.types import make_experiment

SEEDS = range(20)


def irregular_times(seed, n=400, stop=60.0):
    random = np.random.default_rng(seed)
    return np.sort(random.uniform(0, stop, n))


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_on_an_irregular_grid(seed):
    """The breakpoint is the first sample that shows the new level."""
    times = irregular_times(seed)
    expected = [times[times >= switch][0] for switch in (20.0, 40.0)]
    assert find_changes(times, Steps((0.0, 20.0, 40.0), (0.05, 0.5, 0.25))(times)) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_many_random_steps(seed):
    random = np.random.default_rng(seed)
    at = np.sort(random.choice(np.arange(2, 998), 30, replace=False))
    levels = np.cumsum(random.choice([-1.0, 1.0], 31) * random.uniform(0.5, 2.0, 31))
    times = np.linspace(0, 10, 1000)
    values = levels[np.searchsorted(at, np.arange(1000), side="right")]
    assert find_changes(times, values) == times[at].tolist()


def test_a_pulse_of_one_sample_and_a_step_at_the_ends():
    times = np.arange(40.0)
    pulse = np.where(times == 20, 1.0, 0.0)
    assert find_changes(times, pulse) == [20.0, 21.0]
    assert find_changes(times, np.where(times >= 39, 1.0, 0.0)) == [39.0]
    assert find_changes(times, np.where(times >= 1, 1.0, 0.0)) == [1.0]


def test_two_samples():
    assert find_changes(np.array([0.0, 1.0]), np.array([1.0, 2.0])) == []
    assert find_changes(np.array([0.0, 1.0]), np.array([1.0, 1.0])) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_bends_of_ramps_are_found_where_they_are(seed):
    """Knots lie between samples; the two lines meet exactly there."""
    knots = (10.0, 17.3, 31.0, 44.4)
    times = irregular_times(seed)
    found = find_changes(times, Ramps(knots, (0.0, 2.0, 1.0, 1.5))(times))
    assert np.allclose(found, knots, atol=1e-6)


def test_a_sawtooth_jumps_where_it_falls():
    times = np.arange(0, 50, 0.25)
    assert np.allclose(find_changes(times, times % 10), [10, 20, 30, 40])


@pytest.mark.parametrize(
    "curve",
    [
        lambda t: np.sin(t),
        lambda t: np.sin(3 * t) + 0.1 * np.cos(10 * t),
        lambda t: np.exp(-t / 5),
        lambda t: 1 / (1 + np.exp(-(t - 30))),
        lambda t: np.exp(-((t - 30) ** 2)),
        lambda t: t**2,
        lambda t: 2 * t + 1,
        lambda t: np.full_like(t, 3.0),
    ],
    ids=["sine", "two sines", "decay", "sigmoid", "bump", "parabola", "line", "constant"],
)
@pytest.mark.parametrize("seed", [None, *range(5)])
def test_smooth_inputs_have_no_breakpoints(curve, seed):
    times = np.linspace(0, 60, 400) if seed is None else irregular_times(seed)
    assert find_changes(times, curve(times)) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_is_not_steps_but_noisy_steps_are(seed):
    random = np.random.default_rng(seed)
    times = np.linspace(0, 60, 3000)
    assert find_changes(times, random.standard_normal(3000)) == []
    steps = Steps((0.0, 20.0, 40.0), (0.05, 0.5, 0.25))(times)
    noisy = steps + 0.002 * random.standard_normal(3000)
    assert find_changes(times, noisy) == [times[times >= switch][0] for switch in (20.0, 40.0)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_jump_of_a_smooth_input(seed):
    times = irregular_times(seed, n=2000)
    values = np.sin(times / 5) + (times >= 33)
    assert find_changes(times, values) == [times[times >= 33][0]]


def test_missing_samples_of_an_input():
    times = np.arange(40.0)
    values = np.where(times >= 20, 1.0, 0.0)
    values[[5, 20, 21]] = np.nan
    assert find_changes(times, values) == [22.0]


def test_too_fine_series_are_said_to_be_so():
    times = np.linspace(0, 10, 1000)
    code = np.random.default_rng(0).integers(0, 2, 1000).astype(float)
    assert find_changes(times, code) is None
    rounded = np.round(np.sin(times / 4), 2)
    assert find_changes(times, rounded) is None
    run = make_experiment(times, {"x": times}, {"u": code, "v": np.where(times >= 5, 1.0, 0.0)})
    points, too_fine = detect_breakpoints(run)
    assert too_fine == ["u"]
    assert points == [times[times >= 5][0]]


def test_breakpoints_of_several_inputs_are_joined():
    times = np.arange(40.0)
    inputs = {"u": np.where(times >= 20, 1.0, 0.0), "v": np.where(times >= 20, 2.0, 3.0) + (times >= 30)}
    points, too_fine = detect_breakpoints(make_experiment(times, {"x": times}, inputs))
    assert (points, too_fine) == ([20.0, 30.0], [])


def test_offset_and_scale_do_not_matter():
    times = np.linspace(0, 60, 500)
    steps = Steps((0.0, 20.0, 40.0), (0.05, 0.5, 0.25))(times)
    expected = find_changes(times, steps)
    assert len(expected) == 2
    for scale in (1e-12, 1e12):
        for offset in (0.0, 1e3 * scale):
            assert find_changes(times, scale * steps + offset) == expected


def test_levels_may_span_many_orders_of_magnitude():
    times = np.linspace(0, 60, 700)
    doses = Steps(tuple(10.0 * i for i in range(6)), (1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0))(times)
    assert find_changes(times, doses) == [times[times >= 10.0 * i][0] for i in range(1, 6)]


@pytest.mark.parametrize("name", model_names())
def test_the_stimuli_of_all_models_are_found(name):
    """Steps within one sampling interval after the switch, bends where they are, nothing in a sine."""
    system = load_model(name)
    protocol = system.protocol
    times = np.linspace(0, protocol.duration, protocol.samples, endpoint=False)
    for plan in protocol.experiments:
        for stimulus in system.inputs_of(plan).values():
            declared = [point for point in stimulus.breakpoints if times[0] < point <= times[-1]]
            found = find_changes(times, stimulus(times))
            assert found is not None
            assert len(found) == len(declared)
            assert all(-1e-6 <= f - d <= times[1] for f, d in zip(found, declared, strict=True))
