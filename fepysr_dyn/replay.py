"""An experiment run again: a system integrated under the inputs that were recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError, did_you_mean
from fepysr_dyn.integration import Integration, RightHandSide, SolverOptions, integrate
from fepysr_dyn.stimulus import Sampled, Steps, Stimulus
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import segments, with_role

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: Samples a stretch needs to show whether it is smooth.
_SMOOTH_SAMPLES = 8
#: A smooth series is foretold by a spline with less than this share of the squared error of straight lines.
_SMOOTHER = 0.25


def recorded_inputs(run: xr.Dataset) -> dict[str, Stimulus]:
    """Return the inputs of an experiment as stimuli.

    An input that is constant between breakpoints becomes exact steps. Any other is interpolated, by cubic
    splines where it is smooth, and continued up to the breakpoints from its own side.
    """
    return {name: _recorded(run, name) for name in with_role(run, "input")}


def replay(
    system: OdeSystem,
    run: xr.Dataset,
    *,
    initial: Array | Sequence[float] | None = None,
    options: SolverOptions | None = None,
    right_hand_side: RightHandSide | None = None,
) -> Integration:
    """Integrate a system under the inputs of an experiment, at its time stamps.

    Parameters
    ----------
    initial : sequence of float, optional
        State at the first time stamp; the first measured values if not given.
    right_hand_side : RightHandSide, optional
        The compiled system, for calls in a loop.
    """
    for kind, names, role in (("state", system.states, "state"), ("input", tuple(system.inputs), "input")):
        for name in names:
            known = with_role(run, role)
            if name not in known:
                raise DataError(f"the data has no {kind} '{name}'{did_you_mean(name, known)}")
    start = first_values(run, system.states) if initial is None else np.asarray(initial, dtype=float)
    times = run["time"].to_numpy()
    return integrate(
        right_hand_side or RightHandSide(system), start.tolist(), recorded_inputs(run), times, options
    )


def first_values(run: xr.Dataset, states: Sequence[str]) -> Array:
    """Return the first value of each state that is not missing."""
    values = []
    for state in states:
        column = run[state].to_numpy()
        present = np.flatnonzero(np.isfinite(column))
        if not len(present):
            raise DataError(f"state '{state}' of experiment '{run.attrs['name']}' has no value at all")
        values.append(float(column[present[0]]))
    return np.array(values)


def _recorded(run: xr.Dataset, name: str) -> Stimulus:
    times, values = run["time"].to_numpy(), run[name].to_numpy()
    pieces = segments(run)
    starts = [
        times[0],
        *(float(point) for point in run.attrs["breakpoints"] if times[0] < point <= times[-1]),
    ]
    spread = float(np.nanmax(values) - np.nanmin(values))
    levels = [values[piece][np.isfinite(values[piece])] for piece in pieces]
    if any(len(level) == 0 for level in levels):
        raise DataError(f"input '{name}' of experiment '{run.attrs['name']}' has a stretch without any value")
    if len(pieces) == len(starts) and all(np.ptp(level) <= 1e-9 * spread for level in levels):
        return Steps(tuple(starts), tuple(float(np.median(level)) for level in levels))
    return _interpolated(times, values, pieces, starts)


def _interpolated(times: Array, values: Array, pieces: list[slice], starts: list[float]) -> Stimulus:
    present = [np.flatnonzero(np.isfinite(values[piece])) + piece.start for piece in pieces]
    samples = [(times[rows], values[rows]) for rows in present]
    smooth = _is_smooth(samples)
    knots: list[float] = []
    heights: list[float] = []
    stops = [*starts[1:], np.inf]
    for (t, v), start, stop in zip(samples, starts, stops, strict=False):
        beyond = _continued(t, v, smooth)
        last = np.nextafter(stop, -np.inf) if np.isfinite(stop) else t[-1]
        before = [start] if t[0] > start else []
        after = [last] if t[-1] < last else []
        knots.extend([*before, *t.tolist(), *after])
        heights.extend([*map(beyond, before), *v.tolist(), *map(beyond, after)])
    return Sampled(tuple(knots), tuple(heights), jumps=tuple(starts[1:]), degree=3 if smooth else 1)


def _is_smooth(samples: list[tuple[Array, Array]]) -> bool:
    """Return whether every second sample foretells those between them better by a spline than by lines."""
    from scipy.interpolate import CubicSpline

    lines = splines = 0.0
    for t, v in samples:
        if len(t) < _SMOOTH_SAMPLES:
            continue
        between, truth = t[1:-1:2], v[1:-1:2]
        lines += float(np.sum((np.interp(between, t[::2], v[::2]) - truth) ** 2))
        splines += float(np.sum((CubicSpline(t[::2], v[::2])(between) - truth) ** 2))
    return splines < _SMOOTHER * lines


def _continued(times: Array, values: Array, smooth: bool) -> Callable[[float], float]:
    """Return what continues samples beyond their ends: a spline, a line, or the only value."""
    if smooth and len(times) >= _SMOOTH_SAMPLES:
        from scipy.interpolate import CubicSpline

        spline = CubicSpline(times, values)
        return lambda at: float(spline(at))
    return lambda at: _line(times, values, 0 if at < times[0] else -2, at)


def _line(times: Array, values: Array, first: int, at: float) -> float:
    """Continue the straight line through two neighbouring samples."""
    if len(times) < 2:
        return float(values[0])
    t, v = times[first : first + 2 or None], values[first : first + 2 or None]
    return float(v[0] + (v[1] - v[0]) * (at - t[0]) / (t[1] - t[0]))
