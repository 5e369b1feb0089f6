"""The weak form against integrals that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from fepysr_dyn.derivatives import weak_form
from fepysr_dyn.errors import DataError, OptionError
from fepysr_dyn.trajectories import Trajectories, make_experiment


def _runs(times, states, breakpoints=(), name="run"):
    return make_experiment(times, states, name=name, breakpoints=breakpoints)


def _grid(kind, n, rng):
    return np.linspace(0, 4, n) if kind == "regular" else np.sort(rng.uniform(0, 4, n))


@pytest.mark.parametrize("grid", ["regular", "irregular"])
def test_rows_hold_for_the_true_rate(grid):
    t = _grid(grid, 300, np.random.default_rng(0))
    form = weak_form(Trajectories((_runs(t, {"x": np.sin(2 * t)}),)), "x")
    assert len(form.target) > 10
    size = np.abs(form.measurement).sum(axis=1)
    assert np.all(np.abs(form.measurement @ (2 * np.cos(2 * t)) - form.target) < 1e-7 * size)


def test_integral_of_a_constant_is_the_integral_of_the_bump():
    t = np.sort(np.random.default_rng(1).uniform(0, 1, 40))
    form = weak_form(Trajectories((_runs(t, {"x": t}),)), "x", width=40, power=2)
    half = (t[-1] - t[0]) / 2
    # integral of (1 - s**2)**2 over its support
    assert form.measurement.sum() == pytest.approx(16 / 15 * half, rel=1e-10)
    assert form.target[0] == pytest.approx(16 / 15 * half, rel=1e-10)


def test_error_falls_with_a_high_power_of_the_step():
    errors = []
    for n in (40, 80, 160):
        t = np.linspace(0, 4, n)
        form = weak_form(Trajectories((_runs(t, {"x": np.sin(3 * t)}),)), "x", width=n, power=4)
        errors.append(np.abs(form.measurement @ (3 * np.cos(3 * t)) - form.target).max())
    assert np.log2(errors[0] / errors[1]) > 5
    assert np.log2(errors[1] / errors[2]) > 5


def test_no_row_reaches_across_a_breakpoint_or_into_another_experiment():
    rng = np.random.default_rng(2)
    t = np.sort(rng.uniform(0, 10, 200))
    first = _runs(t, {"x": np.abs(t - 3.3)}, breakpoints=[3.3])
    second = _runs(t[:50], {"x": t[:50]}, name="other")
    form = weak_form(Trajectories((first, second)), "x")
    side = np.concatenate([np.where(t < 3.3, 0, 1), np.full(50, 2)])
    for matrix in (form.measurement, form.gain):
        for row in matrix:
            assert len(set(side[row != 0])) == 1
    rate = np.concatenate([np.where(t < 3.3, -1.0, 1.0), np.ones(50)])
    np.testing.assert_allclose(form.measurement @ rate, form.target, atol=1e-10)
    assert set(form.experiment) == {0, 1}
    covered = np.abs(form.measurement).sum(axis=0) > 0
    assert covered.all()


def test_missing_samples_get_no_weight():
    rng = np.random.default_rng(3)
    t = np.linspace(0, 6, 200)
    x, y = np.sin(t), np.cos(t)
    x[rng.choice(200, 30, replace=False)] = np.nan
    y[rng.choice(200, 30, replace=False)] = np.nan
    form = weak_form(Trajectories((_runs(t, {"x": x, "y": y}),)), "x")
    lost = ~(np.isfinite(x) & np.isfinite(y))
    assert np.array_equal(form.complete, ~lost)
    assert not form.measurement[:, lost].any()
    known = form.measurement[:, form.complete] @ y[form.complete]
    assert np.abs(known - form.target).max() < 1e-5


def test_covariance_and_weights_match_repeated_noise():
    t = np.linspace(0, 6, 200)
    rng = np.random.default_rng(4)
    exact = weak_form(Trajectories((_runs(t, {"x": np.sin(t)}),)), "x")
    noisy = [
        weak_form(Trajectories((_runs(t, {"x": np.sin(t) + 0.05 * rng.normal(size=200)}),)), "x")
        for _ in range(500)
    ]
    misses = np.array([form.target for form in noisy]) - exact.target
    found = np.cov(misses.T)
    expected = 0.05**2 * exact.gain @ exact.gain.T
    assert np.abs(found - expected).max() < 0.25 * expected.max()
    assert np.median([form.noise for form in noisy]) == pytest.approx(0.05, rel=0.1)
    spread = np.median([form.weights for form in noisy], axis=0) * misses.var(axis=0)
    assert np.all((spread > 0.6) & (spread < 1.6))


@pytest.mark.parametrize("count", range(3, 13))
def test_a_dozen_points_or_fewer_end_at_once(count):
    t = np.linspace(0, 1, count)
    runs = Trajectories((_runs(t, {"x": t**2}),))
    if count < 8:
        with pytest.raises(DataError, match="needs 8 complete samples"):
            weak_form(runs, "x")
    else:
        form = weak_form(runs, "x")
        np.testing.assert_allclose(form.measurement @ (2 * t), form.target, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state": "X"}, "expected a state out of x, y"),
        ({"width": 3}, "at least 8 samples"),
        ({"overlap": 1.0}, "overlap"),
        ({"power": 1}, "power"),
    ],
)
def test_wrong_options_are_refused(options, message):
    t = np.linspace(0, 1, 50)
    runs = Trajectories((_runs(t, {"x": t, "y": t}),))
    with pytest.raises(OptionError, match=message):
        weak_form(runs, **{"state": "x", **options})
