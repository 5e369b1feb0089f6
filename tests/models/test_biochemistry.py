"""Enzymes, genes and signalling motifs do what their literature says: totals, switches, periods."""

from __future__ import annotations

import numpy as np
import pytest
from measuring import last, period, protocol, run, swing

from fepysr_dyn.stimulus import Steps
from fepysr_dyn.system import OdeSystem


def goldbeter_koshland_function(u: float, v: float, j: float, k: float) -> float:
    b = v - u + v * j + u * k
    return float(2 * u * k / (b + np.sqrt(b**2 - 4 * (v - u) * u * k)))


def test_tyson_two_protein(system: OdeSystem) -> None:
    (data,) = protocol(system)
    assert data.attrs["breakpoints"] == [20.0, 40.0]
    assert data.sizes["time"] == 3000
    p = system.parameters
    for index, stimulus in ((999, 0.05), (1999, 0.5), (2999, 0.25)):
        x1, x2 = data["X1"].values[index], data["X2"].values[index]
        # At rest each fraction is the logistic function of its net activation.
        activation = stimulus + p["a10"] - p["b10"] - p["b12"] * x2
        assert x1 == pytest.approx(1 / (1 + np.exp(-activation)), abs=2e-4)
        assert x2 == pytest.approx(1 / (1 + np.exp(-(p["a20"] + p["a21"] * x1))), abs=2e-4)


def test_michaelis_menten(system: OdeSystem) -> None:
    p = system.parameters
    for influx in (0.2, 0.6, 1.2):
        rest = influx * p["Km"] / (p["Vmax"] - influx)
        assert last(run(system, 80, 50, j=influx), "S") == pytest.approx(rest, rel=1e-4)
    # More than Vmax cannot be removed.
    data = run(system, 200, 50, j=2.0)
    assert np.gradient(data["S"].values, data["time"].values)[-1] == pytest.approx(0.5, rel=0.02)


def test_enzyme_mass_action(system: OdeSystem) -> None:
    for data in protocol(system):
        total = data["S"] + data["ES"] + data["P"]
        assert float(np.ptp(total.values)) < 1e-7
    data = run(system, 100, 1000)
    assert last(data, "P") == pytest.approx(1.0, abs=1e-6)
    # Little enzyme: the rate is the one of Michaelis and Menten.
    p = dict(system.parameters, E0=1e-3)
    data = run(system.with_parameters(E0=1e-3), 5, 500)
    km = (p["kr"] + p["kcat"]) / p["kf"]
    s = data["S"].values[250]
    assert p["kcat"] * data["ES"].values[250] == pytest.approx(p["kcat"] * p["E0"] * s / (km + s), rel=1e-3)


def test_goldbeter_koshland(system: OdeSystem) -> None:
    p = system.parameters
    for v1 in (0.5, 0.95, 1.05, 2.0):
        rest = goldbeter_koshland_function(v1, p["V2"], p["K1"], p["K2"])
        assert last(run(system, 400, 50, V1=v1), "W") == pytest.approx(rest, rel=1e-5)
    # Ultrasensitive: 20 % around the switch point carry most of the answer.
    low, high = (goldbeter_koshland_function(v, 1.0, 0.05, 0.05) for v in (0.9, 1.1))
    assert high - low > 0.4


def test_toggle_switch(system: OdeSystem) -> None:
    lacI, other = {"u": 150.0, "v": 0.1}, {"u": 1.0, "v": 15.0}
    assert last(run(system, 60, 50, lacI, IPTG=0.0), "u") > 150
    assert last(run(system, 60, 50, other, IPTG=0.0), "u") < 1
    # Published: bistable without inducer, only the high state of v above about 40 µM.
    assert last(run(system, 60, 50, lacI, IPTG=10.0), "u") > 100
    assert last(run(system, 60, 50, lacI, IPTG=45.0), "v") > 14
    strong, weak, _ = protocol(system)
    assert last(strong, "v") > 11 and last(strong, "IPTG") == 0.0
    assert last(weak, "u") > 100


def test_repressilator(system: OdeSystem) -> None:
    data = run(system, 800, 8000)
    minutes = period(data, "p1") * 2 / np.log(2)
    assert 120 <= minutes <= 200  # Elowitz and Leibler observed 160 ± 40
    assert minutes == pytest.approx(125.35, rel=0.002)  # BIOMD0000000012 in libRoadRunner
    peaks = [data["time"].values[4000 + np.argmax(data[p].values[4000:4400])] for p in ("p1", "p2", "p3")]
    third = period(data, "p1") / 3
    shift = (peaks[1] - peaks[0]) % (3 * third)
    assert min(abs(shift - third), abs(shift - 2 * third)) < 0.05 * third


def test_goodwin(system: OdeSystem) -> None:
    hopf = 2 * np.pi / (np.sqrt(3) * system.parameters["k2"])
    assert period(run(system, 1500, 6000), "Z") == pytest.approx(hopf, rel=0.12)
    # Griffith: with equal decay rates no oscillation below an exponent of 8.
    assert swing(run(system.with_parameters(n=7), 3000, 3000), "Z", skip=0.9) < 0.01


