"""Derivative estimates against the truth, beside PySINDy's: accuracy, coverage and speed.

``python -m fepysr_dyn.benchmarks.derivatives`` prints three tables: exact data, noisy data, speed.
PySINDy gets each segment between breakpoints on its own, and for every setting of its grid that needs a
noise level or a time scale the true one. Its best setting is then picked with the truth at hand.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.derivatives import estimate_derivatives, make_estimator
from fepysr_dyn.derivatives.base import make_series
from fepysr_dyn.model_files import load_model, model_names
from fepysr_dyn.simulation import simulate
from fepysr_dyn.trajectories import Trajectories

Array = NDArray[np.float64]
LINEAR = ("finite_differences", "local_polynomial", "smoothing_spline", "gaussian_process", "total_variation")
SMOOTHED = "SmoothedFiniteDifference"


def peer_grid(slow: bool = False) -> list[dict[str, Any]]:
    """Return the settings of SINDyDerivative; lengths in samples, spline and trend smoothing per noise."""
    grid: list[dict[str, Any]] = [{"kind": "finite_difference", "k": k} for k in (1, 2, 3, 5)]
    for order, half in itertools.product((2, 4), (5, 8, 12, 18, 27, 40)):
        grid.append({"kind": "savitzky_golay", "order": order, "half": half})
    for order, share in itertools.product((3, 5), (0.5, 0.7, 0.85, 0.95, 1.0, 1.05, 1.2)):
        grid.append({"kind": "spline", "order": order, "share": share})
    grid += [{"kind": "kalman", "power": power} for power in (1, 2, 3, 4)]
    grid += [{"kind": "spectral", "pass": share} for share in (0.02, 0.05, 0.1, 0.2)]
    if slow:
        for order, share in itertools.product((0, 1), (0.01, 0.1, 1.0)):
            grid.append({"kind": "trend_filtered", "order": order, "share": share})
    return grid


def peer_rates(setting: dict[str, Any], times: Array, values: Array, noise: float) -> Array:
    """Differentiate one segment with PySINDy."""
    from pysindy.differentiation import SINDyDerivative, SmoothedFiniteDifference

    step, count = float(np.median(np.diff(times))), len(times)
    kind = setting["kind"]
    if kind == SMOOTHED:
        window = min(11, count if count % 2 else count - 1)
        smoother = {"window_length": window, "polyorder": min(3, window - 1)}
        return np.asarray(
            SmoothedFiniteDifference(smoother_kws=smoother)._differentiate(values[:, None], times)
        )[:, 0]
    options: dict[str, Any] = {}
    if kind == "finite_difference":
        options = {"k": setting["k"]}
    elif kind == "savitzky_golay":
        half = setting["half"]
        options = {"order": setting["order"], "left": half, "right": half, "iwindow": True}
    elif kind == "spline":
        options = {"order": setting["order"], "s": setting["share"] * count * noise**2}
    elif kind == "kalman":
        options = {"alpha": step**3 * 10.0 ** setting["power"]}
    elif kind == "spectral":
        cut = setting["pass"] * 0.5 / step
        options = {"filter": lambda frequency: (np.abs(frequency) < cut) * 1.0}
    elif kind == "trend_filtered":
        alpha = setting["share"] * noise * step * count
        options = {"order": setting["order"], "alpha": alpha, "max_iter": 300}
    method = SINDyDerivative(kind=kind, save_smooth=False, **options)
    return np.asarray(method._differentiate(values[:, None], times))[:, 0]


def label(setting: dict[str, Any]) -> str:
    """Return a short name of a setting."""
    rest = " ".join(f"{key}={value}" for key, value in setting.items() if key != "kind")
    return f"{setting['kind']} {rest}".strip()


def _segments(runs: Trajectories, state: str) -> Iterator[tuple[Array, Array, Array]]:
    for run in runs:
        times, values, truth = (run[name].to_numpy() for name in ("time", state, f"d{state}"))
        for piece in make_series(times, values, run.attrs["breakpoints"]).pieces:
            yield times[piece], values[piece], truth[piece]


def peer_errors(runs: Trajectories, state: str, noise: float, slow: bool) -> dict[str, float]:
    """Return the RMSE of every PySINDy setting for one state; a setting that fails has none."""
    errors = {}
    for setting in [{"kind": SMOOTHED}, *peer_grid(slow)]:
        total, count = 0.0, 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for times, values, truth in _segments(runs, state):
                    miss = peer_rates(setting, times, values, noise) - truth
                    total, count = total + float(miss @ miss), count + len(miss)
        except Exception:  # noqa: S112 - whatever a peer raises, that setting has no result
            continue
        if np.isfinite(total):
            errors[label(setting)] = (total / count) ** 0.5
    return errors


@dataclass(frozen=True)
class Row:
    """One state of one system at one noise level."""

    model: str
    state: str
    noise: float
    error: float
    covered: float
    samples: int
    method: str
    peers: dict[str, float]


def measure(name: str, noise: float, seed: int, cache: Cache, slow: bool = False) -> list[Row]:
    """Compare the automatic estimate with the truth and with all peers on one system."""
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
        peers = cache.get(runs, state, partial(peer_errors, runs, state, size, slow))
        covered = float(np.mean(np.abs(misses) <= 1.959964 * errors))
        rmse = float(np.sqrt(np.mean(misses**2)))
        method = slopes.methods[str(runs[0].attrs["name"])][state]
        rows.append(Row(name, state, noise, rmse, covered, len(misses), method, peers))
    return rows


class Cache:
    """Peers' errors by a hash of the data, kept as JSON lines so that a run can be resumed."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, dict[str, float]] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                self.known[entry["key"]] = entry["errors"]

    def get(
        self, runs: Trajectories, state: str, compute: Callable[[], dict[str, float]]
    ) -> dict[str, float]:
        """Return what is known for this data, computing it first if need be."""
        key = data_key(runs, state)
        if key not in self.known:
            self.known[key] = compute()
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps({"key": key, "errors": self.known[key]}) + "\n")
        return self.known[key]


