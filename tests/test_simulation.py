"""Integration against closed forms, across steps, and its outcomes."""

from dataclasses import replace

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.errors import OptionError, SimulationError
from fepysr_dyn.integration import Outcome, RightHandSide, SolverOptions, integrate
from fepysr_dyn.measurement import Measurement
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.simulation import resampled
from fepysr_dyn.stimulus import Constant, Ramps, Sampled, Sine, Steps

RELAXATION = """
[states.x]
initial = 0.0
rate = "u - x"
[inputs.u]
stimulus = { kind = "steps", times = [0, 1.03, 2.5], values = [1, -2, 0.5] }
[protocol]
duration = 4
samples = 400
"""


def relaxed(times):
    """x' = u - x solved level by level."""
    edges, levels = [0.0, 1.03, 2.5, np.inf], [1.0, -2.0, 0.5]
    state, result = 0.0, np.empty_like(times)
    for start, stop, level in zip(edges[:-1], edges[1:], levels, strict=True):
        inside = (times >= start) & (times < stop)
        result[inside] = level + (state - level) * np.exp(-(times[inside] - start))
        state = level + (state - level) * np.exp(-(stop - start))
    return result


def one_state(rate, initial=1.0, duration=2.0, samples=200):
    return system_from_toml(
        f'[states.x]\ninitial = {initial}\nrate = "{rate}"\n'
        f"[protocol]\nduration = {duration}\nsamples = {samples}\n"
    )


@pytest.mark.parametrize("method", ["auto", "DOP853", "LSODA", "Radau"])
def test_step_response_is_exact_on_both_sides_of_each_switch(method):
    run = fd.simulate(system_from_toml(RELAXATION), options=SolverOptions(method=method))[0]
    assert run.attrs["breakpoints"] == [1.03, 2.5]
    tolerance = {"auto": 1e-12, "DOP853": 1e-12, "LSODA": 1e-9, "Radau": 1e-7}[method]
    np.testing.assert_allclose(run["x"], relaxed(run["time"].to_numpy()), atol=tolerance)


def test_rates_are_the_right_hand_side_with_the_new_level_at_a_switch():
    system = resampled(system_from_toml(RELAXATION), samples=4)
    run = fd.simulate(replace(system, inputs={"u": Steps((0.0, 2.0), (1.0, 3.0))}), rates=True)[0]
    np.testing.assert_allclose(run["dx"], run["u"] - run["x"], atol=1e-15)
    assert run["u"].to_numpy().tolist() == [1, 1, 3, 3]


@pytest.mark.parametrize(
    ("stimulus", "solution"),
    [
        (Constant(2.0), lambda t: 2 * t),
        (Ramps((0.0, 1.0, 2.0), (0.0, 1.0, 0.0)), lambda t: np.where(t < 1, t**2 / 2, 2 * t - t**2 / 2 - 1)),
        (Sine(amplitude=1.0, period=2.0), lambda t: (1 - np.cos(np.pi * t)) / np.pi),
        (
            Sampled((0.0, 1.0, 2.0), (1.0, 3.0, 3.0), jumps=(1.0,)),
            lambda t: np.where(t < 1, t, 1 + 3 * (t - 1)),
        ),
    ],
)
def test_every_kind_of_stimulus_is_integrated_exactly(stimulus, solution):
    system = system_from_toml(
        '[states.x]\ninitial = 0.0\nrate = "u"\n[inputs.u]\nstimulus = 0\n'
        "[protocol]\nduration = 2\nsamples = 50\n"
    )
    run = fd.simulate(replace(system, inputs={"u": stimulus}))[0]
    np.testing.assert_allclose(run["x"], solution(run["time"].to_numpy()), atol=1e-12)


def test_samples_between_steps_are_as_accurate_as_the_steps():
    """A cosine differentiated six times would show any kink between solver steps."""
    system = system_from_toml(
        '[states.x]\ninitial = 1.0\nrate = "y"\n[states.y]\ninitial = 0.0\nrate = "-x"\n'
        "[protocol]\nduration = 10\nsamples = 2000\n"
    )
    run = fd.simulate(system)[0]
    np.testing.assert_allclose(run["x"], np.cos(run["time"]), atol=2e-13)


def test_stiff_systems_are_recognised_and_finished():
    system = system_from_toml(
        '[states.x]\ninitial = 1.0\nrate = "-1e6*(x - y)"\n[states.y]\ninitial = 2.0\nrate = "-y"\n'
        "[protocol]\nduration = 3\nsamples = 60\n"
    )
    run = fd.simulate(system)[0]
    np.testing.assert_allclose(run["y"], 2 * np.exp(-run["time"]), rtol=1e-8)
    np.testing.assert_allclose(run["x"][5:], run["y"][5:] * 1e6 / (1e6 - 1), rtol=1e-8)


