"""What is kept out of a fit: the last experiment, or the end of a single one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError
from fepysr_dyn.replay import recorded_inputs
from fepysr_dyn.stimulus import Steps
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

    from fepysr_dyn.derivatives import Derivatives

Array = NDArray[np.float64]

#: Share of a single experiment, at its end, that is kept out.
WINDOW = 0.25
#: Samples that either part of a single experiment needs.
MIN_SAMPLES = 8


@dataclass(frozen=True)
class Split:
    """Data to fit on and data to score on.

    Parameters
    ----------
    initial : tuple of arrays, optional
        States from which the experiments of `held_out` are integrated; the first measured ones if not given.
    kind : str
        "experiment" if whole experiments are held out, "window" if the end of a single one is.
    """

    training: Trajectories
    held_out: Trajectories
    kind: str
    initial: tuple[Array, ...] | None = None


def split_off(trajectories: Trajectories, smoothed: Derivatives | None = None) -> Split:
    """Keep the last experiment out, or the last quarter of the time if there is only one.

    Parameters
    ----------
    smoothed : Derivatives, optional
        Of the same experiments; the smoothed states are then what an integration starts from.
    """
    if len(trajectories) > 1:
        training = Trajectories(trajectories.experiments[:-1])
        held_out = Trajectories(trajectories.experiments[-1:])
        first = 0
        kind = "experiment"
    else:
        run = trajectories[0]
        first = _cut(run)
        training = Trajectories((part_of(run, slice(0, first)),))
        held_out = Trajectories((part_of(run, slice(first, None)),))
        kind = "window"
    initial = None
    if smoothed is not None:
        # Smoothing looks at the whole series, so the end is known a little: a start, not an equation.
        initial = (state_at(smoothed[-1], trajectories.states, first),)
    return Split(training, held_out, kind, initial)


def starts_of(smoothed: Derivatives) -> tuple[Array, ...]:
    """Return the first smoothed state of each experiment."""
    return tuple(state_at(run, smoothed.states, 0) for run in smoothed)


def state_at(run: xr.Dataset, states: Sequence[str], index: int) -> Array:
    """Return the states at a sample, each the first that is not missing from there on."""
    values = []
    for state in states:
        column = run[state].to_numpy()[index:]
        present = column[np.isfinite(column)]
        if not len(present):
            raise DataError(f"state '{state}' of experiment '{run.attrs['name']}' has no value at its end")
        values.append(float(present[0]))
    return np.array(values)


def part_of(run: xr.Dataset, samples: slice) -> xr.Dataset:
    """Return a stretch of an experiment with the breakpoints that lie inside."""
    part = run.isel(time=samples)
    start, stop = float(part["time"][0]), float(part["time"][-1])
    attributes: dict[Any, Any] = dict(run.attrs)
    attributes["breakpoints"] = [point for point in run.attrs["breakpoints"] if start < point <= stop]
    return part.assign_attrs(attributes)


def thinned(run: xr.Dataset, samples: int) -> xr.Dataset:
    """Return an experiment with fewer samples, if that leaves its inputs exactly as they are.

    The first sample after a breakpoint stays: it is what the new level is read from.
    """
    count = run.sizes["time"]
    if count <= samples:
        return run
    if any(not isinstance(stimulus, Steps) for stimulus in recorded_inputs(run).values()):
        return run
    times = run["time"].to_numpy()
    after = np.searchsorted(times, run.attrs["breakpoints"])
    kept = np.union1d(np.linspace(0, count - 1, samples).round().astype(int), after[after < count])
    return run.isel(time=kept)


def _cut(run: xr.Dataset) -> int:
    """Return the index at which the held-out window begins."""
    times = run["time"].to_numpy()
    start = times[0] + (1.0 - WINDOW) * (times[-1] - times[0])
    index = int(np.searchsorted(times, start))
    index = max(min(index, len(times) - MIN_SAMPLES), MIN_SAMPLES)
    if len(times) < 2 * MIN_SAMPLES:
        raise DataError(
            f"experiment '{run.attrs['name']}': expected at least {2 * MIN_SAMPLES} samples to keep some of "
            f"them out of a fit, found {len(times)}; add samples or another experiment"
        )
    return index
