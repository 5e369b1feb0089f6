"""What trajectories say about one rate, near a system that roughly follows them."""

from dataclasses import replace

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn import linearised
from fepysr_dyn.expressions import compile_expression, parse
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.refinement import WindowJudge

PREDATORS = """
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
#: Straight in y where it should be bent.
NEAR = "0.9*x - 0.2*y*x**2 - 0.3*y"


def regression_of(rates, state, noise=0.01, seed=0, samples=300):
    truth = system_from_toml(PREDATORS.replace("samples = 300", f"samples = {samples}"))
    runs = fd.simulate(truth, noise=noise, seed=seed)
    judge = WindowJudge(runs, list(fd.estimate_derivatives(runs)))
    system = replace(truth, rates={**truth.rates, **{name: parse(rate) for name, rate in rates.items()}})
    return judge.linearised(system).regression(state)


def misfit(regression, law):
    """The mean square of what a law leaves unexplained, in variances of the noise."""
    rate = compile_expression(parse(law), tuple(regression.columns))(*regression.columns.values())
    rate = np.broadcast_to(rate, regression.measurement.shape[1])
    moved = regression.measurement @ rate
    moved = moved - regression.nuisance @ (regression.nuisance.T @ moved)
    return float(np.mean((regression.target - moved) ** 2))


@pytest.mark.parametrize("seed", range(4))
def test_the_true_law_explains_the_samples_down_to_their_noise(seed):
    regression = regression_of({}, "x", seed=seed)
    assert 0.5 < misfit(regression, "0.7*x - 0.5*x*y + 0.1*u") < 1.6
    assert misfit(regression, "0.7*x - 0.5*x*y") > 20.0


@pytest.mark.parametrize("seed", range(4))
def test_from_a_wrong_law_the_true_one_is_seen_to_be_much_better(seed):
    regression = regression_of({"x": NEAR}, "x", seed=seed)
    assert misfit(regression, "0.7*x - 0.5*x*y + 0.1*u") < 0.5 * misfit(regression, NEAR)


def test_constants_of_other_rates_are_free():
    # The other rate has the right form and is fitted with a wrong law beside it.
    regression = regression_of({"x": "0.6*x - 0.4*x*y"}, "x")
    basis = regression.nuisance
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-9)
    assert basis.shape[1] == 2
    np.testing.assert_allclose(basis.T @ regression.target, 0.0, atol=1e-6)


def test_long_data_are_looked_at_in_part(monkeypatch):
    whole = regression_of({}, "y", samples=600)
    monkeypatch.setattr(linearised, "_MOST_SAMPLES", 300)
    regression = regression_of({}, "y", samples=600)
    assert regression.measurement.shape[1] < 0.6 * whole.measurement.shape[1]
    assert 0.5 < misfit(regression, "0.4*x*y - 0.8*y") < 1.6


def test_a_system_that_cannot_be_followed_says_nothing():
    truth = system_from_toml(PREDATORS)
    runs = fd.simulate(truth)
    hopeless = replace(truth, rates={"x": parse("log(-1.5 - x**2)"), "y": parse("0.1*y")})
    assert WindowJudge(runs, list(fd.estimate_derivatives(runs))).linearised(hopeless) is None
