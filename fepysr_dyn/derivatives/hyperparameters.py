"""Noise and smoothness of an integrated Wiener process from the data: one for all times, then local."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.derivatives.base import Array
from fepysr_dyn.derivatives.chains import UNINFORMED, Chain, Filtered, WienerModel, evaluate

Criterion = Callable[[Filtered], float]

_GRID = 12
MAX_KNOTS = 400
MAX_ITERATIONS = 60
# Beyond this many nodes the fit spends fewer iterations, so that a million samples stay usable.
LARGE = 20_000
# By how much the logarithm of the diffusion may differ between neighbouring knots of a first transient.
_LAYER = 3.0


def homogeneous_model(chain: Chain, q: int, criterion: Criterion | None = None) -> WienerModel:
    """Fit one smoothing scale for all times; the noise follows in closed form.

    Parameters
    ----------
    criterion : callable, optional
        What to minimise, from a walk with unit noise; by default minus the restricted log likelihood.
    """
    from scipy.optimize import minimize_scalar

    backward = criterion is not None
    judge = criterion or _restricted

    def model_at(log_scale: float) -> WienerModel:
        scale = math.exp(log_scale)
        return WienerModel(q, scale, 1.0, np.full(len(chain.steps), chain.spacing / scale), UNINFORMED)

    def loss(log_scale: float) -> float:
        return judge(evaluate(chain, model_at(log_scale), backward))

    longest = max(chain.times[b - 1] - chain.times[a] for a, b in chain.bounds)
    low = math.log(chain.spacing / 2)
    grid = np.linspace(low, max(math.log(max(longest, chain.spacing)), low + 1.0), _GRID)
    losses = [loss(point) for point in grid]
    best = int(np.argmin(losses))
    bracket = (grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)])
    found = float(minimize_scalar(loss, bounds=bracket, method="bounded", options={"xatol": 0.05}).x)
    model = model_at(found)
    walk = evaluate(chain, model, backward=False)
    noise = max(walk.quadratic / walk.freedom, 1e-30)
    return WienerModel(q, model.scale, noise, model.diffusions * noise, UNINFORMED * noise**0.5)


def _restricted(walk: Filtered) -> float:
    """Minus the log likelihood with the noise at its best value."""
    noise = max(walk.quadratic / walk.freedom, 1e-300)
    return -walk.restricted - 0.5 * walk.quadratic + 0.5 * walk.freedom * math.log(noise)


@dataclass(frozen=True)
class _Knots:
    """Knots for the logarithm of the diffusion: linear between them, a random walk along them."""

    count: int
    left: NDArray[np.intp]
    share: Array
    links: NDArray[np.intp]
    precision: Array

    def spread(self, heights: Array) -> Array:
        right = np.minimum(self.left + 1, self.count - 1)
        return heights[self.left] * (1 - self.share) + heights[right] * self.share

    def gather(self, slopes: Array) -> Array:
        right = np.minimum(self.left + 1, self.count - 1)
        return np.asarray(
            np.bincount(self.left, slopes * (1 - self.share), self.count)
            + np.bincount(right, slopes * self.share, self.count)
        )


def _places(length: float, spacing: float, least: float) -> tuple[Array, int]:
    """Return knots from 0 to `length`, and how many of their intervals are the narrow first ones.

    What follows a start or a breakpoint is often a fast transient, so the first interval is divided.
    """
    if not length > 0:
        return np.zeros(1), 0
    even = np.linspace(0, length, max(1, round(length / spacing)) + 1)
    early = even[1] * np.array([0.125, 0.25, 0.5])
    early = early[early >= least]
    return np.concatenate([[0.0], early, even[1:]]), len(early) + 1 if len(early) else 0


def _lay_knots(chain: Chain, scale: float, spacing: float, roughness: float) -> _Knots:
    left = np.zeros(len(chain.steps), dtype=np.intp)
    share = np.zeros(len(chain.steps))
    links: list[tuple[int, int]] = []
    precision: list[float] = []
    lengths = [chain.times[b - 1] - chain.times[a] for a, b in chain.bounds]
    spacing = max(spacing, sum(lengths) / scale / MAX_KNOTS)
    first = 0
    for (a, b), length in zip(chain.bounds, lengths, strict=True):
        places, free = _places(length, spacing * scale, 2 * chain.spacing)
        if first:
            # Pieces tell each other only roughly how large the diffusion is.
            links.append((first - 1, first))
            precision.append(1e-3)
        left[a:b] = first
        if length > 0:
            middles = np.clip(chain.times[a:b] - chain.steps[a:b] / 2 - chain.times[a], 0, length)
            cell = np.clip(np.searchsorted(places, middles, side="right") - 1, 0, len(places) - 2)
            gaps = np.diff(places)
            left[a:b] += cell
            share[a:b] = (middles - places[cell]) / gaps[cell]
            links += [(first + k, first + k + 1) for k in range(len(gaps))]
            tight = scale / (gaps * roughness**2)
            tight[:free] = np.minimum(tight[:free], 1 / _LAYER**2)
            precision += tight.tolist()
        first += len(places)
    return _Knots(
        first, left, share, np.array(links, dtype=np.intp).reshape(-1, 2), np.array(precision, dtype=float)
    )


def local_model(
    chain: Chain, start: WienerModel, roughness: float = 2.0, spacing: float = 1.0
) -> WienerModel:
    """Let the diffusion vary over time, by the largest posterior density of its logarithm.

    The logarithm is a random walk over knots `spacing` smoothing scales apart, which moves by `roughness`
    per scale. Spikes and relaxation jumps get the freedom they need, slow stretches are smoothed well.
    """
    from scipy.optimize import minimize

    knots = _lay_knots(chain, start.scale, spacing, roughness)
    tail, head = knots.links[:, 0], knots.links[:, 1]
    ridge = 1.0 / (9.0 * knots.count)

    def model_at(parameters: Array) -> WienerModel:
        diffusions = start.diffusions * np.exp(knots.spread(parameters[1:]))
        return WienerModel(start.q, start.scale, math.exp(parameters[0]), diffusions, start.uninformed)

    def loss(parameters: Array) -> tuple[float, Array]:
        heights = parameters[1:]
        walk = evaluate(chain, model_at(parameters))
        bend = heights[head] - heights[tail]
        pull = knots.precision * bend
        penalty = 0.5 * float(pull @ bend) + 0.5 * ridge * float(heights @ heights)
        slope = np.bincount(head, pull, knots.count) - np.bincount(tail, pull, knots.count) + ridge * heights
        gradient = np.concatenate([[-walk.by_noise], slope - knots.gather(walk.by_diffusion)])
        return penalty - walk.restricted, gradient

    log_noise = math.log(start.noise)
    bounds = [(log_noise - 8, log_noise + 3)] + [(-25.0, 25.0)] * knots.count
    iterations = MAX_ITERATIONS if len(chain.steps) <= LARGE else MAX_ITERATIONS // 4
    answer = minimize(
        loss,
        np.concatenate([[log_noise], np.zeros(knots.count)]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": iterations, "ftol": 1e-7},
    )
    return model_at(answer.x)
