"""Derivatives as PySINDy makes them, piece by piece: plain and smoothed finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fepysr_dyn.baselines.pieces import Array, Piece

#: Windows of the Savitzky-Golay filter before differencing, in samples; 0 is none.
WINDOWS = (0, 11, 51)


def usable_windows(pieces: Sequence[Piece]) -> tuple[int, ...]:
    """Return the windows that fit; the filter takes equal spacing for granted."""
    longest = max(len(piece.times) for piece in pieces)
    uniform = all(piece.uniform for piece in pieces)
    return tuple(window for window in WINDOWS if window == 0 or (uniform and window < longest))


def differentiated(ps: Any, pieces: Sequence[Piece], window: int) -> tuple[list[Piece], list[Array]]:
    """Return the pieces with smoothed states, and the rates of each."""
    smooth, rates = [], []
    for piece in pieces:
        method = _method(ps, window, len(piece.times))
        rates.append(np.asarray(method(piece.states, piece.times), dtype=float))
        smooth.append(Piece(piece.times, np.asarray(method.smoothed_x_, dtype=float), piece.inputs))
    return smooth, rates


def _method(ps: Any, window: int, samples: int) -> Any:
    if not window:
        return ps.FiniteDifference(order=4)
    # A piece shorter than the window gets the widest odd one it can take.
    width = min(window, samples - 1 + samples % 2)
    return ps.SmoothedFiniteDifference(
        order=4, smoother_kws={"window_length": width, "polyorder": 3, "axis": 0}
    )


def thinned(pieces: Sequence[Piece], rates: Sequence[Array], rows: int) -> tuple[list[Piece], list[Array]]:
    """Keep every n-th sample so that at most about `rows` remain; rates are known by now."""
    total = sum(len(piece.times) for piece in pieces)
    every = max(1, -(-total // rows))
    kept = [Piece(piece.times[::every], piece.states[::every], piece.inputs[::every]) for piece in pieces]
    return kept, [rate[::every] for rate in rates]
