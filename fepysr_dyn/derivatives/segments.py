"""Segment by segment: what every estimator that looks at one piece at a time has in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fepysr_dyn.derivatives.base import Array, Series

PieceFit = Callable[[Array, Array, Array], tuple[Array, Array, Array, Array]]
"""Observed times, observed values and all time stamps of a piece in; values, their standard errors,
derivatives, their standard errors at the time stamps out."""


def by_segment(series: Series, fit: PieceFit) -> tuple[Array, Array, Array, Array]:
    """Run a fit on the observed samples of each piece and put the answers together.

    A piece with a single observed sample keeps that value and has NaN for the derivative; one without any
    has NaN throughout.
    """
    answer = tuple(np.full(len(series.times), np.nan) for _ in range(4))
    for piece in series.pieces:
        at, values = series.times[piece], series.values[piece]
        seen = np.isfinite(values)
        if seen.sum() < 2:
            answer[0][piece] = values
            continue
        for target, part in zip(answer, fit(at[seen], values[seen], at), strict=True):
            target[piece] = part
    values_, values_se, rates, rates_se = answer
    return values_, values_se, rates, rates_se
