"""What every registered estimator promises: the same checks over all of them."""

from __future__ import annotations

import numpy as np
import pytest

from fepysr_dyn.derivatives import DerivativeEstimator, estimator_names, make_estimator
from fepysr_dyn.derivatives.base import make_series
from fepysr_dyn.derivatives.finite_differences import FiniteDifferences
from fepysr_dyn.derivatives.gaussian_process import GaussianProcess
from fepysr_dyn.derivatives.local_polynomial import LocalPolynomial
from fepysr_dyn.derivatives.smoothing_spline import SmoothingSpline
from fepysr_dyn.derivatives.total_variation import TotalVariation

NAMES = estimator_names()
# Total variation makes piecewise straight signals of everything and differences amplify noise.
SMOOTHERS = [name for name in NAMES if name not in ("finite_differences", "total_variation")]


def _grid(kind, n, rng, stop=10.0):
    if kind == "regular":
        return np.linspace(0, stop, n)
    return np.linspace(0, stop, n) + stop / n * rng.uniform(-0.4, 0.4, n)


def _rmse(miss):
    return float(np.sqrt(np.mean(np.square(miss))))


@pytest.mark.parametrize("name", NAMES)
def test_protocol(name):
    estimator = make_estimator(name)
    assert isinstance(estimator, DerivativeEstimator)
    assert estimator.name == name
    series = make_series(np.linspace(0, 1, 30), np.linspace(0, 1, 30) ** 2)
    before = series.values.copy()
    answer = estimator.estimate(series)
    for part in (answer.values, answer.values_se, answer.rates, answer.rates_se):
        assert part.shape == (30,)
        assert np.all(np.isfinite(part))
    assert np.all(answer.rates_se >= 0)
    assert np.all(answer.values_se >= 0)
    assert answer.method in NAMES
    assert answer.settings
    assert answer.reason
    assert np.array_equal(series.values, before)


ORDERS = [
    (FiniteDifferences(order=1), 1),
    (FiniteDifferences(order=2), 2),
    (FiniteDifferences(order=4), 4),
    (FiniteDifferences(order=6), 6),
    (LocalPolynomial(degree=2, window=5), 2),
    (LocalPolynomial(degree=4, window=9), 4),
    (SmoothingSpline(degree=3), 1),
    (SmoothingSpline(degree=5), 2),
    (SmoothingSpline(degree=7), 3),
    (GaussianProcess(smoothness=(2,)), 2),
    (GaussianProcess(smoothness=(3,)), 3),
]


@pytest.mark.parametrize("grid", ["regular", "irregular"])
@pytest.mark.parametrize(("estimator", "order"), ORDERS, ids=lambda value: str(value)[:40])
def test_order_of_convergence(estimator, order, grid):
    """The largest error, ends included, falls as a power of the step."""
    sizes = (41, 81, 161)
    errors = []
    for n in sizes:
        t = _grid(grid, n, np.random.default_rng(5), stop=4.0)
        answer = estimator.estimate(make_series(t, np.sin(2 * t)))
        errors.append(np.abs(answer.rates - 2 * np.cos(2 * t)).max())
    measured = np.log(errors[0] / errors[-1]) / np.log((sizes[-1] - 1) / (sizes[0] - 1))
    assert measured > order - 0.4, errors


@pytest.mark.parametrize("grid", ["regular", "irregular"])
@pytest.mark.parametrize("name", ["auto", "finite_differences"])
def test_exact_data_give_derivatives_to_rounding(name, grid):
    t = _grid(grid, 400, np.random.default_rng(6))
    answer = make_estimator(name).estimate(make_series(t, np.exp(-t / 3) * np.sin(t)))
    truth = np.exp(-t / 3) * (np.cos(t) - np.sin(t) / 3)
    assert np.abs(answer.rates - truth).max() < 1e-10


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("name", NAMES)
def test_a_jump_of_the_derivative_stays_sharp(name, noise):
    """At a declared breakpoint the derivative jumps from one sample to the next, on both sides right."""
    t = np.linspace(0, 10, 401)
    left, right = t < 4, t >= 4
    x = np.where(left, 0.5 * t, 2 - 1.5 * (t - 4))
    truth = np.where(left, 0.5, -1.5)
    x = x + noise * np.random.default_rng(7).normal(size=len(t))
    answer = make_estimator(name).estimate(make_series(t, x, breakpoints=[4.0]))
    edge = [int(np.flatnonzero(left)[-1]), int(np.flatnonzero(right)[0])]
    if noise == 0:
        assert np.abs(answer.rates - truth).max() < 1e-6
    elif name == "finite_differences":
        assert np.all(np.abs(answer.rates - truth)[edge] < 4 * answer.rates_se[edge])
    else:
        assert np.abs(answer.rates - truth)[edge].max() < 0.2
        assert _rmse(answer.rates - truth) < 0.05


