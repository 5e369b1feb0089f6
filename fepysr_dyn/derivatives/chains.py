"""A series as the chain of nodes that the Kalman filter walks along."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.derivatives import kalman
from fepysr_dyn.derivatives.base import Array, Series

# Standard deviation, in units of the noise, of what is not known before the first sample. The square-root
# filter loses no digits to it.
UNINFORMED = 1e7


@dataclass(frozen=True)
class Chain:
    """Nodes in time: all samples, and the breakpoints that lie between samples.

    Parameters
    ----------
    times, steps : array
        When each node is, and how long after the node before.
    observed : array
        Measurements with mean 0 and variance 1; NaN where there is none.
    jumps : array of int
        At a 1 the derivatives start afresh while the value continues, at a 2 everything does.
    samples : array of int
        The sample each node stands for, -1 for a breakpoint.
    offset, unit : float
        Measurements are ``offset + unit * observed``.
    """

    times: Array
    steps: Array
    observed: Array
    jumps: NDArray[np.int64]
    samples: NDArray[np.int64]
    offset: float
    unit: float

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Which nodes have a measurement."""
        return np.isfinite(self.observed)

    @cached_property
    def spacing(self) -> float:
        """The typical time between two measurements of one piece."""
        pieces = np.cumsum(self.jumps > 0)[self.seen]
        gaps = np.diff(self.times[self.seen])[np.diff(pieces) == 0]
        return float(np.median(gaps)) if len(gaps) else float(self.times[-1] - self.times[0]) or 1.0

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """The node range of each piece."""
        starts = np.flatnonzero(self.jumps)
        return list(zip(starts.tolist(), [*starts[1:].tolist(), len(self.times)], strict=True))


def make_chain(series: Series, linked: bool = True) -> Chain:
    """Lay out the nodes; `linked` makes the value continue across the joints of the series."""
    times, observed, jumps, samples = [], [], [], []

    def add(t: Array, x: Array, jump: int, index: Array) -> None:
        times.append(t)
        observed.append(x)
        jumps.append(np.concatenate([[jump], np.zeros(len(t) - 1)]))
        samples.append(index)

    alone, nothing, no_sample = np.zeros(1), np.array([np.nan]), np.array([-1.0])
    for i, piece in enumerate(series.pieces):
        t, x = series.times[piece], series.values[piece]
        joint = series.joints[i - 1] if i else np.nan
        kind = 1 if linked and np.isfinite(joint) else 2
        if i and np.isfinite(joint) and (joint < t[0] or not linked):
            if not linked:
                # The left piece is followed up to the breakpoint too, so that the two sides can be compared.
                add(alone + joint, nothing, 0, no_sample)
            add(alone + joint, nothing, kind, no_sample)
            kind = 0
        add(t, x, kind, np.arange(piece.start, piece.stop, dtype=float))
    all_times = np.concatenate(times)
    values = np.concatenate(observed)
    offset = float(np.nanmean(values))
    unit = float(np.nanstd(values)) or 1.0
    return Chain(
        all_times,
        np.diff(all_times, prepend=all_times[0]),
        (values - offset) / unit,
        np.concatenate(jumps).astype(np.int64),
        np.concatenate(samples).astype(np.int64),
        offset,
        unit,
    )


@dataclass(frozen=True)
class WienerModel:
    """A q times integrated Wiener process with measurement noise, in the units of a chain.

    Parameters
    ----------
    q : int
        How many derivatives the state holds; the q-th is a Wiener process.
    scale : float
        The time over which one smoothes; the unit of time inside the filter.
    noise : float
        Variance of the measurements.
    diffusions : array
        Variance per scaled time that each step feeds into the q-th derivative.
    uninformed : float
        Standard deviation of every entry of a fresh state.
    """

    q: int
    scale: float
    noise: float
    diffusions: Array
    uninformed: float

    @property
    def start(self) -> Array:
        """Standard deviations of a fresh state."""
        return np.full(self.q + 1, self.uninformed)


@dataclass(frozen=True)
class Filtered:
    """What one walk forward and one walk back say about a model.

    `restricted` is the log likelihood without what the unknown fresh states contribute (the limit of no prior
    knowledge); `freedom` counts the measurements beyond those that only settle where the state is, and
    `quadratic` is the sum of squared standardised innovations.
    """

    restricted: float
    quadratic: float
    freedom: int
    by_diffusion: Array
    by_noise: float
    misses: Array
    precisions: Array


def few_samples_factor(chain: Chain, q: int) -> float:
    """Return by how much a 95 % interval widens because the noise is estimated too (Student's t)."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom_left(chain, q), 0.975)) / 1.959964


def freedom_left(chain: Chain, q: int) -> int:
    """Return how many measurements remain beyond those that only settle where the state is."""
    fresh, bent = int(np.sum(chain.jumps == 2)), int(np.sum(chain.jumps == 1))
    return max(int(np.sum(chain.seen)) - fresh * (q + 1) - bent * q, 1)


def evaluate(chain: Chain, model: WienerModel, backward: bool = True) -> Filtered:
    """Return the likelihood of a model and, with a walk back, its gradient and left-out predictions."""
    unit = kalman.unit_noise_factor(model.q)
    steps = chain.steps / model.scale
    keep = kalman.INNOVATIONS if backward else kalman.SUMS
    logarithms, quadratic, innovations, variances, gains, _, _ = kalman.filter_chain(
        steps, model.diffusions, chain.jumps, chain.observed, model.noise, model.start, unit, keep
    )
    likelihood = -0.5 * (logarithms + quadratic)
    fresh, bent = int(np.sum(chain.jumps == 2)), int(np.sum(chain.jumps == 1))
    powers = (fresh + bent) * model.q * (model.q + 1) / 2
    unknown = fresh * (model.q + 1) + bent * model.q
    restricted = likelihood + unknown * math.log(model.uninformed) - powers * math.log(model.scale)
    freedom = freedom_left(chain, model.q)
    empty = np.zeros(0)
    if not backward:
        return Filtered(restricted, quadratic, freedom, empty, 0.0, empty, empty)
    by_diffusion, misses, precisions = kalman.adjoint_chain(
        steps, model.diffusions, chain.jumps, chain.observed, unit, innovations, variances, gains
    )
    by_noise = 0.5 * model.noise * float(np.sum((misses**2 - precisions)[chain.seen]))
    return Filtered(restricted, quadratic, freedom, by_diffusion, by_noise, misses, precisions)


def smooth(chain: Chain, model: WienerModel) -> tuple[Array, Array, Array, Array]:
    """Return values, standard errors, derivatives and their standard errors at all nodes."""
    unit = kalman.unit_noise_factor(model.q)
    steps = chain.steps / model.scale
    *_, means, factors = kalman.filter_chain(
        steps, model.diffusions, chain.jumps, chain.observed, model.noise, model.start, unit, kalman.STATES
    )
    deviations = kalman.smooth_chain(steps, model.diffusions, chain.jumps, model.start, unit, means, factors)
    per_time = chain.unit / model.scale
    return (
        chain.offset + chain.unit * means[:, 0],
        chain.unit * deviations[:, 0],
        per_time * means[:, 1],
        per_time * deviations[:, 1],
    )
