"""Local polynomials: Savitzky-Golay on any grid, with the window and the degree chosen by the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fepysr_dyn.derivatives.base import Array, Estimate, Series
from fepysr_dyn.derivatives.noise import noise_level
from fepysr_dyn.derivatives.segments import by_segment
from fepysr_dyn.derivatives.stencils import nearest_window
from fepysr_dyn.errors import OptionError

MAX_DEGREE = 6
# An even degree costs a first derivative no more noise in the interior than the odd degree below it.
_DEGREES = (2, 4)
_MAX_WINDOW = 301
_SAMPLED = 2000
_CHUNK_ENTRIES = 1_000_000


@dataclass(frozen=True)
class LocalPolynomial:
    """A polynomial fitted to the samples around each point, near ones counting most (tricube weights).

    The standard error holds the noise that passes and the bias, estimated by a fit of higher degree.

    Parameters
    ----------
    degree : int, optional
        Degree of the polynomials, up to 6; 2 or 4 by leave-one-out cross-validation if not given.
    window : int, optional
        Number of samples per fit; by the same cross-validation if not given.
    """

    degree: int | None = None
    window: int | None = None

    def __post_init__(self) -> None:
        if self.degree is not None and not 1 <= self.degree <= MAX_DEGREE:
            raise OptionError(f"expected a degree from 1 to {MAX_DEGREE}, got {self.degree}")
        least = 3 if self.degree is None else self.degree + 1
        if self.window is not None and self.window < least:
            raise OptionError(f"expected a window of at least {least} samples, got {self.window}")

    @property
    def name(self) -> str:
        """The registered name."""
        return "local_polynomial"

    def estimate(self, series: Series) -> Estimate:
        """Fit around every time stamp, within its piece."""
        degree, window = self._choose(series)
        noise = _residual_noise(series, degree, window)

        def fit(times: Array, values: Array, at: Array) -> tuple[Array, Array, Array, Array]:
            plain = _fit(times, values, at, degree, window)
            finer = _fit(times, values, at, degree + 2, window)
            half = min(window, len(times)) // 2
            bias = [_local_mean((finer[i] - plain[i]) ** 2, half) for i in (0, 2)]
            # What noise alone puts between the two fits is no bias.
            chance = [noise**2 * np.maximum(finer[i] ** 2 - plain[i] ** 2, 0) for i in (1, 3)]
            extra = [np.maximum(b - c, 0) for b, c in zip(bias, chance, strict=True)]
            values_se = np.sqrt((noise * plain[1]) ** 2 + extra[0])
            return plain[0], values_se, plain[2], np.sqrt((noise * plain[3]) ** 2 + extra[1])

        values, values_se, rates, rates_se = by_segment(series, fit)
        how = "as asked for" if self.degree and self.window else "chosen by leave-one-out cross-validation"
        reason = f"{how}, which leaves noise of {noise:.2g}"
        settings = f"degree {degree}, windows of {window} samples"
        return Estimate(values, values_se, rates, rates_se, self.name, settings, reason)

    def _choose(self, series: Series) -> tuple[int, int]:
        longest = max(int(np.sum(np.isfinite(series.values[piece]))) for piece in series.pieces)
        degrees = _DEGREES if self.degree is None else (self.degree,)
        options = []
        for degree in degrees:
            if self.window is not None:
                options.append((degree, self.window))
                continue
            top = max(min(longest, _MAX_WINDOW), degree + 2)
            options += [
                (degree, int(w)) for w in np.unique(np.geomspace(degree + 2, top, 14).round()).astype(int)
            ]
        if len(options) == 1:
            return options[0]
        return min(options, key=lambda option: _left_out_error(series, *option))


def _pieces(series: Series) -> list[tuple[Array, Array]]:
    answer = []
    for piece in series.pieces:
        times, values = series.times[piece], series.values[piece]
        seen = np.isfinite(values)
        if seen.sum() >= 2:
            answer.append((times[seen], values[seen]))
    return answer


def _left_out_error(series: Series, degree: int, window: int) -> float:
    """Return the mean squared prediction error of left-out samples, from a spread of samples."""
    total, count = 0.0, 0
    pieces = _pieces(series)
    step = max(1, sum(len(times) for times, _ in pieces) // _SAMPLED)
    for times, values in pieces:
        index = np.arange(0, len(times), step)
        fitted, _, _, _, own = _fit(times, values, times[index], degree, window)
        left = np.maximum(1 - own, 1e-3)
        total += float(np.sum(((values[index] - fitted) / left) ** 2))
        count += len(index)
    return total / max(count, 1)


def _residual_noise(series: Series, degree: int, window: int) -> float:
    """Return the noise level; from residuals where the fit leaves enough of them."""
    squares, freedom = 0.0, 0.0
    for times, values in _pieces(series):
        fitted, gain, _, _, own = _fit(times, values, times, degree, window)
        squares += float(np.sum((values - fitted) ** 2))
        freedom += float(np.sum(1 - 2 * own + gain**2))
    return (squares / freedom) ** 0.5 if freedom > 3 else noise_level(series)


def _fit(
    times: Array, values: Array, at: Array, degree: int, window: int
) -> tuple[Array, Array, Array, Array, Array]:
    """Return value, noise gain of the value, slope, noise gain of the slope, weight of the nearest sample."""
    window = min(window, len(times))
    degree = min(degree, window - 1)
    size = max(1, _CHUNK_ENTRIES // (window * (degree + 1)))
    parts = [
        _fit_chunk(times, values, at[start : start + size], degree, window)
        for start in range(0, len(at), size)
    ]
    value, value_gain, slope, slope_gain, own = np.concatenate(parts, axis=1)
    return value, value_gain, slope, slope_gain, own


def _fit_chunk(times: Array, values: Array, at: Array, degree: int, window: int) -> Array:
    index = nearest_window(times, at, window)[:, None] + np.arange(window)
    offsets = times[index] - at[:, None]
    reach = np.abs(offsets).max(axis=1, keepdims=True)
    offsets = offsets / reach
    # The farthest sample keeps some weight, otherwise a window of degree + 1 samples would be singular.
    kernel = (1 - np.abs(offsets / (1 + 1 / window)) ** 3) ** 3
    powers = offsets[:, :, None] ** np.arange(degree + 1)
    weighted = powers * np.sqrt(kernel)[:, :, None]
    q, r = np.linalg.qr(weighted)
    unit = np.zeros((len(at), degree + 1, 2))
    unit[:, 0, 0] = unit[:, 1, 1] = 1.0
    rows = np.einsum("nwd,ndk->nwk", q, np.linalg.solve(np.swapaxes(r, 1, 2), unit))
    rows *= np.sqrt(kernel)[:, :, None]
    samples = values[index]
    base = samples[:, window // 2]
    samples = samples - base[:, None]
    nearest = np.argmin(np.abs(offsets), axis=1)
    return np.array(
        [
            base + np.einsum("nw,nw->n", rows[:, :, 0], samples),
            np.linalg.norm(rows[:, :, 0], axis=1),
            np.einsum("nw,nw->n", rows[:, :, 1], samples) / reach[:, 0],
            np.linalg.norm(rows[:, :, 1], axis=1) / reach[:, 0],
            rows[np.arange(len(at)), nearest, 0],
        ]
    )


def _local_mean(values: Array, half: int) -> Array:
    total = np.concatenate([[0.0], np.cumsum(values)])
    index = np.arange(len(values))
    low, high = np.maximum(index - half, 0), np.minimum(index + half + 1, len(values))
    return np.asarray((total[high] - total[low]) / (high - low))
