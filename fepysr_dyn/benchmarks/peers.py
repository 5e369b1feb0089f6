"""PySINDy's derivatives, setting by setting, with the truth at hand.

PySINDy gets each segment between breakpoints on its own, and for every setting of its grid that needs a
noise level or a time scale the true one.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.derivatives.base import make_series
from fepysr_dyn.trajectories import Trajectories

Array = NDArray[np.float64]
SMOOTHED = "SmoothedFiniteDifference"


def peer_grid() -> list[dict[str, Any]]:
    """Return the settings of SINDyDerivative; lengths in samples, the smoothing of splines per noise.

    trend_filtered is left out: it takes minutes a state.
    """
    grid: list[dict[str, Any]] = [{"kind": "finite_difference", "k": k} for k in (1, 2, 3, 5)]
    for order, half in itertools.product((2, 4), (5, 8, 12, 18, 27, 40)):
        grid.append({"kind": "savitzky_golay", "order": order, "half": half})
    for order, share in itertools.product((3, 5), (0.5, 0.7, 0.85, 0.95, 1.0, 1.05, 1.2)):
        grid.append({"kind": "spline", "order": order, "share": share})
    grid += [{"kind": "kalman", "power": power} for power in (1, 2, 3, 4)]
    grid += [{"kind": "spectral", "pass": share} for share in (0.02, 0.05, 0.1, 0.2)]
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
    method = SINDyDerivative(kind=kind, save_smooth=False, **options)
    return np.asarray(method._differentiate(values[:, None], times))[:, 0]


def label(setting: dict[str, Any]) -> str:
    """Return a short name of a setting."""
    rest = " ".join(f"{key}={value}" for key, value in setting.items() if key != "kind")
    return f"{setting['kind']} {rest}".strip()


def segments_of(runs: Trajectories, state: str) -> Iterator[tuple[Array, Array, Array]]:
    """Yield times, values and true rates of one state, segment by segment."""
    for run in runs:
        times, values, truth = (run[name].to_numpy() for name in ("time", state, f"d{state}"))
        for piece in make_series(times, values, run.attrs["breakpoints"]).pieces:
            yield times[piece], values[piece], truth[piece]


def peer_errors(runs: Trajectories, state: str, noise: float) -> dict[str, float]:
    """Return the RMSE of every PySINDy setting for one state; a setting that fails has none."""
    errors = {}
    for setting in [{"kind": SMOOTHED}, *peer_grid()]:
        total, count = 0.0, 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for times, values, truth in segments_of(runs, state):
                    miss = peer_rates(setting, times, values, noise) - truth
                    total, count = total + float(miss @ miss), count + len(miss)
        except Exception:  # noqa: S112 - whatever a peer raises, that setting has no result
            continue
        if np.isfinite(total):
            errors[label(setting)] = (total / count) ** 0.5
    return errors
