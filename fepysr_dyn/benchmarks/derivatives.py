"""Derivative estimates against the truth: errors, coverage of the intervals, speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fepysr_dyn.benchmarks.peers import peer_errors
from fepysr_dyn.model_files import load_model
from fepysr_dyn.simulation import simulate

if TYPE_CHECKING:
    from fepysr_dyn.benchmarks.units import Line, Unit
    from fepysr_dyn.trajectories import Trajectories

TASK = "fepysr_dyn.benchmarks.derivatives:derivative_unit"
#: Estimators whose time should grow in proportion to the number of samples.
LINEAR = ("finite_differences", "local_polynomial", "smoothing_spline", "gaussian_process", "total_variation")
#: Samples over which the speed of one size is measured at least.
_LEAST_SAMPLES_TIMED = 200_000
#: Quantile of the normal distribution for 95 %.
_Z = 1.959964

#: PySINDy's error per setting, given data, state and the size of the noise.
Peers = Callable[["Trajectories", str, float], dict[str, float]]


def derivative_unit(unit: Unit) -> Line:
    """Carry out one unit: the speed of an estimator at a size, or all states of a system at a noise level."""
    if "samples" in unit.setting:
        return {"seconds": seconds_of(unit.problem, unit.setting["samples"])}
    noise = unit.setting["noise"]
    rows = measure(unit.problem, noise, unit.seed) if noise else exactness(unit.problem)
    return {"rows": rows}


def measure(name: str, noise: float, seed: int, peers: Peers = peer_errors) -> list[dict[str, Any]]:
    """Compare the automatic estimate with the truth and with all settings of PySINDy on one system."""
    from fepysr_dyn.derivatives import estimate_derivatives

    system = load_model(name)
    clean = simulate(system)
    runs = simulate(system, noise=noise, seed=seed, rates=True)
    slopes = estimate_derivatives(runs)
    rows = []
    for state in runs.states:
        misses = np.concatenate(
            [(d[f"d{state}"] - r[f"d{state}"]).to_numpy() for d, r in zip(slopes, runs, strict=True)]
        )
        errors = np.concatenate([d[f"d{state}_se"].to_numpy() for d in slopes])
        size = noise * float(np.sqrt(np.mean(np.concatenate([run[state].to_numpy() for run in clean]) ** 2)))
        rows.append(
            {
                "state": state,
                "error": float(np.sqrt(np.mean(misses**2))),
                "covered": float(np.mean(np.abs(misses) <= _Z * errors)),
                "samples": len(misses),
                "method": slopes.methods[str(runs[0].attrs["name"])][state],
                "peers": peers(runs, state, size),
            }
        )
    return rows


def exactness(name: str) -> list[dict[str, Any]]:
    """Return the largest error on noise-free samples anywhere, absolute and relative to the rate's RMS."""
    from fepysr_dyn.derivatives import estimate_derivatives

    runs = simulate(load_model(name), rates=True)
    slopes = estimate_derivatives(runs)
    rows = []
    for state in runs.states:
        truth = np.concatenate([run[f"d{state}"].to_numpy() for run in runs])
        miss = np.abs(np.concatenate([d[f"d{state}"].to_numpy() for d in slopes]) - truth)
        methods = sorted({choice.method for choice in slopes.choices if choice.state == state})
        rows.append(
            {
                "state": state,
                "largest": float(miss.max()),
                "relative": float(miss.max() / np.sqrt(np.mean(truth**2))),
                "method": ", ".join(methods),
            }
        )
    return rows


def seconds_of(name: str, samples: int) -> float:
    """Return processor seconds of an estimator for one noisy series."""
    from fepysr_dyn.derivatives import make_estimator
    from fepysr_dyn.derivatives.base import make_series

    estimator = make_estimator(name)
    estimator.estimate(make_series(np.arange(50.0), np.sin(np.arange(50.0))))
    times = np.arange(samples) * 0.05
    noise = np.random.default_rng(0).normal(size=samples)
    series = make_series(times, np.sin(times) + 0.01 * noise)
    # A short series is over too soon for the clock: it is estimated several times.
    repeats = max(1, _LEAST_SAMPLES_TIMED // samples)
    start = time.process_time()
    for _ in range(repeats):
        estimator.estimate(series)
    return (time.process_time() - start) / repeats
