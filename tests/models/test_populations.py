"""Epidemics, predators and bacteria do what their literature says."""

from __future__ import annotations

import numpy as np
import pytest
from measuring import last, period, protocol, run, swing

from fepysr_dyn.system import OdeSystem


def test_sir(system: OdeSystem) -> None:
    for data in protocol(system):
        assert float(np.ptp((data["S"] + data["I"] + data["R"]).values)) < 1e-5
    data = run(system, 60, 6000)
    rho = system.parameters["a"] / system.parameters["r"]
    invariant = data["I"].values + data["S"].values - rho * np.log(data["S"].values)
    assert np.ptp(invariant) < 1e-4
    largest = 763 - rho + rho * np.log(rho / 762)
    assert data["I"].values.max() == pytest.approx(largest, rel=1e-4)
    assert 6 < data["time"].values[np.argmax(data["I"].values)] < 7  # the observed peak was on day 6
    assert rho == pytest.approx(202, rel=0.002)


def test_seir(system: OdeSystem) -> None:
    for data in protocol(system):
        assert float(np.ptp(sum(data[n] for n in "SEIR").values)) < 1e-7
    p = system.parameters
    number = p["beta"] / p["gamma"]
    assert number == pytest.approx(1.51, abs=0.01)  # published
    start = {"S": 1 - 1e-5, "E": 0.0, "I": 1e-5, "R": 0.0}
    final = last(run(system, 3000, 100, start, c=1.0), "S")
    assert np.log(final) == pytest.approx(number * (final - 1), rel=1e-3)  # final size relation
    assert last(run(system, 1000, 100, start, c=0.6), "R") < 1e-3  # control below the threshold


def test_lotka_volterra(system: OdeSystem) -> None:
    p = system.parameters
    for data in protocol(system):
        x, y = data["x"].values, data["y"].values
        potential = p["delta"] * x - p["gamma"] * np.log(x) + p["beta"] * y - p["alpha"] * np.log(y)
        assert np.ptp(potential) < 1e-5
    near = {"x": p["gamma"] / p["delta"] * 1.001, "y": p["alpha"] / p["beta"]}
    small = period(run(system, 80, 4000, near), "x")
    assert small == pytest.approx(2 * np.pi / np.sqrt(p["alpha"] * p["gamma"]), rel=1e-3)
    assert 9.5 < period(run(system, 80, 4000), "x") < 11  # the ten years of hare and lynx


def test_rosenzweig_macarthur(system: OdeSystem) -> None:
    p = system.parameters
    gain = p["e"] * p["c"]
    threshold = p["H"] * (gain + p["m"]) / (gain - p["m"])
    assert swing(run(system, 1000, 2000), "N") > 1.0
    stable = system.with_parameters(K=0.9 * threshold)
    rest = p["m"] * p["H"] / (gain - p["m"])
    assert last(run(stable, 1500, 100), "N") == pytest.approx(rest, rel=1e-3)


def test_chemostat(system: OdeSystem) -> None:
    p = system.parameters
    for dilution in (0.2, 0.6, 0.8):
        data = run(system, 400, 50, D=dilution)
        substrate = p["Ks"] * dilution / (p["mu_max"] - dilution)
        assert last(data, "S") == pytest.approx(substrate, rel=1e-5)
        assert last(data, "X") == pytest.approx(p["Y"] * (p["S_in"] - substrate), rel=1e-6)
    washed = run(system, 400, 50, D=0.86)
    assert last(washed, "X") < 0.02 and last(washed, "S") == pytest.approx(p["S_in"], rel=0.02)
