"""Experiments cut into arrays as PySINDy takes them: one trajectory per segment between input steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError
from fepysr_dyn.trajectories import Trajectories, segments

Array = NDArray[np.float64]

#: A piece needs this many samples: the stencils of fourth order are five wide.
MIN_SAMPLES = 8


@dataclass(frozen=True)
class Piece:
    """Samples between two breakpoints: nothing in it jumps.

    Parameters
    ----------
    states, inputs : array
        Shapes (samples, states) and (samples, inputs).
    """

    times: Array
    states: Array
    inputs: Array

    @property
    def uniform(self) -> bool:
        """Whether the samples are equally spaced, to rounding."""
        steps = np.diff(self.times)
        return bool(np.ptp(steps) <= 1e-6 * np.median(steps))


def pieces_of(trajectories: Trajectories) -> list[Piece]:
    """Cut every experiment at its breakpoints; samples with a missing state are left out.

    Raises
    ------
    DataError
        If no piece is long enough to be differentiated.
    """
    pieces, longest = [], 0
    for run in trajectories:
        times = run["time"].to_numpy()
        states = np.column_stack([run[name].to_numpy() for name in trajectories.states])
        inputs = [run[name].to_numpy() for name in trajectories.inputs]
        for segment in segments(run):
            t, x = times[segment], states[segment]
            present = np.isfinite(x).all(axis=1)
            longest = max(longest, int(present.sum()))
            levels = [_filled(t, values[segment]) for values in inputs]
            if present.sum() < MIN_SAMPLES or any(level is None for level in levels):
                continue
            u = np.column_stack([level for level in levels if level is not None]) if levels else x[:, :0]
            pieces.append(Piece(t[present], x[present], u[present]))
    if not pieces:
        raise DataError(
            f"expected at least {MIN_SAMPLES} samples with all states between two input steps, found at "
            f"most {longest}; sample more densely"
        )
    return pieces


def stacked(pieces: Sequence[Piece]) -> tuple[Array, Array]:
    """Return all states and all inputs, piece below piece."""
    return np.vstack([piece.states for piece in pieces]), np.vstack([piece.inputs for piece in pieces])


def _filled(times: Array, values: Array) -> Array | None:
    """Interpolate the missing values of an input within its segment."""
    present = np.isfinite(values)
    if not present.any():
        return None
    return np.asarray(np.interp(times, times[present], values[present]))
