"""Numbers to places on the page, and the numbers worth writing at an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """A range of numbers laid out between two places, linearly or by logarithm."""

    low: float
    high: float
    start: float
    stop: float
    logarithmic: bool = False

    def __call__(self, values: Array | float) -> Array:
        """Return the places of numbers."""
        low, high, numbers = self.low, self.high, np.asarray(values, dtype=float)
        if self.logarithmic:
            low, high = math.log10(low), math.log10(high)
            numbers = np.log10(np.maximum(numbers, self.low * 1e-3))
        return np.asarray(self.start + (numbers - low) / (high - low) * (self.stop - self.start))

    def at(self, value: float) -> float:
        """Return the place of one number."""
        return float(self(value))

    def ticks(self, count: int) -> list[float]:
        """Return about so many round numbers inside the range."""
        return (
            _decades(self.low, self.high, count) if self.logarithmic else _round(self.low, self.high, count)
        )


def padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """Return a range with some air around it; one of no width gets one."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return 0.0, 1.0
    width = high - low
    if width <= 1e-12 * max(abs(low), abs(high)):
        width = abs(high) or 1.0
        return low - 0.5 * width, high + 0.5 * width
    return low - share * width, high + share * width


def tick_text(value: float, step: float) -> str:
    """Write a number as finely as its distance to the next one asks for.

    Examples
    --------
    >>> tick_text(0.30000000000000004, 0.1), tick_text(2e-14, 1e-14), tick_text(-20.0, 10.0)
    ('0.3', '2·10⁻¹⁴', '−20')
    """
    if abs(value) < 1e-9 * step:
        return "0"
    size = math.floor(math.log10(abs(value)) + 1e-9)
    if -4 < size < 6:
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        text = f"{value:.{decimals}f}"
    else:
        power = math.floor(math.log10(step) + 1e-9)
        mantissa = f"{value / 10.0**size:.{max(0, size - power)}f}"
        ten = "10" + str(size).translate(_SUPERSCRIPTS)
        text = ten if mantissa == "1" else f"−{ten}" if mantissa == "-1" else f"{mantissa}·{ten}"
    return text.replace("-", "−")


def decade_text(value: float) -> str:
    """Write a power of ten."""
    return "10" + str(round(math.log10(value))).translate(_SUPERSCRIPTS)


def _round(low: float, high: float, count: int) -> list[float]:
    size = 10.0 ** math.floor(math.log10((high - low) / max(1, count)))
    # On a strip with room for two or three numbers, ±4 is better than five of them.
    factors = (0.2, 0.5, 1, 2, 5, 10) if count > 2 else (0.5, 1, 2, 3, 4, 5, 6, 8, 10)
    steps = [size * factor for factor in factors]
    # The widest step that leaves enough numbers; two at least, or an axis has no scale.
    fits = [step for step in steps if len(_multiples(low, high, step)) >= max(2, count - 1)]
    return _multiples(low, high, max(fits, default=steps[0]))


def _multiples(low: float, high: float, step: float) -> list[float]:
    return [step * k for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float, count: int) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    every = max(1, math.ceil((last - first) / max(1, count)))
    return [10.0**k for k in range(first, last + 1) if k % every == 0]
