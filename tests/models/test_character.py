"""Every reference system does what its literature says: periods, steady states, totals, bistability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
import sympy
import xarray as xr
from scipy.special import ellipk

from fepysr_dyn import load_model, model_names, simulate
from fepysr_dyn.integration import SolverOptions
from fepysr_dyn.stimulus import Constant, Sine, Steps, Stimulus
from fepysr_dyn.system import ExperimentPlan, OdeSystem, Protocol

Check = Callable[[OdeSystem], None]
CHECKS: dict[str, Check] = {}
#: Periods and steady states need no derivatives between the steps.
QUICK = SolverOptions(method="LSODA", rtol=1e-8, atol=1e-10, samples_per_step=1e6)


def check(function: Check) -> Check:
    CHECKS[function.__name__] = function
    return function


def run(
    system: OdeSystem,
    duration: float,
    samples: int = 1000,
    initial: Mapping[str, float] | None = None,
    options: SolverOptions = QUICK,
    **inputs: float | Stimulus,
) -> xr.Dataset:
    """Simulate one experiment of a system; numbers stand for constant inputs."""
    drives = {n: Constant(u) if isinstance(u, int | float) else u for n, u in inputs.items()}
    plan = ExperimentPlan("test", dict(initial or {}), drives)
    return simulate(replace(system, protocol=Protocol(duration, samples, (plan,))), options=options)[0]


def protocol(system: OdeSystem) -> tuple[xr.Dataset, ...]:
    return tuple(simulate(system, options=QUICK))


def last(data: xr.Dataset, name: str) -> float:
    return float(data[name].values[-1])


def period(data: xr.Dataset, name: str, skip: float = 0.5) -> float:
    """Mean time between upward crossings of the middle, after the transient."""
    keep = data["time"].values >= skip * data["time"].values[-1]
    t, y = data["time"].values[keep], data[name].values[keep]
    middle = (y.max() + y.min()) / 2
    i = np.flatnonzero((y[:-1] < middle) & (y[1:] >= middle))
    crossings = t[i] + (middle - y[i]) / (y[i + 1] - y[i]) * (t[i + 1] - t[i])
    assert len(crossings) >= 3, "no sustained oscillation"
    assert np.std(np.diff(crossings)) < 0.02 * np.mean(np.diff(crossings)), "not periodic"
    return float(np.mean(np.diff(crossings)))


def swing(data: xr.Dataset, name: str, skip: float = 0.7) -> float:
    """Peak to peak after the transient."""
    return float(np.ptp(data[name].values[int(skip * data.sizes["time"]) :]))


def lyapunov_exponent(system: OdeSystem, step: float, warm: float, span: float) -> float:
    """Mean growth rate of tangent vectors along many orbits, by the classical Runge-Kutta method."""
    states = [sympy.Symbol(name) for name in system.states]
    tangents = [sympy.Symbol(f"tangent_{name}") for name in system.states]
    rates = sympy.Matrix([rate.subs(dict(system.parameters)) for rate in system.rates.values()])
    growth = rates.jacobian(states) * sympy.Matrix(tangents)
    evaluate = sympy.lambdify([*states, *tangents], [*rates, *growth])
    count = len(states)
    generator = np.random.default_rng(0)
    y = generator.normal(size=(2 * count, 200))
    y[:count] = 0.1 * y[:count] + np.array([[system.initial[name]] for name in system.states])

    def slope(y: np.ndarray) -> np.ndarray:
        return np.array(evaluate(*y))

    total = 0.0
    for index in range(round((warm + span) / step)):
        first = slope(y)
        second = slope(y + step / 2 * first)
        third = slope(y + step / 2 * second)
        y = y + step / 6 * (first + 2 * second + 2 * third + slope(y + step * third))
        if index % 10 == 9:
            length = np.linalg.norm(y[count:], axis=0)
            y[count:] /= length
            total += float(np.log(length).mean()) if index * step > warm else 0.0
    return total / span


def goldbeter_koshland_function(u: float, v: float, j: float, k: float) -> float:
    b = v - u + v * j + u * k
    return float(2 * u * k / (b + np.sqrt(b**2 - 4 * (v - u) * u * k)))


@check
def tyson_two_protein(system: OdeSystem) -> None:
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


@check
def michaelis_menten(system: OdeSystem) -> None:
    p = system.parameters
    for influx in (0.2, 0.6, 1.2):
        rest = influx * p["Km"] / (p["Vmax"] - influx)
        assert last(run(system, 80, 50, j=influx), "S") == pytest.approx(rest, rel=1e-4)
    # More than Vmax cannot be removed.
    data = run(system, 200, 50, j=2.0)
    assert np.gradient(data["S"].values, data["time"].values)[-1] == pytest.approx(0.5, rel=0.02)


@check
def enzyme_mass_action(system: OdeSystem) -> None:
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


@check
def goldbeter_koshland(system: OdeSystem) -> None:
    p = system.parameters
    for v1 in (0.5, 0.95, 1.05, 2.0):
        rest = goldbeter_koshland_function(v1, p["V2"], p["K1"], p["K2"])
        assert last(run(system, 400, 50, V1=v1), "W") == pytest.approx(rest, rel=1e-5)
    # Ultrasensitive: 20 % around the switch point carry most of the answer.
    low, high = (goldbeter_koshland_function(v, 1.0, 0.05, 0.05) for v in (0.9, 1.1))
    assert high - low > 0.4


@check
def toggle_switch(system: OdeSystem) -> None:
    lacI, other = {"u": 150.0, "v": 0.1}, {"u": 1.0, "v": 15.0}
    assert last(run(system, 60, 50, lacI, IPTG=0.0), "u") > 150
    assert last(run(system, 60, 50, other, IPTG=0.0), "u") < 1
    # Published: bistable without inducer, only the high state of v above about 40 µM.
    assert last(run(system, 60, 50, lacI, IPTG=10.0), "u") > 100
    assert last(run(system, 60, 50, lacI, IPTG=45.0), "v") > 14
    strong, weak, _ = protocol(system)
    assert last(strong, "v") > 11 and last(strong, "IPTG") == 0.0
    assert last(weak, "u") > 100


@check
def repressilator(system: OdeSystem) -> None:
    data = run(system, 800, 8000)
    minutes = period(data, "p1") * 2 / np.log(2)
    assert 120 <= minutes <= 200  # Elowitz and Leibler observed 160 ± 40
    assert minutes == pytest.approx(125.35, rel=0.002)  # BIOMD0000000012 in libRoadRunner
    peaks = [data["time"].values[4000 + np.argmax(data[p].values[4000:4400])] for p in ("p1", "p2", "p3")]
    third = period(data, "p1") / 3
    shift = (peaks[1] - peaks[0]) % (3 * third)
    assert min(abs(shift - third), abs(shift - 2 * third)) < 0.05 * third


@check
def goodwin(system: OdeSystem) -> None:
    hopf = 2 * np.pi / (np.sqrt(3) * system.parameters["k2"])
    assert period(run(system, 1500, 6000), "Z") == pytest.approx(hopf, rel=0.12)
    # Griffith: with equal decay rates no oscillation below an exponent of 8.
    assert swing(run(system.with_parameters(n=7), 3000, 3000), "Z", skip=0.9) < 0.01


@check
def goldbeter_mitotic(system: OdeSystem) -> None:
    data = run(system, 250, 5000)
    assert period(data, "C") == pytest.approx(25, rel=0.02)  # published, minutes
    assert period(data, "C") == pytest.approx(25.174, rel=1e-3)  # BIOMD0000000003 in libRoadRunner
    for fraction in ("M", "X"):
        assert data[fraction].values.min() >= 0 and data[fraction].values.max() <= 1
    # Cyclin rises until it passes the threshold of the kinase, Kc*V2/(VM1 - V2) = 0.5.
    assert data["C"].values[2500:].max() == pytest.approx(0.58, abs=0.02)


@check
def tyson_cell_cycle(system: OdeSystem) -> None:
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


@check
def selkov(system: OdeSystem) -> None:
    a, b = system.parameters["a"], system.parameters["b"]
    rest = {"x": b, "y": b / (a + b**2)}
    assert swing(run(system, 50, 500, rest), "x") < 1e-6
    assert swing(run(system, 300, 3000, {"x": b + 0.01, "y": rest["y"]}), "x") > 1.0
    b = 0.9  # beyond the second bifurcation the steady state is stable
    assert last(run(system.with_parameters(b=b), 400, 400), "x") == pytest.approx(b, rel=1e-4)


@check
def yeast_glycolysis(system: OdeSystem) -> None:
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


@check
def competence(system: OdeSystem) -> None:
    rest = {"K": 0.0348202, "S": 4.711696}
    assert last(run(system, 400, 50, rest), "K") == pytest.approx(rest["K"], rel=1e-4)
    small = run(system, 300, 3000, {"K": 0.06, "S": rest["S"]})
    large = run(system, 300, 3000, {"K": 0.10, "S": rest["S"]})
    # Excitable: a small push decays at once, a larger one first grows, and both return to rest.
    assert small["K"].values.max() == pytest.approx(0.06, rel=1e-6)
    assert large["K"].values.max() > 0.13 and large["S"].values.min() < 4.0
    assert last(large, "K") == pytest.approx(rest["K"], rel=0.01)


@check
def mapk_cascade(system: OdeSystem) -> None:
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


@check
def jak_stat(system: OdeSystem) -> None:
    for data in protocol(system):
        total = data["x1"] + data["x2"] + 2 * (data["x3"] + data["n1"] + data["n2"] + data["n3"])
        assert float(np.ptp(total.values)) < 1e-7
    # The nuclear chain delays a decaying dimer pool by tau on average.
    data = run(system, 400, 8000, {"x1": 0.0, "x3": 0.1}, pEpoR=0.0)
    exported = data["n3"].values / data["n3"].values.sum()
    mean = float((data["time"].values * exported).sum())
    assert mean == pytest.approx(1 / system.parameters["k3"] + system.parameters["tau"], rel=0.01)
    assert last(data, "x1") == pytest.approx(0.2, rel=1e-4)


@check
def feed_forward_loop(system: OdeSystem) -> None:
    p = system.parameters
    data = run(system, 30, 3000, X=Steps((0.0, 5.0), (0.0, 2.0)))
    on = lambda x, k: x ** p["n"] / (k ** p["n"] + x ** p["n"])  # noqa: E731
    y = on(2.0, p["Kxy"])
    z = p["beta_z"] * on(2.0, p["Kxz"]) / (1 + (y / p["Kyz"]) ** p["n"])
    assert last(data, "Y") == pytest.approx(y, rel=1e-4)
    assert last(data, "Z") == pytest.approx(z, rel=1e-4)
    assert data["Z"].values.max() > 2.5 * z  # a pulse


@check
def perfect_adaptation(system: OdeSystem) -> None:
    p = system.parameters
    level = p["k1"] * p["k4"] / (p["k2"] * p["k3"])
    for signal in (0.5, 1.0, 4.0):
        assert last(run(system, 60, 50, S=signal), "R") == pytest.approx(level, rel=1e-6)
    data = run(system, 40, 2000, S=Steps((0.0, 20.0), (1.0, 3.0)))
    assert data["R"].values[1000:].max() > 1.3 * level
    assert last(data, "R") == pytest.approx(level, rel=1e-5)


@check
def mutual_activation(system: OdeSystem) -> None:
    for signal in (0.0, 5.0, 9.0):
        low, high = (last(run(system, 200, 50, {"R": r}, S=signal), "R") for r in (0.0, 0.8))
        assert high - low > 0.3
    # Published: the threshold is a signal of about 10, and there is no way back.
    assert last(run(system, 400, 50, {"R": 0.0}, S=9.5), "R") < 0.15
    assert last(run(system, 400, 50, {"R": 0.0}, S=11.0), "R") > 0.45
    assert last(protocol(system)[0], "R") > 0.35


@check
def mutual_inhibition(system: OdeSystem) -> None:
    # Folds of the curve of steady states: 0.8526 and 1.7005.
    for signal in (0.87, 1.3, 1.68):
        low, high = (last(run(system, 400, 50, {"R": r}, S=signal), "R") for r in (0.01, 1.0))
        assert low < 0.17 and high > 0.28
    for signal, expected in ((0.8, False), (1.8, True)):
        ends = [last(run(system, 400, 50, {"R": r}, S=signal), "R") for r in (0.01, 1.0)]
        assert ends[0] == pytest.approx(ends[1], rel=1e-3)
        assert (ends[0] > 0.5) is expected


@check
def homeostasis(system: OdeSystem) -> None:
    p = system.parameters
    for demand, deviation in ((0.2, 0.1), (0.5, 0.03), (1.0, 0.03), (1.5, 0.03), (1.8, 0.1)):
        assert last(run(system, 60, 50, S=demand), "R") == pytest.approx(p["k3"] / p["k4"], rel=deviation)
    # At the rest the production by the enzyme balances the demand.
    level = last(run(system, 60, 50, S=1.0), "R")
    enzyme = goldbeter_koshland_function(p["k3"], p["k4"] * level, p["J3"], p["J4"])
    assert p["k0"] * enzyme == pytest.approx(p["k2"] * level, rel=1e-5)
    assert last(run(system, 60, 50, S=4.0), "R") < 0.3  # outside the range


@check
def negative_feedback_oscillator(system: OdeSystem) -> None:
    assert period(run(system, 600, 6000, S=2.0), "X") == pytest.approx(17.4, rel=0.03)
    # The steady state is unstable for signals between 0.259 and 5.946 (eigenvalues of the Jacobian).
    for signal, oscillates in ((0.2, False), (0.32, True), (5.5, True), (8.0, False)):
        assert (swing(run(system, 1500, 3000, S=signal), "RP", skip=0.9) > 2e-2) is oscillates
    data = run(system, 300, 3000, S=2.0)
    assert data["YP"].values.min() >= 0 and data["YP"].values.max() <= 1


@check
def activator_inhibitor(system: OdeSystem) -> None:
    assert swing(run(system, 400, 2000, S=0.2), "R") > 1.3
    for silent in (0.02, 0.6):
        assert swing(run(system, 800, 800, S=silent), "R", skip=0.9) < 1e-2
    data = run(system, 800, 800, S=0.6)
    assert last(data, "X") == pytest.approx(last(data, "R") * 0.1 / 0.075, rel=1e-3)


@check
def sir(system: OdeSystem) -> None:
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


@check
def seir(system: OdeSystem) -> None:
    for data in protocol(system):
        assert float(np.ptp(sum(data[n] for n in "SEIR").values)) < 1e-7
    p = system.parameters
    number = p["beta"] / p["gamma"]
    assert number == pytest.approx(1.51, abs=0.01)  # published
    start = {"S": 1 - 1e-5, "E": 0.0, "I": 1e-5, "R": 0.0}
    final = last(run(system, 3000, 100, start, c=1.0), "S")
    assert np.log(final) == pytest.approx(number * (final - 1), rel=1e-3)  # final size relation
    assert last(run(system, 1000, 100, start, c=0.6), "R") < 1e-3  # control below the threshold


@check
def lotka_volterra(system: OdeSystem) -> None:
    p = system.parameters
    for data in protocol(system):
        x, y = data["x"].values, data["y"].values
        potential = p["delta"] * x - p["gamma"] * np.log(x) + p["beta"] * y - p["alpha"] * np.log(y)
        assert np.ptp(potential) < 1e-5
    near = {"x": p["gamma"] / p["delta"] * 1.001, "y": p["alpha"] / p["beta"]}
    small = period(run(system, 80, 4000, near), "x")
    assert small == pytest.approx(2 * np.pi / np.sqrt(p["alpha"] * p["gamma"]), rel=1e-3)
    assert 9.5 < period(run(system, 80, 4000), "x") < 11  # the ten years of hare and lynx


@check
def rosenzweig_macarthur(system: OdeSystem) -> None:
    p = system.parameters
    gain = p["e"] * p["c"]
    threshold = p["H"] * (gain + p["m"]) / (gain - p["m"])
    assert swing(run(system, 1000, 2000), "N") > 1.0
    stable = system.with_parameters(K=0.9 * threshold)
    rest = p["m"] * p["H"] / (gain - p["m"])
    assert last(run(stable, 1500, 100), "N") == pytest.approx(rest, rel=1e-3)


@check
def chemostat(system: OdeSystem) -> None:
    p = system.parameters
    for dilution in (0.2, 0.6, 0.8):
        data = run(system, 400, 50, D=dilution)
        substrate = p["Ks"] * dilution / (p["mu_max"] - dilution)
        assert last(data, "S") == pytest.approx(substrate, rel=1e-5)
        assert last(data, "X") == pytest.approx(p["Y"] * (p["S_in"] - substrate), rel=1e-6)
    washed = run(system, 400, 50, D=0.86)
    assert last(washed, "X") < 0.02 and last(washed, "S") == pytest.approx(p["S_in"], rel=0.02)


@check
def fitzhugh_nagumo(system: OdeSystem) -> None:
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


@check
def morris_lecar(system: OdeSystem) -> None:
    # Published for this regime: repetitive firing from about 94 to 212 µA/cm².
    for current, fires in ((60.0, False), (100.0, True), (200.0, True), (225.0, False)):
        amplitude = swing(run(system, 1500, 3000, {"V": 20.0, "w": 0.4}, I=current), "V", skip=0.8)
        assert (amplitude > 40) is fires
    assert last(run(system, 1500, 50, I=0.0), "V") == pytest.approx(-60.9, abs=0.2)


@check
def brusselator(system: OdeSystem) -> None:
    a, b = system.parameters["A"], system.parameters["B"]
    assert period(run(system, 100, 20_000), "x") == pytest.approx(7.15691986, rel=1e-5)  # Hairer et al.
    rest = {"x": a, "y": b / a}
    assert swing(run(system, 15, 100, rest), "x") < 1e-4
    assert last(run(system.with_parameters(B=1.5), 200, 100), "y") == pytest.approx(1.5, rel=1e-4)


@check
def oregonator(system: OdeSystem) -> None:
    assert period(run(system, 50, 10_000), "z") == pytest.approx(6.21, rel=0.01)
    # The constants of Field and Noyes give a period of 302.858 in their unit of time, the one of the test
    # problem OREGO of Hairer and Wanner.
    s, w, q = 77.27, 0.161, 8.375e-6
    classical = system.with_parameters(eps=w / s, delta=s * q * w, q=q)
    assert period(run(classical, 300, 30_000), "z", skip=0.2) / w == pytest.approx(302.858, rel=1e-4)


@check
def van_der_pol(system: OdeSystem) -> None:
    # Periods: Andersen and Geer, SIAM J Appl Math 42:678 (1982), and later tables.
    assert period(run(system, 100, 20_000), "x") == pytest.approx(7.6298744780, rel=1e-5)
    assert np.abs(run(system, 100, 5000)["x"].values[2500:]).max() == pytest.approx(2.0199, abs=1e-3)
    weak = system.with_parameters(mu=0.05)  # almost a circle of radius two
    assert np.abs(run(weak, 300, 5000)["x"].values[4000:]).max() == pytest.approx(2.0, abs=1e-3)
    for mu, exact in ((3.0, 8.85910), (5.0, 11.61223)):
        assert period(run(system.with_parameters(mu=mu), 150, 20_000), "x") == pytest.approx(exact, rel=1e-4)


@check
def lorenz(system: OdeSystem) -> None:
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


@check
def rossler(system: OdeSystem) -> None:
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


@check
def duffing(system: OdeSystem) -> None:
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


@check
def pendulum(system: OdeSystem) -> None:
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


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_character(name: str) -> None:
    CHECKS[name](load_model(name))


def test_every_model_has_a_check() -> None:
    assert set(model_names()) == set(CHECKS)
    assert len(CHECKS) >= 26


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_protocol_excites_every_state(name: str) -> None:
    system = load_model(name)
    for data in protocol(system):
        assert data.attrs["outcome"] == "complete"
        for state in system.states:
            values = data[state].values
            assert np.all(np.isfinite(values))
            assert np.ptp(values) > 0.01 * np.abs(values).max(), (state, data.attrs["name"])
        for signal in system.inputs:
            assert len(np.unique(data[signal].values)) > 1 or len(system.protocol.experiments) > 1


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_described_and_moderate(name: str) -> None:
    system = load_model(name)
    assert system.name == name
    assert len(system.title) > 5 and len(system.description) > 40
    assert any(str(year) in system.reference for year in range(1900, 2025))
    assert 100 <= system.protocol.samples <= 3000
    assert len(system.rates) <= 8


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_steps_fall_on_samples(name: str) -> None:
    system = load_model(name)
    grid = system.protocol.duration / system.protocol.samples
    for plan in system.protocol.experiments:
        for stimulus in system.inputs_of(plan).values():
            for point in stimulus.breakpoints:
                assert 0 <= point <= system.protocol.duration
                assert point / grid == pytest.approx(round(point / grid), abs=1e-9)