@pytest.mark.parametrize("name", ["finite_differences", "local_polynomial", "total_variation"])
def test_one_segment_says_nothing_about_another(name):
    """With settings fixed, data beyond a breakpoint do not change an answer at all."""
    fixed = {
        "finite_differences": FiniteDifferences(order=4, noise=0.01),
        "local_polynomial": LocalPolynomial(degree=2, window=9),
        "total_variation": TotalVariation(penalty=1e4, noise=0.01),
    }[name]
    rng = np.random.default_rng(8)
    t = np.linspace(0, 10, 200)
    x = np.sin(t) + 0.01 * rng.normal(size=200)
    changed = np.where(t < 5, x, 3 * x + 7)
    first = fixed.estimate(make_series(t, x, breakpoints=[5.0]))
    second = fixed.estimate(make_series(t, changed, breakpoints=[5.0]))
    near = t < 5
    np.testing.assert_allclose(first.rates[near], second.rates[near], atol=1e-12)


@pytest.mark.parametrize("name", ["auto", "gaussian_process", "smoothing_spline"])
def test_a_jump_of_the_state_itself_is_seen(name):
    """Continuity across a breakpoint is only used where the data agree with it."""
    t = np.linspace(0, 10, 300)
    x = np.sin(t) + np.where(t < 5, 0.0, 2.0) + 0.02 * np.random.default_rng(9).normal(size=300)
    answer = make_estimator(name).estimate(make_series(t, x, breakpoints=[5.0]))
    assert _rmse(answer.rates - np.cos(t)) < 0.06
    assert np.abs(answer.rates - np.cos(t)).max() < 0.25


@pytest.mark.parametrize("name", NAMES)
def test_missing_samples(name):
    """Every time stamp gets an answer; a third of the samples missing costs little."""
    rng = np.random.default_rng(10)
    t = _grid("irregular", 300, rng)
    x = np.sin(t)
    x[rng.choice(300, 100, replace=False)] = np.nan
    x[[0, 299]] = np.nan
    answer = make_estimator(name).estimate(make_series(t, x, breakpoints=[3.0]))
    assert np.all(np.isfinite(answer.rates))
    assert np.all(np.isfinite(answer.rates_se))
    assert np.abs(answer.values - np.sin(t)).max() < 0.02
    assert np.abs(answer.rates - np.cos(t)).max() < (0.3 if name == "total_variation" else 0.01)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 7, 8, 9, 12])
def test_short_series(name, count):
    t = np.linspace(0, 1, count)
    answer = make_estimator(name).estimate(make_series(t, 1 + 2 * t))
    np.testing.assert_allclose(answer.rates, 2.0, atol=1e-6)
    noisy = make_estimator(name).estimate(
        make_series(t, np.sin(t) + 0.01 * np.random.default_rng(count).normal(size=count))
    )
    assert np.all(np.isfinite(noisy.rates))
    assert np.all(np.isfinite(noisy.rates_se))