@pytest.mark.parametrize(
    ("system", "outcome"),
    [
        (one_state("x**2"), Outcome.BLOW_UP),
        (one_state("exp(x)"), Outcome.BLOW_UP),
        (one_state("-sqrt(x) - 0.1"), Outcome.NON_FINITE),
        (one_state("1/(x - 1)"), Outcome.NON_FINITE),
        (one_state("log(x - 2)"), Outcome.NON_FINITE),
        (one_state("-1/x"), Outcome.BLOW_UP),
    ],
)
def test_a_failed_integration_is_a_value_with_what_was_reached(system, outcome):
    run = fd.simulate(system, throw=False)[0]
    assert run.attrs["outcome"] == outcome
    assert "t = " in run.attrs["message"]
    assert 1 <= run.sizes["time"] < system.protocol.samples
    assert np.all(np.isfinite(run["x"]))
    with pytest.raises(SimulationError, match=str(outcome)):
        fd.simulate(system)


def test_the_time_limit_ends_a_long_integration_and_keeps_its_beginning():
    system = system_from_toml(
        '[states.x]\ninitial = 1.0\nrate = "1e5*y"\n[states.y]\ninitial = 0.0\nrate = "-1e5*x"\n'
        "[protocol]\nduration = 100\nsamples = 100000\n"
    )
    run = fd.simulate(system, options=SolverOptions(time_limit=0.3), throw=False)[0]
    assert run.attrs["outcome"] == Outcome.TIME_LIMIT
    assert "stopped after 0.3 s" in run.attrs["message"]
    np.testing.assert_allclose(run["x"], np.cos(1e5 * run["time"]), atol=1e-6)


def test_integrate_from_another_start_time():
    result = integrate(one_state("-x"), [2.0], {}, np.array([5.0, 6.0, 7.5]))
    assert result.complete
    np.testing.assert_allclose(result.states[0], 2 * np.exp(-(result.times - 5)), rtol=1e-11)


class TestMeasurement:
    system = one_state("cos(x) + 2", duration=5.0, samples=4000)

    def spread(self, **options):
        clean = fd.simulate(self.system)[0]["x"]
        noisy = fd.simulate(self.system, measurement=Measurement(**options), seed=3)[0]["x"]
        return clean.to_numpy(), (noisy - clean).to_numpy()

    def test_gaussian_noise_is_alpha_times_the_rms(self):
        clean, error = self.spread(noise=0.05)
        assert np.std(error) / np.sqrt(np.mean(clean**2)) == pytest.approx(0.05, rel=0.05)

    def test_multiplicative_noise_grows_with_the_value(self):
        clean, error = self.spread(noise=0.05, kind="multiplicative")
        assert np.std(error / clean) == pytest.approx(0.05, rel=0.05)

    def test_relative_noise_has_a_floor(self):
        clean, error = self.spread(noise=0.05, kind="relative-floor", floor=0.2)
        expected = 0.05 * np.abs(clean) + 0.2 * np.sqrt(np.mean(clean**2))
        assert np.std(error / expected) == pytest.approx(1.0, rel=0.05)

    def test_missing_samples_are_nan_at_the_given_share(self):
        _, error = self.spread(missing=0.25)
        assert np.mean(np.isnan(error)) == pytest.approx(0.25, abs=0.03)

    def test_irregular_times_stay_ascending_and_samples_lie_on_the_solution(self):
        system = one_state("-x", samples=500)
        run = fd.simulate(system, measurement=Measurement(irregular=0.9), seed=1)[0]
        steps = np.diff(run["time"])
        assert steps.min() > 0
        assert steps.max() > 1.3 * np.median(steps)
        np.testing.assert_allclose(run["x"], np.exp(-run["time"]), rtol=1e-11)

    def test_one_seed_decides_everything(self):
        options = Measurement(noise=0.1, missing=0.1, irregular=0.5)
        first, again, other = (
            fd.simulate(self.system, measurement=options, seed=seed)[0] for seed in (1, 1, 2)
        )
        assert first.equals(again)
        assert not first.equals(other)

    @pytest.mark.parametrize(
        "options",
        [{"noise": -1}, {"noise": float("nan")}, {"kind": "gausian"}, {"missing": 1.0}, {"irregular": 1.5}],
    )
    def test_impossible_options_are_refused(self, options):
        with pytest.raises(OptionError):
            Measurement(**options)


def test_misspelt_method_gets_a_suggestion():
    with pytest.raises(OptionError, match="did you mean 'Radau'"):
        SolverOptions(method="Radu")


def test_rates_of_hundreds_of_terms_are_integrated_like_small_ones(monkeypatch):
    system = fd.load_model("tyson_cell_cycle")
    small = RightHandSide(system)
    monkeypatch.setattr("fepysr_dyn.integration.LARGE", 10)
    large = RightHandSide(system)
    state = np.array(list(system.initial.values())) + 0.1
    inputs = [float(stimulus([0.0])[0]) for stimulus in system.inputs.values()]
    np.testing.assert_allclose(large.rates(state, inputs), small.rates(state, inputs), rtol=1e-12)
    np.testing.assert_allclose(
        large.jacobian(state, inputs), small.jacobian(state, inputs), rtol=1e-6, atol=1e-8
    )
    times = np.linspace(0, 20, 50)
    runs = [integrate(rhs, state, system.inputs, times) for rhs in (small, large)]
    assert all(run.complete for run in runs)
    np.testing.assert_allclose(runs[0].states, runs[1].states, rtol=1e-6, atol=1e-8)