def test_goldbeter_mitotic(system: OdeSystem) -> None:
    data = run(system, 250, 5000)
    assert period(data, "C") == pytest.approx(25, rel=0.02)  # published, minutes
    assert period(data, "C") == pytest.approx(25.174, rel=1e-3)  # BIOMD0000000003 in libRoadRunner
    for fraction in ("M", "X"):
        assert data[fraction].values.min() >= 0 and data[fraction].values.max() <= 1
    # Cyclin rises until it passes the threshold of the kinase, Kc*V2/(VM1 - V2) = 0.5.
    assert data["C"].values[2500:].max() == pytest.approx(0.58, abs=0.02)


def test_tyson_cell_cycle(system: OdeSystem) -> None:
    for data in protocol(system):
        total = sum(data[name].values for name in ("C2", "CP", "pM", "M"))
        assert np.allclose(total, total[0], atol=1e-7)
    minutes = period(run(system, 300, 6000), "M")
    assert minutes == pytest.approx(35, rel=0.03)  # published
    # BIOMD0000000005 in libRoadRunner, with k8 = 1e6 and k9 = 1e3: our slower exchange does not matter.
    assert minutes == pytest.approx(35.60, rel=0.01)
    # The two other published modes: arrest with high activity, and an excitable state of low activity. Both
    # rest where MPF is broken up as fast as cyclin is made, M = k1/k6.
    for k6, activity in ((0.1, 0.15), (2.0, 0.0075)):
        data = run(system.with_parameters(k6=k6), 1200, 1200)
        assert swing(data, "M", skip=0.9) < 1e-3 * activity
        assert last(data, "M") == pytest.approx(activity, rel=1e-3)


def test_selkov(system: OdeSystem) -> None:
    a, b = system.parameters["a"], system.parameters["b"]
    rest = {"x": b, "y": b / (a + b**2)}
    assert swing(run(system, 50, 500, rest), "x") < 1e-6
    assert swing(run(system, 300, 3000, {"x": b + 0.01, "y": rest["y"]}), "x") > 1.0
    b = 0.9  # beyond the second bifurcation the steady state is stable
    assert last(run(system.with_parameters(b=b), 400, 400), "x") == pytest.approx(b, rel=1e-4)


def test_yeast_glycolysis(system: OdeSystem) -> None:
    data = run(system, 20, 4000)
    # Daniels and Nemenman (2015) draw initial states from these ranges: the cycle starts at their lower ends
    # and stays below their upper ones.
    published = {"S1": (0.15, 1.60), "S2": (0.19, 2.16), "S3": (0.04, 0.20), "S4": (0.10, 0.35)}
    published |= {"S5": (0.08, 0.30), "S6": (0.14, 2.67), "S7": (0.05, 0.10)}
    for name, (low, high) in published.items():
        values = data[name].values[2000:]
        assert values.min() == pytest.approx(low, abs=0.012)
        assert values.max() <= high + 0.01
    assert period(data, "S6") == pytest.approx(1.17, rel=0.02)


def test_competence(system: OdeSystem) -> None:
    rest = {"K": 0.0348202, "S": 4.711696}
    assert last(run(system, 400, 50, rest), "K") == pytest.approx(rest["K"], rel=1e-4)
    small = run(system, 300, 3000, {"K": 0.06, "S": rest["S"]})
    large = run(system, 300, 3000, {"K": 0.10, "S": rest["S"]})
    # Excitable: a small push decays at once, a larger one first grows, and both return to rest.
    assert small["K"].values.max() == pytest.approx(0.06, rel=1e-6)
    assert large["K"].values.max() > 0.13 and large["S"].values.min() < 4.0
    assert last(large, "K") == pytest.approx(rest["K"], rel=0.01)


def test_mapk_cascade(system: OdeSystem) -> None:
    data = run(system, 15_000, 3000)
    minutes = period(data, "MAPK_PP") / 60
    assert minutes == pytest.approx(20, rel=0.1)  # published: about 20
    assert minutes == pytest.approx(21.663, rel=1e-3)  # BIOMD0000000010 in libRoadRunner
    assert swing(data, "MAPK_PP") > 200
    p = system.parameters
    assert data["MKKK_P"].values.max() < p["MKKK_total"]
    assert (data["MAPK_P"] + data["MAPK_PP"]).values.max() < p["MAPK_total"]
    # Without the feedback the cascade switches on and stays on.
    assert swing(run(system.with_parameters(KI=1e9), 15_000, 1000), "MAPK_PP") < 1e-3


