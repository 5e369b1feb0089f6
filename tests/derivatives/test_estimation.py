"""From trajectories to derivatives, and what the automatic choice says about itself."""

from __future__ import annotations

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.derivatives import Derivatives, estimate_derivatives
from fepysr_dyn.derivatives.finite_differences import FiniteDifferences
from fepysr_dyn.derivatives.gaussian_process import GaussianProcess
from fepysr_dyn.derivatives.local_polynomial import LocalPolynomial
from fepysr_dyn.derivatives.smoothing_spline import SmoothingSpline
from fepysr_dyn.derivatives.total_variation import TotalVariation
from fepysr_dyn.errors import DataError, OptionError
from fepysr_dyn.trajectories import Trajectories, make_experiment


def _runs(noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    runs = []
    for name, stop, count in (("a", 10.0, 200), ("b", 5.0, 80)):
        t = np.linspace(0, stop, count)
        states = {"x": np.sin(t) + noise * rng.normal(size=count), "y": np.exp(-t)}
        level = np.where(t < 3, 0.0, 1.0)
        runs.append(make_experiment(t, states, {"u": level}, name=name, breakpoints=[3.0]))
    return Trajectories(tuple(runs))


def test_tyson_exact_samples():
    """The bar: within 1e-7 of the right-hand side everywhere, on both sides of the switches too."""
    runs = fd.simulate(fd.load_model("tyson_two_protein"), rates=True)
    slopes = fd.estimate_derivatives(runs)
    for state in ("X1", "X2"):
        miss = np.abs(slopes[0][f"d{state}"] - runs[0][f"d{state}"]).to_numpy()
        assert miss.max() < 1e-9
        assert miss[[0, 999, 1000, 1999, 2000, 2999]].max() < 1e-9


def test_layout_of_the_answer():
    runs = _runs()
    slopes = estimate_derivatives(runs)
    assert isinstance(slopes, Derivatives)
    assert len(slopes) == 2
    assert slopes.states == ("x", "y")
    assert slopes.inputs == ("u",)
    for run, slope in zip(runs, slopes, strict=True):
        assert set(slope.data_vars) == {"x", "x_se", "dx", "dx_se", "y", "y_se", "dy", "dy_se", "u"}
        assert slope["dx"].attrs["role"] == "rate"
        assert slope["dx_se"].attrs["role"] == "rate_se"
        assert slope["x"].attrs["role"] == "state"
        assert slope.attrs["name"] == run.attrs["name"]
        assert slope.attrs["breakpoints"] == [3.0]
        np.testing.assert_array_equal(slope["time"], run["time"])
        np.testing.assert_array_equal(slope["u"], run["u"])
    np.testing.assert_allclose(slopes[1]["dy"], -np.exp(-slopes[1]["time"]), atol=1e-9)


def test_the_choice_follows_the_noise_and_says_why():
    exact, noisy = estimate_derivatives(_runs()), estimate_derivatives(_runs(noise=0.05))
    assert exact.methods["a"] == {"x": "finite_differences", "y": "finite_differences"}
    assert noisy.methods["a"] == {"x": "gaussian_process", "y": "finite_differences"}
    sentence = str(noisy.choices[0])
    assert sentence.startswith("a, x: gaussian_process")
    assert "noise is estimated at" in sentence
    assert "too much for differences" in sentence
    assert "too little to smooth" in str(exact.choices[0])


def test_little_noise_takes_whichever_expects_the_smaller_error():
    t = np.linspace(0, 10, 300)
    for seed in range(3):
        x = np.sin(t) + 1e-6 * np.random.default_rng(seed).normal(size=300)
        runs = Trajectories((make_experiment(t, {"x": x}),))
        slopes = estimate_derivatives(runs)
        assert "expects a smaller error than" in slopes.choices[0].reason
        chosen = np.sqrt(np.mean((slopes[0]["dx"] - np.cos(t)) ** 2))
        others = [
            estimate_derivatives(runs, name)[0]["dx"] for name in ("finite_differences", "gaussian_process")
        ]
        assert chosen <= 1.01 * min(np.sqrt(np.mean((other - np.cos(t)) ** 2)) for other in others)


def test_spikes_are_followed_and_quiet_stretches_smoothed():
    """A relaxation spike keeps its height although most of the signal is slow."""
    t = np.linspace(0, 20, 800)
    x = np.tanh((t - 8) / 0.1) + 0.05 * t
    truth = 10 / np.cosh((t - 8) / 0.1) ** 2 + 0.05
    for seed in range(3):
        noisy = x + 0.02 * np.random.default_rng(seed).normal(size=800)
        slopes = estimate_derivatives(Trajectories((make_experiment(t, {"x": noisy}),)))
        plain = estimate_derivatives(
            Trajectories((make_experiment(t, {"x": noisy}),)), GaussianProcess((2, 3, 4), local=False)
        )
        quiet = np.abs(t - 8) > 2
        miss, other = slopes[0]["dx"] - truth, plain[0]["dx"] - truth
        assert float(slopes[0]["dx"].max()) > 8
        assert np.sqrt(np.mean(miss[quiet] ** 2)) < 0.3 * np.sqrt(np.mean(other[quiet] ** 2))


def test_an_estimator_of_ones_own_and_a_name():
    runs = _runs()
    by_name = estimate_derivatives(runs, "finite_differences")
    by_object = estimate_derivatives(runs, FiniteDifferences(order=2))
    assert by_name.methods == by_object.methods
    assert by_object.choices[0].settings == "order 2"


@pytest.mark.parametrize(
    ("method", "message"),
    [("gausian_process", "did you mean 'gaussian_process'"), (3, "name of a derivative estimator")],
)
def test_unknown_methods(method, message):
    with pytest.raises(OptionError, match=message):
        estimate_derivatives(_runs(), method)


@pytest.mark.parametrize(
    "make",
    [
        lambda: FiniteDifferences(order=0),
        lambda: FiniteDifferences(order=99),
        lambda: LocalPolynomial(degree=0),
        lambda: LocalPolynomial(degree=4, window=3),
        lambda: SmoothingSpline(degree=4),
        lambda: SmoothingSpline(criterion="aic"),
        lambda: GaussianProcess(smoothness=()),
        lambda: GaussianProcess(smoothness=(0,)),
        lambda: GaussianProcess(roughness=0.0),
        lambda: TotalVariation(penalty=-1.0),
    ],
)
def test_settings_that_make_no_sense(make):
    with pytest.raises(OptionError):
        make()


def _one(times, values):
    return Trajectories((make_experiment(times, {"x": np.array(values, dtype=float)}, name="day 1"),))


@pytest.mark.parametrize(
    ("times", "values", "message"),
    [
        ([0.0, 1.0], [1, 2], "state 'x' of experiment 'day 1': expected at least 3 samples .* found 2"),
        ([0.0, 1, 2, 3], [1, np.nan, np.nan, 2], "expected at least 3 samples .* found 2"),
        ([0.0, 1, 1, 2], [1, 2, 3, 4], "strictly increasing times"),
        ([0.0, 1, 2, 3], [1, 2, np.inf, 4], "infinite"),
    ],
)
def test_data_that_have_no_derivative(times, values, message):
    with pytest.raises(DataError, match=message):
        estimate_derivatives(_one(times, values))
