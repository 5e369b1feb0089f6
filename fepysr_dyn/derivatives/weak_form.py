"""The weak form: integrals against test functions instead of derivatives.

For a test function φ that vanishes at the ends of its support, ``∫ φ f dt = -∫ φ' x dt`` whenever
``dx/dt = f``. Both integrals are linear in samples: the first is the measurement operator for any candidate
f, the second gives the target, and no noisy sample is ever differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.derivatives.base import Array, Series
from fepysr_dyn.derivatives.estimation import series_of
from fepysr_dyn.derivatives.noise import noise_level, rounding_level
from fepysr_dyn.derivatives.stencils import interpolation_weights, nearest_window
from fepysr_dyn.errors import DataError, OptionError, did_you_mean
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr
    from scipy.sparse import csr_array

MIN_WIDTH = 8
_MAX_DEFAULT_WIDTH = 80
_NODES = 6
_GAUSS = 8


@dataclass(frozen=True)
class WeakForm:
    """Rows ``measurement @ f(samples) ≈ target`` for the rate f of one state.

    Parameters
    ----------
    measurement : array, shape (rows, samples)
        Weights of the integral of a rate against each test function. The samples of all experiments follow
        one another. A sample with any missing value has zeros; `complete` tells which can be left out.
    target : array, shape (rows,)
        What the integrals are, from the samples of the state itself.
    weights : array, shape (rows,)
        One over the variance of each target.
    gain : array, shape (rows, samples)
        ``target = gain @ state``: the target's covariance is ``noise**2 * gain @ gain.T``.
    complete : array of bool, shape (samples,)
        Where all states and inputs are known.
    experiment : array of int, shape (rows,)
        The experiment each row comes from.
    noise : float
        Estimated standard deviation of the state's samples.
    """

    measurement: Array
    target: Array
    weights: Array
    gain: Array
    complete: NDArray[np.bool_]
    experiment: NDArray[np.intp]
    noise: float

    @property
    def covariance(self) -> Array:
        """Covariance of the targets: test functions that overlap share noise."""
        return np.asarray(self.noise**2 * self.gain @ self.gain.T)


def weak_form(
    trajectories: Trajectories,
    state: str,
    *,
    width: int | None = None,
    overlap: float = 0.75,
    power: int = 6,
) -> WeakForm:
    """Return the weak form of one state over all experiments.

    Test functions are bumps ``(1 - s**2)**power`` over `width` samples of one segment; none reaches across a
    breakpoint. The integrals are exact for polynomials of degree five between samples, on any grid.

    Parameters
    ----------
    width : int, optional
        Samples under each test function, at least 8; by default a third of the longest segment, from 8 to
        80. A shorter segment gets one test function over all of it if it has 8 samples.
    overlap : float
        Share of a test function's support that its neighbour covers too, from 0 to below 1.
    power : int
        Smoothness of the test functions, from 2 to 12.

    Raises
    ------
    DataError
        If no segment has 8 samples.
    """
    if state not in trajectories.states:
        names = ", ".join(trajectories.states)
        hint = did_you_mean(state, trajectories.states)
        raise OptionError(f"expected a state out of {names}, found '{state}'{hint}")
    if width is not None and width < MIN_WIDTH:
        raise OptionError(f"expected test functions over at least {MIN_WIDTH} samples, got {width}")
    if not 0 <= overlap < 1:
        raise OptionError(f"expected an overlap from 0 to below 1, got {overlap}")
    if not 2 <= power <= 12:
        raise OptionError(f"expected a power from 2 to 12, got {power}")
    runs = [(series_of(run, state), _complete(run)) for run in trajectories]
    longest = max(
        (len(_usable(series, complete, piece)) for series, complete in runs for piece in series.pieces),
        default=0,
    )
    if longest < MIN_WIDTH:
        raise DataError(
            f"the weak form of '{state}' needs {MIN_WIDTH} complete samples between two breakpoints, found "
            f"{longest} at most; use pointwise derivatives"
        )
    if width is None:
        width = min(max(longest // 3, MIN_WIDTH), _MAX_DEFAULT_WIDTH)
    blocks = [_experiment_rows(*run, width, overlap, power) for run in runs]
    return _assemble(runs, blocks)


def _complete(run: xr.Dataset) -> NDArray[np.bool_]:
    known = [
        np.isfinite(values.to_numpy())
        for values in run.data_vars.values()
        if values.attrs.get("role") in ("state", "input")
    ]
    return np.asarray(np.logical_and.reduce(known))


def _usable(series: Series, complete: NDArray[np.bool_], piece: slice) -> NDArray[np.intp]:
    return np.asarray(np.flatnonzero(complete[piece]) + piece.start)


def _experiment_rows(
    series: Series, complete: NDArray[np.bool_], width: int, overlap: float, power: int
) -> tuple[Array, Array]:
    """Return the rows of one experiment: integrals against φ, and against minus its derivative."""
    plain, bent = [], []
    for piece in series.pieces:
        usable = _usable(series, complete, piece)
        if len(usable) < MIN_WIDTH:
            continue
        times = series.times[usable]
        columns = np.array(_segment_rows(times, min(width, len(usable)), overlap, power))
        full = np.zeros((2, columns.shape[1], len(series.times)))
        full[:, :, usable] = columns
        plain.append(full[0])
        bent.append(full[1])
    if not plain:
        nothing = np.zeros((0, len(series.times)))
        return nothing, nothing
    return np.concatenate(plain), np.concatenate(bent)


def _segment_rows(times: Array, width: int, overlap: float, power: int) -> tuple[Array, Array]:
    shift = max(1, round((width - 1) * (1 - overlap)))
    last = len(times) - width
    # The last test function ends with the segment, so that no sample is left out.
    starts = np.unique(np.append(np.arange(0, last + 1, shift), last))
    rows = [_one_row(times[start : start + width], power) for start in starts]
    plain, bent = np.zeros((2, len(starts), len(times)))
    for i, (start, (against, derivative)) in enumerate(zip(starts, rows, strict=True)):
        plain[i, start : start + width] = against
        bent[i, start : start + width] = derivative
    return plain, bent


def _one_row(times: Array, power: int) -> tuple[Array, Array]:
    """Return the weights of both integrals over one support, by Gauss points between the samples."""
    points, shares = np.polynomial.legendre.leggauss(_GAUSS)
    gaps = np.diff(times)
    at = (times[:-1, None] + gaps[:, None] * (points + 1) / 2).ravel()
    amounts = (gaps[:, None] * shares / 2).ravel()
    centre, half = (times[0] + times[-1]) / 2, (times[-1] - times[0]) / 2
    s = (at - centre) / half
    bump = (1 - s**2) ** power
    slope = -2 * power * s * (1 - s**2) ** (power - 1) / half
    spread = _interpolation(times, at)
    return np.asarray(spread.T @ (amounts * bump)), np.asarray(spread.T @ (-amounts * slope))


def _interpolation(times: Array, at: Array) -> csr_array:
    from scipy.sparse import csr_array

    nodes = min(_NODES, len(times))
    first = nearest_window(times, at, nodes)
    index = first[:, None] + np.arange(nodes)
    weights, _ = interpolation_weights(times[index], at)
    offsets = np.arange(0, len(at) * nodes + 1, nodes)
    return csr_array((weights.ravel(), index.ravel(), offsets), shape=(len(at), len(times)))


def _assemble(runs: list[tuple[Series, NDArray[np.bool_]]], blocks: list[tuple[Array, Array]]) -> WeakForm:
    rows, samples = sum(len(plain) for plain, _ in blocks), sum(len(series.times) for series, _ in runs)
    measurement, gain = np.zeros((2, rows, samples))
    row = column = 0
    owners = []
    for i, ((series, _), (plain, bent)) in enumerate(zip(runs, blocks, strict=True)):
        place = np.s_[row : row + len(plain), column : column + len(series.times)]
        measurement[place], gain[place] = plain, bent
        owners.append(np.full(len(plain), i))
        row, column = row + len(plain), column + len(series.times)
    complete = np.concatenate([mask for _, mask in runs])
    values = np.concatenate([series.values for series, _ in runs])
    noise = max(
        float(np.median([noise_level(series) for series, _ in runs])), rounding_level(values[complete])
    )
    variance = noise**2 * np.sum(gain**2, axis=1)
    target = gain[:, complete] @ values[complete]
    return WeakForm(measurement, target, 1 / variance, gain, complete, np.concatenate(owners), noise)