def test_jak_stat(system: OdeSystem) -> None:
    for data in protocol(system):
        total = data["x1"] + data["x2"] + 2 * (data["x3"] + data["n1"] + data["n2"] + data["n3"])
        assert float(np.ptp(total.values)) < 1e-7
    # The nuclear chain delays a decaying dimer pool by tau on average.
    data = run(system, 400, 8000, {"x1": 0.0, "x3": 0.1}, pEpoR=0.0)
    exported = data["n3"].values / data["n3"].values.sum()
    mean = float((data["time"].values * exported).sum())
    assert mean == pytest.approx(1 / system.parameters["k3"] + system.parameters["tau"], rel=0.01)
    assert last(data, "x1") == pytest.approx(0.2, rel=1e-4)


def test_feed_forward_loop(system: OdeSystem) -> None:
    p = system.parameters
    data = run(system, 30, 3000, X=Steps((0.0, 5.0), (0.0, 2.0)))
    on = lambda x, k: x ** p["n"] / (k ** p["n"] + x ** p["n"])  # noqa: E731
    y = on(2.0, p["Kxy"])
    z = p["beta_z"] * on(2.0, p["Kxz"]) / (1 + (y / p["Kyz"]) ** p["n"])
    assert last(data, "Y") == pytest.approx(y, rel=1e-4)
    assert last(data, "Z") == pytest.approx(z, rel=1e-4)
    assert data["Z"].values.max() > 2.5 * z  # a pulse


def test_perfect_adaptation(system: OdeSystem) -> None:
    p = system.parameters
    level = p["k1"] * p["k4"] / (p["k2"] * p["k3"])
    for signal in (0.5, 1.0, 4.0):
        assert last(run(system, 60, 50, S=signal), "R") == pytest.approx(level, rel=1e-6)
    data = run(system, 40, 2000, S=Steps((0.0, 20.0), (1.0, 3.0)))
    assert data["R"].values[1000:].max() > 1.3 * level
    assert last(data, "R") == pytest.approx(level, rel=1e-5)


def test_mutual_activation(system: OdeSystem) -> None:
    for signal in (0.0, 5.0, 9.0):
        low, high = (last(run(system, 200, 50, {"R": r}, S=signal), "R") for r in (0.0, 0.8))
        assert high - low > 0.3
    # Published: the threshold is a signal of about 10, and there is no way back.
    assert last(run(system, 400, 50, {"R": 0.0}, S=9.5), "R") < 0.15
    assert last(run(system, 400, 50, {"R": 0.0}, S=11.0), "R") > 0.45
    assert last(protocol(system)[0], "R") > 0.35


def test_mutual_inhibition(system: OdeSystem) -> None:
    # Folds of the curve of steady states: 0.8526 and 1.7005.
    for signal in (0.87, 1.3, 1.68):
        low, high = (last(run(system, 400, 50, {"R": r}, S=signal), "R") for r in (0.01, 1.0))
        assert low < 0.17 and high > 0.28
    for signal, expected in ((0.8, False), (1.8, True)):
        ends = [last(run(system, 400, 50, {"R": r}, S=signal), "R") for r in (0.01, 1.0)]
        assert ends[0] == pytest.approx(ends[1], rel=1e-3)
        assert (ends[0] > 0.5) is expected


def test_homeostasis(system: OdeSystem) -> None:
    p = system.parameters
    for demand, deviation in ((0.2, 0.1), (0.5, 0.03), (1.0, 0.03), (1.5, 0.03), (1.8, 0.1)):
        assert last(run(system, 60, 50, S=demand), "R") == pytest.approx(p["k3"] / p["k4"], rel=deviation)
    # At the rest the production by the enzyme balances the demand.
    level = last(run(system, 60, 50, S=1.0), "R")
    enzyme = goldbeter_koshland_function(p["k3"], p["k4"] * level, p["J3"], p["J4"])
    assert p["k0"] * enzyme == pytest.approx(p["k2"] * level, rel=1e-5)
    assert last(run(system, 60, 50, S=4.0), "R") < 0.3  # outside the range


def test_negative_feedback_oscillator(system: OdeSystem) -> None:
    assert period(run(system, 600, 6000, S=2.0), "X") == pytest.approx(17.4, rel=0.03)
    # The steady state is unstable for signals between 0.259 and 5.946 (eigenvalues of the Jacobian).
    for signal, oscillates in ((0.2, False), (0.32, True), (5.5, True), (8.0, False)):
        assert (swing(run(system, 1500, 3000, S=signal), "RP", skip=0.9) > 2e-2) is oscillates
    data = run(system, 300, 3000, S=2.0)
    assert data["YP"].values.min() >= 0 and data["YP"].values.max() <= 1


def test_activator_inhibitor(system: OdeSystem) -> None:
    assert swing(run(system, 400, 2000, S=0.2), "R") > 1.3
    for silent in (0.02, 0.6):
        assert swing(run(system, 800, 800, S=silent), "R", skip=0.9) < 1e-2
    data = run(system, 800, 800, S=0.6)
    assert last(data, "X") == pytest.approx(last(data, "R") * 0.1 / 0.075, rel=1e-3)
