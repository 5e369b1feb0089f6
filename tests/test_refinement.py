"""Constants refitted on trajectories reach the truth from poor starts, with honest errors."""

from dataclasses import replace

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.expressions import parse
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.refinement import StiffSystemError, WindowJudge, refine
from fepysr_dyn.shooting import Shooting
from fepysr_dyn.shooting_equations import Equations
from fepysr_dyn.shooting_plan import Stepping
from fepysr_dyn.shooting_windows import Windows
from fepysr_dyn.validation import validate

OSCILLATOR = """
[states.x]
initial = 1.0
rate = "0.7*x - 0.5*x*y + 0.1*u"
[states.y]
initial = 0.6
rate = "0.4*x*y - 0.8*y"
[inputs.u]
stimulus = { kind = "steps", times = [0, 7.03, 15.5], values = [0, 1, 0.3] }
[protocol]
duration = 30
samples = 300
"""
TRUE = np.array([0.7, -0.5, 0.1, 0.4, -0.8])


def distorted(system, factors):
    rates = {
        "x": parse(f"{0.7 * factors[0]}*x - {0.5 * factors[1]}*x*y + {0.1 * factors[2]}*u"),
        "y": parse(f"{0.4 * factors[3]}*x*y - {0.8 * factors[4]}*y"),
    }
    return replace(system, rates=rates)


def values(refinement):
    """Constants in the order of TRUE, whatever order the formulas have them in."""
    found = sorted(constant.value for constant in refinement.constants)
    return np.array(found)


@pytest.mark.parametrize("seed", range(5))
def test_noise_free_constants_are_found_from_starts_off_by_half(seed):
    system = system_from_toml(OSCILLATOR)
    factors = np.random.default_rng(seed).uniform(0.5, 1.5, 5)
    result = refine(distorted(system, factors), fd.simulate(system))
    assert result.message == ""
    np.testing.assert_allclose(values(result), np.sort(TRUE), rtol=1e-7)


def test_standard_errors_cover_the_truth():
    system = system_from_toml(OSCILLATOR)
    inside = []
    for seed in range(12):
        runs = fd.simulate(system, noise=0.05, seed=seed)
        result = refine(distorted(system, np.full(5, 1.1)), runs)
        found = sorted(result.constants, key=lambda constant: constant.value)
        inside += [
            abs(c.value - truth) < 2.5 * c.standard_error
            for c, truth in zip(found, np.sort(TRUE), strict=True)
        ]
    assert np.mean(inside) > 0.85


def test_the_refined_system_follows_the_data_to_the_end():
    system = system_from_toml(OSCILLATOR)
    runs = fd.simulate(system)
    start = distorted(system, [1.05, 0.95, 1.1, 0.96, 1.05])
    assert not validate(start, runs).reproduced
    assert validate(refine(start, runs).system, runs).worst_nrmse < 1e-6


def test_missing_and_irregular_samples_are_fine():
    system = system_from_toml(OSCILLATOR)
    from fepysr_dyn.measurement import Measurement

    runs = fd.simulate(system, measurement=Measurement(missing=0.2, irregular=0.8), seed=4)
    result = refine(distorted(system, np.full(5, 1.2)), runs)
    np.testing.assert_allclose(values(result), np.sort(TRUE), rtol=1e-6)


def test_chaotic_data_is_refitted_on_windows_and_says_so():
    lorenz = fd.load_model("lorenz")
    runs = fd.simulate(lorenz, noise=0.01, seed=1)
    explicit = replace(lorenz, rates=lorenz.explicit_rates(), parameters={}, assignments={}, units={})
    result = refine(explicit, runs)
    assert all(np.isfinite(constant.value) for constant in result.constants)


def test_a_system_that_cannot_be_integrated_is_returned_with_the_reason():
    system = system_from_toml(OSCILLATOR)
    hopeless = replace(system, rates={"x": parse("log(-1.5 - x**2)"), "y": parse("0.1*y")})
    result = refine(hopeless, fd.simulate(system))
    assert result.system == hopeless
    assert "no window" in result.message


