"""The benchmark beside PySINDy: its parts, and the bars it is there to show (slow)."""

from __future__ import annotations

import numpy as np
import pytest

from fepysr_dyn.benchmarks.derivatives import LINEAR, derivative_unit, measure, seconds_of
from fepysr_dyn.benchmarks.peers import SMOOTHED, label, peer_errors, peer_grid
from fepysr_dyn.benchmarks.suites.derivatives import SUITE, best_for_system
from fepysr_dyn.benchmarks.units import Unit
from fepysr_dyn.trajectories import Trajectories, make_experiment


def _runs():
    t = np.linspace(0, 6, 120)
    x = np.sin(t) + np.where(t < 3, 0, t - 3)
    rate = np.cos(t) + np.where(t < 3, 0.0, 1.0)
    return Trajectories((make_experiment(t, {"x": x}, rates={"x": rate}, breakpoints=[3.0]),))


def test_peers_are_run_segment_by_segment():
    """On exact data PySINDy's finite differences are good on both sides of the kink too."""
    errors = peer_errors(_runs(), "x", 1e-3)
    assert set(errors) == {SMOOTHED, *(label(setting) for setting in peer_grid())}
    assert errors["finite_difference k=2"] < 0.01
    assert all(np.isfinite(error) for error in errors.values())


def row(state, error, **peers):
    common = {"covered": 0.95, "samples": 10, "method": "auto"}
    return {"state": state, "error": error, **common, "peers": {**peers, SMOOTHED: 2.0}}


def test_the_best_setting_per_system_is_best_over_its_states():
    assert best_for_system([row("x", 1.0, a=1.0, b=3.0), row("y", 1.0, a=5.0, b=4.0)]) == "a"


def test_tables_of_noisy_and_exact_data_and_of_speed():
    noisy = {"problem": "m", "seed": 0, "noise": 0.01}
    noisy["rows"] = [row("x", 0.5, a=1.0, b=0.4), row("y", 3.0, a=5.0, b=4.0)]
    largest = [{"state": "x", "largest": 1e-13, "relative": 1e-12, "method": "fd"}]
    exact = {"problem": "m", "seed": 0, "noise": 0.0, "rows": largest}
    speed = [
        {"problem": "smoothing_spline", "seed": 0, "samples": size, "seconds": seconds}
        for size, seconds in ((10_000, 0.1), (1_000_000, 12.0))
    ]
    shares, states, exact_table, speed_table = SUITE.tables([noisy, exact, *speed])
    # Setting b has the smaller geometric mean: ours is above it on x and below it on y.
    assert [line[1:3] for line in shares.rows] == [
        (SMOOTHED, 1),
        ("best setting per system", 1),
        ("best setting per state", 1),
    ]
    assert len(states.rows) == 2
    assert exact_table.rows[0][:3] == ("m", "x", 1e-13)
    assert speed_table.rows[0][-1] == pytest.approx(1.2)


def test_real_units_of_every_kind():
    exact = derivative_unit(Unit("derivatives", "tyson_two_protein", 0, {"noise": 0.0}))
    assert max(entry["largest"] for entry in exact["rows"]) < 1e-9
    assert derivative_unit(Unit("derivatives", "smoothing_spline", 0, {"samples": 1000}))["seconds"] > 0
    noisy = measure("michaelis_menten", 0.05, 3, peers=lambda runs, state, size: {"a": size})
    assert all(entry["error"] > 0 and entry["peers"]["a"] > 0 for entry in noisy)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.05])
def test_auto_is_below_pysindy_on_most_states(noise):
    """A sample of systems of different character; the whole table comes from the benchmark itself."""
    names = ("tyson_two_protein", "van_der_pol", "jak_stat", "lorenz", "toggle_switch", "brusselator")
    won, covered = [], []
    for name in names:
        rows = measure(name, noise, 3)
        best = best_for_system(rows)
        won += [entry["error"] < min(entry["peers"][best], entry["peers"][SMOOTHED]) for entry in rows]
        covered += [entry["covered"] for entry in rows]
    assert np.mean(won) >= 0.9
    assert 0.85 < np.mean(covered) < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("name", LINEAR)
def test_time_grows_in_proportion(name):
    assert seconds_of(name, 100_000) < 15 * seconds_of(name, 10_000)
