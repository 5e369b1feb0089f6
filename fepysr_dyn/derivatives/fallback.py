"""Pieces too short for a smoother get low-order finite differences instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fepysr_dyn.derivatives.base import Estimate, Series
from fepysr_dyn.derivatives.finite_differences import FiniteDifferences


def with_fallback(series: Series, least: int, smooth: Callable[[Series], Estimate]) -> Estimate:
    """Smooth a series if any of its pieces has `least` samples; short pieces take finite differences.

    Parameters
    ----------
    least : int
        The fewest observed samples of a piece from which the smoother can tell noise from signal.
    """
    counts = [int(np.sum(np.isfinite(series.values[piece]))) for piece in series.pieces]
    if max(counts) < least:
        answer = FiniteDifferences(order=None).estimate(series)
        return replace(answer, reason=f"fewer than {least} samples between breakpoints; {answer.reason}")
    answer = smooth(series)
    short = [piece for piece, count in zip(series.pieces, counts, strict=True) if count < least]
    if not short:
        return answer
    simple = FiniteDifferences().estimate(series)
    columns = [np.array(part) for part in (answer.values, answer.values_se, answer.rates, answer.rates_se)]
    for piece in short:
        parts = (simple.values, simple.values_se, simple.rates, simple.rates_se)
        for column, part in zip(columns, parts, strict=True):
            column[piece] = part[piece]
    values, values_se, rates, rates_se = columns
    note = f"{answer.reason}; {len(short)} short pieces by finite differences"
    return Estimate(values, values_se, rates, rates_se, answer.method, answer.settings, note)