@pytest.fixture(scope="module")
def judge():
    runs = fd.simulate(system_from_toml(OSCILLATOR), noise=0.02, seed=1)
    return WindowJudge(runs, list(fd.estimate_derivatives(runs)))


class TestJudging:
    """A system is judged by windows that took no part in the fit of its constants."""

    def candidate(self, rates):
        system = system_from_toml(OSCILLATOR)
        return replace(system, rates={**system.rates, **{k: parse(v) for k, v in rates.items()}})

    def test_the_truth_foretells_what_was_left_out_about_as_well_as_what_was_fitted(self, judge):
        truth = self.candidate({})
        fit = judge.fit(truth)
        assert judge.left_out(truth, fit).sum() == pytest.approx(fit.chi2, rel=0.2)

    def test_a_forecast_counts_at_most_as_that_nothing_changes(self, judge):
        poor = self.candidate({"x": "0.7*x - 0.5*x*y", "y": "0.1*x*y - 0.02*y**3"})
        fit = judge.fit(poor)
        still = judge.windows.standing_still()
        assert np.all(still > 0)
        assert np.all(judge.left_out(poor, fit) <= np.maximum(still, fit.window_chi2))

    def test_constants_of_the_training_windows_ignore_the_others(self, judge):
        without_input = self.candidate({"x": "0.7*x - 0.5*x*y"})
        fit = judge.fit(without_input)
        training = np.arange(len(fit.window_chi2)) < 2
        shooting = Shooting(Equations.of(without_input), judge.windows)
        partial = shooting.fit(fit.theta, starts=fit.starts, training=training)
        # Without the input the two first windows fit other constants than all windows together.
        assert partial.window_chi2[training].sum() < fit.window_chi2[training].sum()
        assert partial.chi2 > fit.chi2

    def test_steps_of_order_four_do_where_order_eight_says_the_same(self, judge):
        fit = judge.fit(self.candidate({}))
        assert not fit.stepping.precise
        runs = fd.simulate(system_from_toml(OSCILLATOR), noise=0.02, seed=1)
        values = [np.vstack([run[state].to_numpy() for state in ("x", "y")]) for run in runs]
        precise = Windows.over(runs, values, values, 64, Stepping())
        assert Shooting(Equations.of(self.candidate({})), precise).misfit(fit) == pytest.approx(
            fit.chi2, rel=1e-3
        )

    def test_a_hopeless_system_is_given_up_on_windows_that_flatter_it(self, judge):
        wrong = self.candidate({"x": "0.2*x - 0.1*x*y"})
        whole, early = judge.fit(wrong), judge.fit(wrong, hopeless=1e-4, harder=3.0)
        assert len(early.window_chi2) == len(whole.window_chi2)
        assert early.on_shorter > 1e-4
        assert early.chi2 == pytest.approx(3.0 * early.on_shorter)
        assert whole.on_shorter < whole.chi2

    def test_a_system_that_is_not_hopeless_is_followed_to_the_end(self, judge):
        wrong = self.candidate({"x": "0.2*x - 0.1*x*y"})
        whole = judge.fit(wrong)
        assert judge.fit(wrong, hopeless=1.01 * whole.on_shorter).chi2 == whole.chi2

    def test_a_system_that_runs_away_has_no_judgement(self, judge):
        assert judge.fit(self.candidate({"x": "x**3*y**3 + 5.0*x**4"})) is None


def test_rates_that_are_held_stay_as_they_are():
    system = system_from_toml(OSCILLATOR)
    start = distorted(system, np.array([1.0, 1.0, 1.0, 1.2, 0.9]))
    result = refine(start, fd.simulate(system), held=("x",))
    assert result.system.rates["x"] == start.rates["x"]
    assert {constant.state for constant in result.constants} == {"y"}
    np.testing.assert_allclose(values(result), [-0.8, 0.4], rtol=1e-7)


STIFF = """
[states.fast]
initial = 2.0
rate = "600.0*(slow - fast)"
[states.slow]
initial = 2.0
rate = "-0.5*fast"
[protocol]
duration = 4
samples = 100
"""


@pytest.fixture(scope="module")
def stiff_runs():
    return fd.simulate(system_from_toml(STIFF), noise=0.01, seed=0)


