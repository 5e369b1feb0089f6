"""The benchmark beside PySINDy: its parts, and the bars it is there to show (slow)."""

from __future__ import annotations

import time

import numpy as np
import pytest

from fepysr_dyn.benchmarks import derivatives as bench
from fepysr_dyn.derivatives import make_estimator
from fepysr_dyn.derivatives.base import make_series
from fepysr_dyn.trajectories import Trajectories, make_experiment


def _runs():
    t = np.linspace(0, 6, 120)
    x = np.sin(t) + np.where(t < 3, 0, t - 3)
    rate = np.cos(t) + np.where(t < 3, 0.0, 1.0)
    return Trajectories((make_experiment(t, {"x": x}, rates={"x": rate}, breakpoints=[3.0]),))


def test_peers_are_run_segment_by_segment():
    """On exact data PySINDy's finite differences are good on both sides of the kink too."""
    errors = bench.peer_errors(_runs(), "x", 1e-3, slow=False)
    assert set(errors) == {bench.SMOOTHED, *(bench.label(setting) for setting in bench.peer_grid())}
    assert errors["finite_difference k=2"] < 0.01
    assert all(np.isfinite(error) for error in errors.values())


def test_the_best_setting_per_system_is_best_over_its_states():
    def row(state, a, b):
        return bench.Row("m", state, 0.01, 1.0, 0.95, 10, "auto", {"a": a, "b": b, bench.SMOOTHED: 1e-9})

    assert bench.best_for_system([row("x", 1.0, 3.0), row("y", 5.0, 4.0)]) == "a"


def test_the_cache_survives_and_notices_other_data(tmp_path):
    path = tmp_path / "peers.jsonl"
    runs = _runs()
    assert bench.Cache(path).get(runs, "x", lambda: {"a": 1.0}) == {"a": 1.0}
    assert bench.Cache(path).get(runs, "x", lambda: {"a": 2.0}) == {"a": 1.0}
    other = Trajectories((runs[0].isel(time=slice(0, 100)),))
    assert bench.Cache(path).get(other, "x", lambda: {"a": 2.0}) == {"a": 2.0}


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_auto_is_below_pysindy_on_most_states(noise):
    """A sample of systems of different character; the whole table comes from the benchmark itself."""
    names = ("tyson_two_protein", "van_der_pol", "jak_stat", "lorenz", "toggle_switch", "brusselator")
    won, covered = [], []
    for name in names:
        rows = bench.measure(name, noise, 3, bench.Cache(None))
        best = bench.best_for_system(rows)
        won += [row.error < min(row.peers[best], row.peers[bench.SMOOTHED]) for row in rows]
        covered += [row.covered for row in rows]
    assert np.mean(won) >= 0.9
    assert 0.85 < np.mean(covered) < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("name", bench.LINEAR)
def test_time_grows_in_proportion(name):
    estimator = make_estimator(name)
    rng = np.random.default_rng(0)
    seconds = []
    for n in (50, 10_000, 100_000):
        t = np.arange(n) * 0.05
        series = make_series(t, np.sin(t) + 0.01 * rng.normal(size=n))
        start = time.process_time()
        estimator.estimate(series)
        seconds.append(time.process_time() - start)
    assert seconds[2] < 15 * seconds[1]
