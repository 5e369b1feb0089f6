"""How large the measurement noise is, from the data alone."""

from __future__ import annotations

import numpy as np

from fepysr_dyn.derivatives.base import Array, Series
from fepysr_dyn.derivatives.stencils import divided_difference_weights

MAX_DIFFERENCE = 12
_CHUNK = 100_000
# The median of |z| for a standard normal z.
_NORMAL_MEDIAN = 0.6744897501960817


def noise_level(series: Series) -> float:
    """Estimate the standard deviation of white measurement noise; never below rounding.

    Divided differences of rising order remove more and more of the signal, while weights of unit norm leave
    the noise as it is. The lowest order whose robust scale is about the smallest one gives the noise.

    Examples
    --------
    >>> from fepysr_dyn.derivatives.base import make_series
    >>> t = np.linspace(0.0, 6.0, 500)
    >>> noise = np.random.default_rng(0).normal(0.0, 0.1, 500)
    >>> bool(abs(noise_level(make_series(t, np.sin(t) + noise)) - 0.1) < 0.02)
    True
    """
    floor = rounding_level(series.values)
    found = [scale for order in range(1, MAX_DIFFERENCE + 1) if (scale := _scale(series, order)) is not None]
    levelled = [scale for scale in found if scale <= 1.25 * min(found)]
    return max(levelled[0], floor) if found else floor


def rounding_level(values: Array) -> float:
    """Return the standard deviation that rounding to double precision leaves in the largest value."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return max(largest * 1e-16, 1e-150)


def _scale(series: Series, order: int) -> float | None:
    contrasts = []
    for piece in series.pieces:
        times, values = series.times[piece], series.values[piece]
        seen = np.isfinite(values)
        times, values = times[seen], values[seen]
        if len(times) >= 2 * order + 1:
            contrasts.append(_contrasts(times, values - values.mean(), order))
    if not contrasts:
        return None
    everything = np.concatenate(contrasts)
    return float(np.median(np.abs(everything))) / _NORMAL_MEDIAN


def _contrasts(times: Array, values: Array, order: int) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(times, order + 1)
    stacked = np.lib.stride_tricks.sliding_window_view(values, order + 1)
    # A spread of windows is enough for a scale and keeps a million samples cheap.
    step = max(1, len(windows) // _CHUNK)
    weights = divided_difference_weights(windows[::step])
    return np.asarray(np.einsum("ij,ij->i", weights, stacked[::step]))
