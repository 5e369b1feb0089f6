"""Confidence intervals of rates."""

from __future__ import annotations

from math import sqrt

#: Quantile of the normal distribution for 95 %.
_Z = 1.959963984540054


def wilson(successes: float, trials: int) -> tuple[float, float]:
    """Return the 95 % score interval of Wilson for a rate.

    Examples
    --------
    >>> low, high = wilson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if trials == 0:
        return (0.0, 1.0)
    rate, z2 = successes / trials, _Z**2
    middle = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z / (1 + z2 / trials) * sqrt(rate * (1 - rate) / trials + z2 / (4 * trials**2))
    return (max(0.0, middle - half), min(1.0, middle + half))


def rate_text(successes: int, trials: int) -> str:
    """Return a rate with its interval as text.

    Examples
    --------
    >>> rate_text(8, 10)
    '80.0 % [49.0, 94.3]'
    """
    if trials == 0:
        return "–"
    low, high = wilson(successes, trials)
    return f"{100 * successes / trials:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