class TestStiffSystems:
    """Steps as long as the sampling leave the stable region of an explicit method: 24 decays each."""

    def test_finer_steps_follow_what_coarse_ones_cannot(self, stiff_runs):
        judge = WindowJudge(stiff_runs, list(stiff_runs))
        fit = judge.fit(system_from_toml(STIFF))
        assert fit.stepping.substeps > 1
        assert fit.chi2 / fit.samples < 1e-3

    def test_they_can_be_put_off(self, stiff_runs):
        judge = WindowJudge(stiff_runs, list(stiff_runs))
        with pytest.raises(StiffSystemError):
            judge.fit(system_from_toml(STIFF), quickly=True)
        slow = replace(
            system_from_toml(STIFF), rates={"fast": parse("-0.5*fast"), "slow": parse("-0.5*slow")}
        )
        assert judge.fit(slow, quickly=True).stepping.substeps == 1

    def test_constants_are_refitted(self, stiff_runs):
        system = system_from_toml(STIFF)
        start = replace(system, rates={**system.rates, "slow": parse("-0.7*fast")})
        result = refine(start, stiff_runs)
        assert result.message == ""
        assert not result.lost
        (decay,) = (constant.value for constant in result.constants if constant.state == "slow")
        assert decay == pytest.approx(-0.5, rel=0.02)


def test_a_wrong_system_loses_the_data_and_says_so():
    system = system_from_toml(OSCILLATOR)
    wrong = replace(system, rates={"x": parse("0.1*x - 0.02*x**2 + 0.1*u"), "y": parse("0.1*x - 0.2*y")})
    result = refine(wrong, fd.simulate(system))
    assert result.lost
    assert "did not follow" in result.message


GROWTH = """
[states.x]
initial = 0.1
rate = "0.85*x*s/(0.0123 + s) - d*x"
[states.s]
initial = 2.5
rate = "d*(2.5 - s) - 1.6*x*s/(0.0123 + s)"
[inputs.d]
stimulus = { kind = "steps", times = [0, 10, 20], values = [0.3, 1.1, 0.6] }
[protocol]
duration = 35
samples = 700
[[protocol.experiments]]
name = "thin"
[[protocol.experiments]]
name = "dense"
initial = { x = 1.0, s = 0.5 }
inputs = { d = { kind = "steps", times = [0, 8, 16, 24], values = [0.8, 0.2, 0.95, 0.5] } }
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_steep_law_is_fitted_from_a_half_saturation_that_is_off(seed):
    # Initial states are known no better than the half-saturation: they have to be put right first, or the
    # first step of the constants leads into another valley.
    truth = system_from_toml(GROWTH)
    runs = fd.simulate(truth, noise=0.01, seed=seed)
    judge = WindowJudge(runs, list(fd.estimate_derivatives(runs)))
    best = judge.fit(truth)
    for level in (0.01, 0.0125, 0.015, 0.02):
        rate = parse(f"x*(0.847*s/({level} + s) - 0.9995*d)")
        fit = judge.fit(replace(truth, rates={**truth.rates, "x": rate}))
        assert fit.chi2 < 1.1 * best.chi2


LOOP = """
[states.x]
initial = 0.1
rate = "1/(1 + z**10) - 0.1*x"
[states.y]
initial = 0.2
rate = "x - 0.1*y"
[states.z]
initial = 2.5
rate = "y - 0.1*z"
[protocol]
duration = 200
samples = 400
"""


@pytest.mark.parametrize("level", ["1e-3", "1e-8", "7.6e-12"])
def test_a_constant_that_is_lost_beside_a_power_is_found_again(level):
    truth = system_from_toml(LOOP)
    runs = fd.simulate(truth, noise=0.01, seed=0)
    judge = WindowJudge(runs, list(fd.estimate_derivatives(runs)))
    near = replace(truth, rates={**truth.rates, "x": parse(f"1.0/({level} + z**10) - 0.1*x")})
    law = judge.fitted(near, judge.fit(near)).rates["x"]
    # Without the constant it would be a thousand there.
    assert 0.1 < law.subs({"x": 0.0, "z": 0.5}) < 10.0
