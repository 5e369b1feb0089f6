"""Finite differences of any order on any grid, for data with next to no noise."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from fepysr_dyn.derivatives.base import Array, Estimate, Series
from fepysr_dyn.derivatives.noise import noise_level
from fepysr_dyn.derivatives.segments import by_segment
from fepysr_dyn.derivatives.stencils import interpolation_weights, nearest_window
from fepysr_dyn.errors import OptionError

MAX_ORDER = 14
_CHUNK = 8_192
# Orders that come closer to each other by less than this are not trusted to converge any faster.
_SLOWEST = 0.95


@dataclass(frozen=True)
class FiniteDifferences:
    """Derivatives of the polynomial through the nearest samples.

    Each order p takes the p + 1 nearest samples, one-sided at the ends of a segment. The standard error holds
    the noise that the weights let through and the difference to the next order as the truncation error.

    Parameters
    ----------
    order : int, optional
        The order everywhere. By default every point takes the order with the smallest standard error: high
        where the signal is smooth and exact, low where noise or a fast change would be amplified.
    noise : float, optional
        Standard deviation of the measurement noise; estimated if not given.
    """

    order: int | None = None
    noise: float | None = None

    def __post_init__(self) -> None:
        if self.order is not None and not 1 <= self.order <= MAX_ORDER:
            raise OptionError(
                f"expected an order of finite differences from 1 to {MAX_ORDER}, got {self.order}"
            )

    @property
    def name(self) -> str:
        """The registered name."""
        return "finite_differences"

    def estimate(self, series: Series) -> Estimate:
        """Differentiate every piece of the series."""
        noise = noise_level(series) if self.noise is None else self.noise
        orders: list[Array] = []

        def fit(times: Array, values: Array, at: Array) -> tuple[Array, Array, Array, Array]:
            *answer, used = self._fit(times, values, at, noise)
            orders.append(used)
            return answer[0], answer[1], answer[2], answer[3]

        values, values_se, rates, rates_se = by_segment(series, fit)
        used = np.concatenate(orders) if orders else np.zeros(1)
        low, middle, high = (int(number) for number in np.percentile(used, [0, 50, 100]))
        settings = f"order {low}" if low == high else f"orders {low} to {high}, mostly {middle}"
        how = "as asked for" if self.order else "each point took the order with the smallest estimated error"
        reason = f"{how}, with noise of standard deviation {noise:.2g}"
        return Estimate(values, values_se, rates, rates_se, self.name, settings, reason)

    def _fit(
        self, times: Array, values: Array, at: Array, noise: float
    ) -> tuple[Array, Array, Array, Array, Array]:
        most = len(times) - 1
        wanted = range(2, MAX_ORDER + 3, 2) if self.order is None else (self.order, self.order + 2)
        orders = [order for order in wanted if order <= most] or [most]
        if self.order is not None and orders[0] == most and most > 1:
            orders = [most, most - 1]
        tables = [_differentiate(times, values, at, order) for order in orders]
        errors = _errors(tables, noise)
        choice = np.argmin(errors, axis=0) if self.order is None else np.zeros(len(at), dtype=int)
        pick = (choice, np.arange(len(at)))
        rates = np.array([table[2] for table in tables])[pick]
        smooth = np.array([table[0] for table in tables])[pick]
        smooth_gain = np.array([table[1] for table in tables])[pick]
        values_se = noise * smooth_gain
        if len(tables) > 1:
            off = np.array([np.abs(tables[i + 1][0] - tables[i][0]) for i in range(len(tables) - 1)])
            values_se = np.hypot(values_se, off[pick])
        return smooth, values_se, rates, np.array(errors)[pick], np.array(orders)[choice]


def _differentiate(times: Array, values: Array, at: Array, order: int) -> tuple[Array, Array, Array, Array]:
    """Return values, their noise gain, derivatives and their noise gain for one order."""
    width = order + 1
    offsets = np.arange(width)
    parts = []
    for start in range(0, len(at), _CHUNK):
        points = at[start : start + _CHUNK]
        index = nearest_window(times, points, width)[:, None] + offsets
        value, slope = interpolation_weights(times[index], points)
        samples = values[index]
        # The slope weights add to zero: taking off the nearby value first keeps the digits of the rest.
        base = samples[:, width // 2]
        samples = samples - base[:, None]
        parts.append(
            np.array(
                [
                    base + np.einsum("ij,ij->i", value, samples),
                    np.linalg.norm(value, axis=1),
                    np.einsum("ij,ij->i", slope, samples),
                    np.linalg.norm(slope, axis=1),
                ]
            )
        )
    values_, value_gain, rates, rate_gain = np.concatenate(parts, axis=1)
    return values_, value_gain, rates, rate_gain


def _errors(tables: list[tuple[Array, Array, Array, Array]], noise: float) -> list[Array]:
    """Return the standard error of each order but the last: noise let through, and truncation.

    The truncation is the distance to the next order, and as much again as all later orders would add if
    the distances went on shrinking as they did last.
    """
    from scipy.ndimage import maximum_filter1d

    if len(tables) == 1:
        return [noise * tables[0][3] + np.abs(tables[0][2])]
    # A difference of two orders may vanish by chance at one point, not at all of its neighbours.
    distances = [
        maximum_filter1d(np.abs(finer[2] - coarse[2]), 5) for coarse, finer in itertools.pairwise(tables)
    ]
    errors = []
    for i, distance in enumerate(distances):
        before = distances[i - 1] if i else np.full_like(distance, np.inf)
        shrinking = np.minimum(distance / np.maximum(before, 1e-300), _SLOWEST)
        errors.append(np.hypot(noise * tables[i][3], distance / (1 - shrinking)))
    return errors
