"""Measures of simulated runs: periods, swings, Lyapunov exponents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import sympy
import xarray as xr

from fepysr_dyn import simulate
from fepysr_dyn.integration import SolverOptions
from fepysr_dyn.stimulus import Constant, Stimulus
from fepysr_dyn.system import ExperimentPlan, OdeSystem, Protocol

#: Periods and steady states need no derivatives between the steps.
QUICK = SolverOptions(method="LSODA", rtol=1e-8, atol=1e-10, samples_per_step=1e6)


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
