"""Total variation of the derivative: piecewise straight signals, whose kinks nobody declared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.derivatives.base import Array, Estimate, Series, make_series
from fepysr_dyn.derivatives.fallback import with_fallback
from fepysr_dyn.derivatives.noise import noise_level
from fepysr_dyn.derivatives.segments import by_segment
from fepysr_dyn.errors import OptionError

_ITERATIONS = 60
_TOLERANCE = 1e-6
#: Keeps the steps solvable in long series: far below what a bend weighs (about one per sample).
_RIDGE = 1e-13
# Relative to the spread of a piece; exact data get this much noise, for the sake of the refit.
_LEAST_NOISE = 1e-9


@dataclass(frozen=True)
class TotalVariation:
    """Squared residuals balanced against the total variation of the derivative (l1 trend filtering).

    Solved by an interior-point method with banded matrices, in linear time. The answer bends at few places;
    between them the derivative is constant. The standard errors take that for granted; on a signal that bends
    everywhere they are too small.

    Parameters
    ----------
    penalty : float, optional
        Weight of the total variation, relative to noise variance. By default the Bayesian information
        criterion chooses, with two degrees of freedom per kink: its place and its size.
    noise : float, optional
        Standard deviation of the measurement noise; estimated if not given.
    """

    penalty: float | None = None
    noise: float | None = None

    def __post_init__(self) -> None:
        if self.penalty is not None and not self.penalty > 0:
            raise OptionError(f"expected a positive penalty, got {self.penalty}")

    @property
    def name(self) -> str:
        """The registered name."""
        return "total_variation"

    def estimate(self, series: Series) -> Estimate:
        """Fit every piece."""
        return with_fallback(series, 5, self._smooth)

    def _smooth(self, series: Series) -> Estimate:
        noise = noise_level(series) if self.noise is None else self.noise
        kinks: list[int] = []

        def fit(times: Array, values: Array, at: Array) -> tuple[Array, Array, Array, Array]:
            if len(times) < 5:
                # with_fallback replaces these
                return (np.full(len(at), np.nan),) * 4
            answer = _fit_piece(times, values, at, noise, self.penalty)
            kinks.append(answer.kinks)
            return answer.columns

        values, values_se, rates, rates_se = by_segment(series, fit)
        how = "the penalty asked for" if self.penalty else "the penalty that the BIC prefers"
        settings = f"{sum(kinks)} kinks"
        reason = f"{how}, with noise of standard deviation {noise:.2g}"
        return Estimate(values, values_se, rates, rates_se, self.name, settings, reason)


@dataclass(frozen=True)
class _Answer:
    columns: tuple[Array, Array, Array, Array]
    kinks: int


def _fit_piece(times: Array, values: Array, at: Array, noise: float, penalty: float | None) -> _Answer:
    """Return the best answer over a range of penalties, each refitted with the kinks it found."""
    span, unit = float(times[-1] - times[0]), float(np.std(values)) or 1.0
    # One time per sample and unit variance: then the same tolerances fit all data.
    t, x = (times - times[0]) * (len(times) - 1) / span, (values - np.mean(values)) / unit
    at = (at - times[0]) * (len(times) - 1) / span
    deviation = max(noise / unit, _LEAST_NOISE)
    if penalty is not None:
        # A kink of unit size is smaller by a time in these units.
        scaled = penalty * deviation**2 * (len(times) - 1) / span / unit
        best = _refit(t, x, at, _kinks(t, x, scaled), deviation)
    else:
        best = _best(t, x, at, deviation)
    slope = unit * (len(times) - 1) / span
    values_, values_se, rates, rates_se = best.columns
    columns = (np.mean(values) + unit * values_, unit * values_se, slope * rates, slope * rates_se)
    return _Answer(columns, best.kinks)


def _best(times: Array, values: Array, at: Array, noise: float) -> _Answer:
    # Above this penalty a straight line is best.
    largest = float(np.max(np.abs(_dual_of_straight_line(times, values))))
    straight = (np.zeros(0, dtype=np.intp), 1.0)
    best, best_score = _refit(times, values, at, straight, noise), np.inf
    for factor in np.geomspace(1.0, 1e-5, 17):
        found = straight if factor == 1.0 else _kinks(times, values, factor * largest)
        answer = _refit(times, values, at, found, noise)
        residual = values - answer.columns[0][np.searchsorted(at, times)]
        score = float(residual @ residual) / noise**2 + (2 + 2 * answer.kinks) * np.log(len(times))
        if score < best_score:
            best, best_score = answer, score
        elif answer.kinks > 0.5 * len(times):
            break
    return best


def _dual_of_straight_line(times: Array, values: Array) -> Array:
    """Return the multipliers that hold the signal to a straight line.

    They are the residual of that line, summed up twice: solving the banded system for them instead loses all
    digits in long series.
    """
    centred = times - np.mean(times)
    slope = float(centred @ values) / float(centred @ centred)
    residual = values - np.mean(values) - slope * centred
    return np.asarray(np.cumsum(np.cumsum(residual)[:-1] * np.diff(times)))[:-1]


def _bends(times: Array) -> Array:
    """Return the three diagonals that give the change of slope at each inner sample."""
    gaps = np.diff(times)
    left, right = 1 / gaps[:-1], 1 / gaps[1:]
    return np.array([left, -(left + right), right])


def _apply(bends: Array, values: Array) -> Array:
    return np.asarray(bends[0] * values[:-2] + bends[1] * values[1:-1] + bends[2] * values[2:])


def _gram(bends: Array) -> Array:
    """Return the bending operator times its transpose, as an upper band of width two."""
    band = np.zeros((3, bends.shape[1]))
    band[2] = np.sum(bends**2, axis=0)
    band[1, 1:] = bends[1, :-1] * bends[0, 1:] + bends[2, :-1] * bends[1, 1:]
    band[0, 2:] = bends[2, :-2] * bends[0, 2:]
    return band


def _kinks(times: Array, values: Array, penalty: float) -> tuple[NDArray[np.intp], float]:
    """Return the samples at which l1 trend filtering bends, and the spread of its slopes.

    A primal-dual interior-point method (Kim, Koh, Boyd and Gorinevsky 2009).
    """
    from scipy.linalg import solveh_banded

    bends = _bends(times)
    gram, target = _gram(bends), _apply(bends, values)
    size = bends.shape[1]
    z = np.zeros(size)
    upper, lower = np.full(size, 1.0), np.full(size, 1.0)
    for _ in range(_ITERATIONS):
        above, below = penalty - z, penalty + z
        gap = float(upper @ above + lower @ below)
        step_size = 2 * size * 2.0 / gap if gap > 0 else np.inf
        gradient = _multiply(gram, z) - target
        if gap < _TOLERANCE * max(float(np.abs(target @ z)), 1e-300):
            break
        matrix = gram.copy()
        matrix[2] += upper / above + lower / below + _RIDGE
        force = -(gradient + 1 / (step_size * above) - 1 / (step_size * below))
        move = solveh_banded(matrix, force)
        move_upper = -upper + (1 / step_size + upper * move) / above
        move_lower = -lower + (1 / step_size - lower * move) / below
        length = 1.0
        for variable, direction in ((upper, move_upper), (lower, move_lower), (above, -move), (below, move)):
            shrinking = direction < 0
            if np.any(shrinking):
                length = min(length, 0.99 * float(np.min(-variable[shrinking] / direction[shrinking])))
        z, upper, lower = z + length * move, upper + length * move_upper, lower + length * move_lower
    fitted = values.copy()
    for i in range(3):
        fitted[i : size + i] -= bends[i] * z
    slopes = np.diff(fitted) / np.diff(times)
    return np.flatnonzero(np.abs(z) > penalty * (1 - 1e-3)) + 1, float(np.std(slopes))


def _multiply(band: Array, vector: Array) -> Array:
    answer = band[2] * vector
    for k in (1, 2):
        answer[:-k] += band[2 - k, k:] * vector[k:]
        answer[k:] += band[2 - k, k:] * vector[:-k]
    return np.asarray(answer)


def _refit(
    times: Array, values: Array, at: Array, found: tuple[NDArray[np.intp], float], noise: float
) -> _Answer:
    """Smooth once more, free to bend only where a kink was found: no shrinkage, and standard errors."""
    from fepysr_dyn.derivatives.chains import UNINFORMED, WienerModel, make_chain, smooth

    kinks, bend = found
    observed = np.full(len(at), np.nan)
    observed[np.searchsorted(at, times)] = values
    chain = make_chain(make_series(at, observed))
    scale = float(times[-1] - times[0])
    deviation = noise / chain.unit
    diffusions = np.full(len(at), 1e-6 * deviation**2)
    nodes = np.searchsorted(at, times[kinks])
    # Free to take any slope around a kink; neighbouring samples share one.
    near = np.unique(np.concatenate([nodes, nodes + 1]))
    diffusions[near] = 2 * (bend * scale / chain.unit) ** 2 * scale / chain.steps[near]
    model = WienerModel(1, scale, deviation**2, diffusions, max(UNINFORMED * deviation, 1e4))
    # One kink between samples shows at both of its neighbours.
    runs = np.split(kinks, np.flatnonzero(np.diff(kinks) > 2) + 1)
    count = sum((len(run) + 1) // 2 for run in runs)
    return _Answer(smooth(chain, model), count)
