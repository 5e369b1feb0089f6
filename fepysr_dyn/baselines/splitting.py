"""What is kept out of a fit: whole experiments, or windows of time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError
from fepysr_dyn.replay import recorded_inputs
from fepysr_dyn.stimulus import Steps
from fepysr_dyn.trajectories import Trajectories, with_role

if TYPE_CHECKING:
    import xarray as xr

    from fepysr_dyn.derivatives import Derivatives

Array = NDArray[np.float64]

#: Share of a single experiment, at its end, that is kept out.
WINDOW = 0.25
#: Shares of a single experiment on which settings are compared: one while it moves, one at its end. A fit on
#: the rest sees its start, and both sides of the first window.
INNER_WINDOWS = ((0.2, 0.4), (0.8, 1.0))
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
        "experiment" if whole experiments are held out, "window" if stretches of time are.
    """

    training: Trajectories
    held_out: Trajectories
    kind: str
    initial: tuple[Array, ...] | None = None


def split_off(trajectories: Trajectories) -> Split:
    """Keep out what generalization is measured on: the last experiment, or the end of a single one."""
    if len(trajectories) > 1:
        return _last_experiment(trajectories)
    run = trajectories[0]
    cut = _cut(run)
    training, held_out = part_of(run, slice(0, cut)), part_of(run, slice(cut, None))
    return Split(Trajectories((training,)), Trajectories((held_out,)), "window")


def split_inside(trajectories: Trajectories, smoothed: Derivatives | None = None) -> Split:
    """Keep out what settings are compared on: the last of three experiments or more, or windows of each.

    With one or two experiments a whole one is too much to lose: it may be all that is known about a level of
    the stimulus. A window is scored twice: integrated from its own start, which tells models of a chaotic
    system apart, and from the start of the experiment, which a model that runs away later does not survive.

    Parameters
    ----------
    smoothed : Derivatives, optional
        Of the same experiments; the smoothed states are then what an integration starts from.
    """
    sources = trajectories.experiments if smoothed is None else tuple(smoothed)
    if len(trajectories) > 2:
        split = _last_experiment(trajectories)
        return replace(split, initial=(state_at(sources[-1], trajectories.states, 0),))
    training: list[xr.Dataset] = []
    held_out: list[xr.Dataset] = []
    initial: list[Array] = []
    for run, source in zip(trajectories, sources, strict=True):
        kept, out = _windows(run)
        training += [part_of(run, samples) for samples in kept]
        held_out += [part_of(run, samples) for samples in out]
        held_out.append(_only(run, out))
        # Smoothing has seen the windows as well: it gives a start, not an equation.
        starts = [*(samples.start for samples in out), 0]
        initial += [state_at(source, trajectories.states, start) for start in starts]
    return Split(Trajectories(tuple(training)), Trajectories(tuple(held_out)), "window", tuple(initial))


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


def _last_experiment(trajectories: Trajectories) -> Split:
    runs = trajectories.experiments
    return Split(Trajectories(runs[:-1]), Trajectories(runs[-1:]), "experiment")


def _only(run: xr.Dataset, windows: Sequence[slice]) -> xr.Dataset:
    """Return the whole experiment with the states known in the windows only."""
    inside = np.zeros(run.sizes["time"], dtype=bool)
    for window in windows:
        inside[window] = True
    hidden = {
        state: ("time", np.where(inside, run[state].to_numpy(), np.nan), run[state].attrs)
        for state in with_role(run, "state")
    }
    return run.assign(hidden)


def _windows(run: xr.Dataset) -> tuple[list[slice], list[slice]]:
    """Return the stretches to fit and those to score; a short experiment loses only its end."""
    times = run["time"].to_numpy()
    edges = [0]
    for share in itertools.chain(*INNER_WINDOWS):
        edges.append(int(np.searchsorted(times, times[0] + share * (times[-1] - times[0]))))
    edges[-1] = len(times)
    if min(np.diff(edges)) < MIN_SAMPLES:
        cut = _cut(run)
        return [slice(0, cut)], [slice(cut, len(times))]
    pieces = [slice(start, stop) for start, stop in itertools.pairwise(edges)]
    return pieces[::2], pieces[1::2]


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
