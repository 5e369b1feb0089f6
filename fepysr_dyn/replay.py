"""An experiment run again: a system integrated under the inputs that were recorded."""

from __future__ import annotations

from collections.abc import Sequence
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


def recorded_inputs(run: xr.Dataset) -> dict[str, Stimulus]:
    """Return the inputs of an experiment as stimuli.

    An input that is constant between breakpoints becomes exact steps; any other is interpolated linearly
    and continued up to the breakpoints from its own side.
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
    knots: list[float] = []
    heights: list[float] = []
    stops = [*starts[1:], np.inf]
    for piece, start, stop in zip(pieces, starts, stops, strict=False):
        present = np.isfinite(values[piece])
        t, v = times[piece][present], values[piece][present]
        if t[0] > start:
            t, v = np.insert(t, 0, start), np.insert(v, 0, _line(t, v, 0, start))
        last = np.nextafter(stop, -np.inf) if np.isfinite(stop) else t[-1]
        if t[-1] < last:
            t, v = np.append(t, last), np.append(v, _line(t, v, -2, last))
        knots.extend(t.tolist())
        heights.extend(v.tolist())
    return Sampled(tuple(knots), tuple(heights), jumps=tuple(starts[1:]))


def _line(times: Array, values: Array, first: int, at: float) -> float:
    """Continue the straight line through two neighbouring samples."""
    if len(times) < 2:
        return float(values[0])
    t, v = times[first : first + 2 or None], values[first : first + 2 or None]
    return float(v[0] + (v[1] - v[0]) * (at - t[0]) / (t[1] - t[0]))