@pytest.mark.parametrize("name", NAMES)
def test_a_lone_sample_between_breakpoints_has_no_derivative(name):
    t = np.linspace(0, 1, 21)
    answer = make_estimator(name).estimate(make_series(t, t**2, breakpoints=[0.48, 0.52]))
    assert np.isnan(answer.rates[10])
    assert np.isnan(answer.rates_se[10])
    assert answer.values[10] == pytest.approx(0.25)
    assert np.isfinite(np.delete(answer.rates, 10)).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_state_does_not_move(name):
    answer = make_estimator(name).estimate(make_series(np.linspace(0, 5, 60), np.full(60, 3.0)))
    np.testing.assert_allclose(answer.rates, 0.0, atol=1e-12)
    np.testing.assert_allclose(answer.values, 3.0)
    assert np.all(np.isfinite(answer.rates_se))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_units_do_not_matter(name, noise):
    """Seconds or years, grams or tons: the answer is the same in other units."""
    rng = np.random.default_rng(11)
    t = _grid("irregular", 150, rng)
    x = np.sin(t) + noise * rng.normal(size=150)
    estimator = make_estimator(name)
    plain = estimator.estimate(make_series(t, x, breakpoints=[6.0]))
    for time_unit, unit, offset in ((1e-6, 1e3, 0.0), (3e7, 2e-8, 0.0), (1.0, 1.0, 5.0)):
        other = estimator.estimate(
            make_series(t * time_unit, x * unit + offset * unit, breakpoints=[6.0 * time_unit])
        )
        per_time = unit / time_unit
        scale = 1e-9 if noise == 0 and name in ("auto", "finite_differences") else 2e-3
        np.testing.assert_allclose(other.rates / per_time, plain.rates, atol=scale, rtol=1e-3)
        if noise:
            np.testing.assert_allclose(other.rates_se / per_time, plain.rates_se, rtol=0.05, atol=1e-4)


def _coverage(name, signal, slope, grid, seed, noise=0.05, n=400):
    rng = np.random.default_rng(seed)
    t = _grid(grid, n, rng)
    answer = make_estimator(name).estimate(make_series(t, signal(t) + noise * rng.normal(size=n)))
    return np.abs(answer.rates - slope(t)) <= 1.96 * answer.rates_se


@pytest.mark.parametrize("grid", ["regular", "irregular"])
@pytest.mark.parametrize("name", [*SMOOTHERS, "finite_differences"])
def test_standard_errors_are_calibrated(name, grid):
    """95 % intervals cover the true derivative of smooth signals about as often as they say."""
    covered = [_coverage(name, np.sin, np.cos, grid, seed) for seed in range(6)]
    covered += [
        _coverage(name, lambda t: np.sin(t**2 / 8), lambda t: t / 4 * np.cos(t**2 / 8), grid, seed)
        for seed in range(6)
    ]
    assert 0.88 < np.mean(covered) <= 0.999


def test_standard_errors_of_total_variation_on_kinked_signals():
    def zigzag(t):
        return np.abs(t % 4 - 2)

    covered = [
        _coverage("total_variation", zigzag, lambda t: np.where(t % 4 < 2, -1.0, 1.0), grid, seed)
        for grid in ("regular", "irregular")
        for seed in range(3)
    ]
    assert np.mean(covered) > 0.9


def test_total_variation_finds_kinks_that_nobody_declared():
    t = np.linspace(0, 10, 400)
    truth = np.where(t % 4 < 2, -1.0, 1.0)
    for seed in range(3):
        noise = 0.05 * np.random.default_rng(seed).normal(size=400)
        series = make_series(t, np.abs(t % 4 - 2) + noise)
        kinked, smooth = TotalVariation().estimate(series), SmoothingSpline().estimate(series)
        away = np.abs(t % 2 - 1) < 0.9
        assert _rmse((kinked.rates - truth)[away]) < 0.5 * _rmse((smooth.rates - truth)[away])


@pytest.mark.parametrize("name", SMOOTHERS)
def test_smoothers_beat_differences_by_far(name):
    rng = np.random.default_rng(12)
    t = _grid("irregular", 500, rng)
    series = make_series(t, np.sin(t) + 0.05 * rng.normal(size=500))
    smooth = make_estimator(name).estimate(series)
    raw = FiniteDifferences(order=2).estimate(series)
    assert _rmse(smooth.rates - np.cos(t)) < 0.05 * _rmse(raw.rates - np.cos(t))
    assert _rmse(smooth.values - np.sin(t)) < 0.02