def data_key(runs: Trajectories, state: str) -> str:
    """Return a hash of one state's samples."""
    digest = hashlib.sha256()
    for times, values, _ in _segments(runs, state):
        digest.update(times.tobytes())
        digest.update(values.tobytes())
    return digest.hexdigest()[:16]


def best_for_system(rows: Sequence[Row]) -> str:
    """Return PySINDy's setting with the smallest geometric mean error over the states of a system."""
    common = set.intersection(*(set(row.peers) for row in rows)) - {SMOOTHED}
    return min(common, key=lambda key: float(np.mean([np.log(row.peers[key]) for row in rows])))


def accuracy(names: Sequence[str], levels: Sequence[float], seed: int, cache: Cache, slow: bool) -> None:
    """Print the table over systems and noise levels, and what it adds up to."""
    say("\nNoisy data: RMSE of the derivative; best = PySINDy's best setting for the system")
    say(f"{'system':28}{'state':9}{'α':>5}{'auto':>11}{'smoothed':>11}{'best':>11}  covered  methods")
    for level in levels:
        ratios, rows = [], []
        for name in names:
            system_rows = measure(name, level, seed, cache, slow)
            best = best_for_system(system_rows)
            for row in system_rows:
                smoothed, peer = row.peers[SMOOTHED], row.peers[best]
                own = min(error for key, error in row.peers.items() if key != SMOOTHED)
                ratios.append((row.error / smoothed, row.error / peer, row.error / own))
                say(
                    f"{row.model:28}{row.state:9}{level:5}{row.error:11.4g}{smoothed:11.4g}{peer:11.4g}"
                    f"{'  ' if row.error < peer else ' !'}{row.covered:7.1%}  {row.method} / {best}"
                )
            rows += system_rows
        summarise(level, rows, np.array(ratios))


