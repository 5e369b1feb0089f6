"""Neurons, chemical oscillators and chaos do what their literature says: periods, bifurcations, exponents."""

from __future__ import annotations

import numpy as np
import pytest
from measuring import last, lyapunov_exponent, period, protocol, run, swing
from scipy.special import ellipk

from fepysr_dyn.stimulus import Sine
from fepysr_dyn.system import OdeSystem


def test_fitzhugh_nagumo(system: OdeSystem) -> None:
    data = run(system, 400, 50, I=0.0)
    assert last(data, "v") == pytest.approx(-1.1994, abs=1e-3)  # published rest (FitzHugh 1961)
    assert last(data, "w") == pytest.approx(-0.6243, abs=1e-3)
    spikes = run(system, 400, 4000, I=0.5)
    assert period(spikes, "v") == pytest.approx(39.5, rel=0.01)
    assert swing(spikes, "v") > 3.5
    # Hopf bifurcations where 1 - v**2 = b/tau: I = 0.3313 and 1.4187.
    p = system.parameters
    v = np.array([-1, 1]) * np.sqrt(1 - p["b"] / p["tau"])
    assert np.allclose((v + p["a"]) / p["b"] - v + v**3 / 3, (0.3313, 1.4187), atol=1e-4)
    for silent in (0.3, 1.6):
        assert swing(run(system, 1500, 1500, I=silent), "v", skip=0.9) < 0.05
    # In 1961 the constant c = 3 made tau = 9 and the unit of time three times longer: BIOMD0000000346 in
    # libRoadRunner has the period 11.2279.
    original = run(system.with_parameters(tau=9.0), 400, 4000, I=0.4)
    assert period(original, "v") == pytest.approx(3 * 11.2279, rel=1e-3)


def test_morris_lecar(system: OdeSystem) -> None:
    # Published for this regime: repetitive firing from about 94 to 212 µA/cm².
    for current, fires in ((60.0, False), (100.0, True), (200.0, True), (225.0, False)):
        amplitude = swing(run(system, 1500, 3000, {"V": 20.0, "w": 0.4}, I=current), "V", skip=0.8)
        assert (amplitude > 40) is fires
    assert last(run(system, 1500, 50, I=0.0), "V") == pytest.approx(-60.9, abs=0.2)


def test_brusselator(system: OdeSystem) -> None:
    a, b = system.parameters["A"], system.parameters["B"]
    assert period(run(system, 100, 20_000), "x") == pytest.approx(7.15691986, rel=1e-5)  # Hairer et al.
    rest = {"x": a, "y": b / a}
    assert swing(run(system, 15, 100, rest), "x") < 1e-4
    assert last(run(system.with_parameters(B=1.5), 200, 100), "y") == pytest.approx(1.5, rel=1e-4)


def test_oregonator(system: OdeSystem) -> None:
    assert period(run(system, 50, 10_000), "z") == pytest.approx(6.21, rel=0.01)
    # The constants of Field and Noyes give a period of 302.858 in their unit of time, the one of the test
    # problem OREGO of Hairer and Wanner.
    s, w, q = 77.27, 0.161, 8.375e-6
    classical = system.with_parameters(eps=w / s, delta=s * q * w, q=q)
    assert period(run(classical, 300, 30_000), "z", skip=0.2) / w == pytest.approx(302.858, rel=1e-4)


def test_van_der_pol(system: OdeSystem) -> None:
    # Periods: Andersen and Geer, SIAM J Appl Math 42:678 (1982), and later tables.
    assert period(run(system, 100, 20_000), "x") == pytest.approx(7.6298744780, rel=1e-5)
    assert np.abs(run(system, 100, 5000)["x"].values[2500:]).max() == pytest.approx(2.0199, abs=1e-3)
    weak = system.with_parameters(mu=0.05)  # almost a circle of radius two
    assert np.abs(run(weak, 300, 5000)["x"].values[4000:]).max() == pytest.approx(2.0, abs=1e-3)
    for mu, exact in ((3.0, 8.85910), (5.0, 11.61223)):
        assert period(run(system.with_parameters(mu=mu), 150, 20_000), "x") == pytest.approx(exact, rel=1e-4)


def test_lorenz(system: OdeSystem) -> None:
    p = system.parameters
    focus = np.sqrt(p["beta"] * (p["rho"] - 1))
    rest = {"x": focus, "y": focus, "z": p["rho"] - 1}
    assert swing(run(system, 5, 100, rest), "x") < 1e-6
    # Sprott, Chaos and Time-Series Analysis (2003)
    assert lyapunov_exponent(system, step=0.01, warm=15, span=60) == pytest.approx(0.9056, rel=0.03)
    data = run(system, 60, 6000)
    for name, bound in (("x", 22), ("y", 30), ("z", 55)):
        assert np.abs(data[name].values).max() < bound
    assert data["x"].values.min() < -10 and data["x"].values.max() > 10
    still = system.with_parameters(rho=0.5)
    assert abs(last(run(still, 60, 50), "x")) < 1e-5


def test_rossler(system: OdeSystem) -> None:
    data = run(system, 300, 6000)
    x = data["x"].values[2000:]
    assert -10 < x.min() < -8 and 10 < x.max() < 12.5
    assert 18 < data["z"].values[2000:].max() < 24
    turns = np.sum((x[:-1] < 0) & (x[1:] >= 0))
    assert 200 / turns == pytest.approx(5.86, rel=0.04)
    # Sprott, Chaos and Time-Series Analysis (2003); a cycle has the exponent zero.
    assert lyapunov_exponent(system, step=0.05, warm=150, span=300) == pytest.approx(0.0714, abs=0.003)
    cycle = system.with_parameters(c=2.5)
    assert abs(lyapunov_exponent(cycle, step=0.05, warm=150, span=150)) < 0.003
    assert period(run(cycle, 400, 8000), "x") == pytest.approx(5.76, rel=0.02)


def test_duffing(system: OdeSystem) -> None:
    turn = 2 * np.pi / 1.2
    drive = lambda amplitude: Sine(amplitude, turn, phase=np.pi / 2)  # noqa: E731
    settled = run(system, 80 * turn, 80, F=drive(0.2))["x"].values[60:]
    assert np.ptp(settled) < 1e-4  # the period of the force
    doubled = run(system, 160 * turn, 160, F=drive(0.28))["x"].values[130:]
    assert np.ptp(doubled[::2]) < 1e-2 and abs(doubled[0] - doubled[1]) > 0.05
    chaotic = run(system, 80 * turn, 80, F=drive(0.5))["x"].values[20:]
    assert np.ptp(chaotic) > 1.0 and np.abs(chaotic).max() < 2
    for start, well in ((0.5, 1.0), (-0.5, -1.0)):
        assert last(run(system, 100, 50, {"x": start, "y": 0.0}, F=0.0), "x") == pytest.approx(well, abs=1e-4)


def test_pendulum(system: OdeSystem) -> None:
    g, length = system.parameters["g"], system.parameters["length"]
    free = system.with_parameters(damping=0.0)
    for angle in (0.1, 1.0, 2.8):
        exact = 4 * np.sqrt(length / g) * ellipk(np.sin(angle / 2) ** 2)
        data = run(free, 10 * exact, 20_000, {"theta": angle, "omega": 0.0})
        assert period(data, "theta", skip=0.0) == pytest.approx(exact, rel=1e-4)
    data = run(system, 20, 2000)
    energy = data["omega"].values ** 2 / 2 - g / length * np.cos(data["theta"].values)
    assert np.all(np.diff(energy) < 1e-9)
    assert protocol(system)[1]["theta"].values.max() > 2 * np.pi  # over the top