def summarise(level: float, rows: Sequence[Row], ratios: Array) -> None:
    """Print on how many states the automatic estimate wins, and how often its intervals cover."""
    below = np.mean(ratios < 1, axis=0)
    typical = np.exp(np.mean(np.log(ratios), axis=0))
    say(f"α = {level}, {len(rows)} states: auto is below, and its error relative to (geometric mean):")
    for title, share, ratio in zip(
        (SMOOTHED, "the best setting per system", "the best setting per state"), below, typical, strict=True
    ):
        say(f"    {title:30}{share:7.1%}{ratio:8.2f}")
    single = np.array([row.covered for row in rows])
    covered = np.average(single, weights=[row.samples for row in rows])
    low, middle, high = np.percentile(single, [0, 50, 100])
    say(f"    95 % intervals cover {covered:.1%} of all samples")
    say(f"    per state: from {low:.1%} to {high:.1%}, median {middle:.1%}")


def exactness(names: Sequence[str]) -> None:
    """Print the largest error on noise-free samples."""
    say("\nExact data: largest error of the derivative anywhere, absolute and relative to its RMS")
    for name in names:
        runs = simulate(load_model(name), rates=True)
        slopes = estimate_derivatives(runs)
        for state in runs.states:
            truth = np.concatenate([run[f"d{state}"].to_numpy() for run in runs])
            miss = np.abs(np.concatenate([d[f"d{state}"].to_numpy() for d in slopes]) - truth)
            relative = miss.max() / np.sqrt(np.mean(truth**2))
            methods = ", ".join(sorted({choice.method for choice in slopes.choices if choice.state == state}))
            say(f"{name:28}{state:9}{miss.max():11.2g}{relative:11.2g}  {methods}")


#: Samples over which the speed of one size is measured at least.
_LEAST_SAMPLES_TIMED = 200_000


def speed(sizes: Sequence[int] = (10_000, 100_000, 1_000_000)) -> None:
    """Print processor time per size and how it grows from the first size on."""
    say("\nSpeed: one state, noise 0.01, processor seconds; growth = seconds per sample, last size to first")
    rng = np.random.default_rng(0)
    warm = make_series(np.arange(50.0), np.sin(np.arange(50.0)))
    for name in LINEAR:
        estimator = make_estimator(name)
        estimator.estimate(warm)
        seconds = []
        for size in sizes:
            times = np.arange(size) * 0.05
            series = make_series(times, np.sin(times) + 0.01 * rng.normal(size=size))
            # A short series is over too soon for the clock: it is estimated several times.
            repeats = max(1, _LEAST_SAMPLES_TIMED // size)
            start = time.process_time()
            for _ in range(repeats):
                estimator.estimate(series)
            seconds.append((time.process_time() - start) / repeats)
        cells = "".join(f"{size:>10,}: {second:8.2f} s" for size, second in zip(sizes, seconds, strict=True))
        growth = seconds[-1] / seconds[0] / (sizes[-1] / sizes[0])
        say(f"{name:20}{cells}   growth {growth:.2f}   load {' '.join(f'{x:.1f}' for x in os.getloadavg())}")


def say(line: str) -> None:
    """Print a line at once, so that a long run can be followed."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", choices=("exact", "noisy", "speed"), action="append", help="default: all")
    parser.add_argument("--model", action="append", help="a reference system; default: all")
    parser.add_argument(
        "--noise", type=float, action="append", help="a noise level α; default: 0.01 and 0.05"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", type=Path, help="JSON lines with the peers' errors, to resume a run")
    parser.add_argument(
        "--slow-peers", action="store_true", help="add trend_filtered, which takes minutes a state"
    )
    parser.add_argument("--largest", type=int, default=1_000_000, help="samples of the speed test")
    chosen = parser.parse_args(arguments)
    parts = chosen.part or ["exact", "noisy", "speed"]
    names = chosen.model or model_names()
    if "exact" in parts:
        exactness(names)
    if "noisy" in parts:
        accuracy(names, chosen.noise or (0.01, 0.05), chosen.seed, Cache(chosen.cache), chosen.slow_peers)
    if "speed" in parts:
        speed([size for size in (10_000, 100_000, 1_000_000) if size <= chosen.largest])


if __name__ == "__main__":
    main()
