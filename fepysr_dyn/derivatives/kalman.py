"""Square-root Kalman filter, its gradient and the smoother for integrated Wiener processes, compiled.

The state holds the signal and its first q derivatives in scaled time. Covariances are kept as lower
triangular factors, so that neither an uninformed start nor almost exact data cost digits. A chain is a row
of nodes; at a node the derivatives, or everything, may start afresh (`jumps` 1 or 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.derivatives.base import Array

Function = TypeVar("Function", bound=Callable[..., Any])
Flags = NDArray[np.int64]

#: What a walk of the filter keeps of every node.
SUMS, INNOVATIONS, STATES = 0, 1, 2


def _compiled(function: Function) -> Function:
    return cast(Function, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def unit_noise_factor(q: int) -> Array:
    """Return the Cholesky factor of the covariance that a unit step adds."""
    i = np.arange(q + 1)
    factorial = np.array([math.factorial(q - k) for k in i], dtype=float)
    covariance = 1.0 / ((2 * q + 1 - i[:, None] - i[None, :]) * factorial[:, None] * factorial[None, :])
    return np.linalg.cholesky(covariance)


@_compiled
def _triangularize(stack: Array, rows: int, columns: int) -> None:
    """Householder QR in place; only the upper triangle is kept."""
    for j in range(columns):
        norm = 0.0
        for i in range(j, rows):
            norm += stack[i, j] * stack[i, j]
        norm = math.sqrt(norm)
        if norm == 0.0:
            continue
        alpha = -norm if stack[j, j] > 0 else norm
        head = stack[j, j] - alpha
        square = norm * norm - alpha * stack[j, j]
        # square = half of the squared length of the Householder vector
        for k in range(j + 1, columns):
            product = head * stack[j, k]
            for i in range(j + 1, rows):
                product += stack[i, j] * stack[i, k]
            product /= square
            stack[j, k] -= product * head
            for i in range(j + 1, rows):
                stack[i, k] -= product * stack[i, j]
        stack[j, j] = alpha
        for i in range(j + 1, rows):
            stack[i, j] = 0.0


@_compiled
def _set_transition(A: Array, step: float) -> None:
    d = A.shape[0]
    for i in range(d):
        entry = 1.0
        for j in range(i, d):
            A[i, j] = entry
            entry *= step / (j - i + 1)


@_compiled
def _set_noise(factor: Array, unit: Array, step: float, diffusion: float) -> None:
    d = unit.shape[0]
    power = math.sqrt(step * diffusion)
    for i in range(d - 1, -1, -1):
        for j in range(i + 1):
            factor[i, j] = unit[i, j] * power
        power *= step


@_compiled
def filter_chain(
    steps: Array,
    diffusions: Array,
    jumps: Flags,
    observed: Array,
    noise: float,
    start: Array,
    unit: Array,
    keep: int,
) -> tuple[float, float, Array, Array, Array, Array, Array]:
    """Run the filter.

    Returns the sums of the logarithms of the innovations' variances and of their squares over these. What is
    kept of every node depends on `keep`: nothing for `SUMS`; the innovations, their variances and the gains
    for `INNOVATIONS`, which is what the way back needs; the updated means and factors for `STATES`.
    """
    n = steps.shape[0]
    d = unit.shape[0]
    mean = np.zeros(d)
    predicted = np.zeros(d)
    factor = np.zeros((d, d))
    A = np.zeros((d, d))
    for i in range(d):
        A[i, i] = 1.0
    noise_factor = np.zeros((d, d))
    stack = np.zeros((3 * d, d))
    # Arrays as long as the data cost more than the filter itself where only the sums are wanted.
    traced = n if keep == INNOVATIONS else 0
    innovations = np.zeros(traced)
    variances = np.ones(traced)
    gains = np.zeros((traced, d))
    kept = n if keep == STATES else 0
    means = np.zeros((kept, d))
    factors = np.zeros((kept, d, d))
    logarithms = 0.0
    squares = 0.0
    for k in range(n):
        if jumps[k] == 2:
            mean[:] = 0.0
            factor[:] = 0.0
            for i in range(d):
                factor[i, i] = start[i]
        else:
            _set_transition(A, steps[k])
            _set_noise(noise_factor, unit, steps[k], diffusions[k])
            rows = 2 * d
            for i in range(d):
                total = 0.0
                for j in range(i, d):
                    total += A[i, j] * mean[j]
                predicted[i] = total
            for i in range(d):
                mean[i] = predicted[i]
                for j in range(d):
                    total = 0.0
                    for m in range(max(i, j), d):
                        total += A[i, m] * factor[m, j]
                    stack[j, i] = total
                    stack[d + j, i] = noise_factor[i, j] if j <= i else 0.0
            if jumps[k] == 1:
                rows = 3 * d
                for i in range(d):
                    for j in range(d):
                        stack[2 * d + j, i] = start[i] if (i == j and i > 0) else 0.0
            _triangularize(stack, rows, d)
            for i in range(d):
                for j in range(i + 1):
                    factor[i, j] = stack[j, i]
        if observed[k] == observed[k]:
            innovation = observed[k] - mean[0]
            head = factor[0, 0]
            variance = head * head + noise
            logarithms += math.log(variance)
            squares += innovation * innovation / variance
            if keep == INNOVATIONS:
                innovations[k] = innovation
                variances[k] = variance
            shrink = math.sqrt(noise / variance)
            for i in range(d):
                gain = factor[i, 0] * head / variance
                if keep == INNOVATIONS:
                    gains[k, i] = gain
                mean[i] += gain * innovation
                factor[i, 0] *= shrink
        if keep == STATES:
            means[k] = mean
            factors[k] = factor
    return logarithms, squares, innovations, variances, gains, means, factors


@_compiled
def adjoint_chain(
    steps: Array,
    diffusions: Array,
    jumps: Flags,
    observed: Array,
    unit: Array,
    innovations: Array,
    variances: Array,
    gains: Array,
) -> tuple[Array, Array, Array]:
    """Run backwards through the filter's answers (de Jong's recursions, with a factor of the matrix).

    Returns the derivative of the log likelihood by the logarithm of each step's diffusion and, per
    observation, u and D: it is ``D - u**2`` that the log likelihood loses per unit of twice its noise.
    """
    n = steps.shape[0]
    d = unit.shape[0]
    r = np.zeros(d)
    stack = np.zeros((d + 1, d))
    A = np.zeros((d, d))
    noise_factor = np.zeros((d, d))
    by_diffusion = np.zeros(n)
    misses = np.zeros(n)
    precisions = np.zeros(n)
    for k in range(n - 1, -1, -1):
        # stack' stack is the second derivative of the log likelihood by the state at this node
        if observed[k] == observed[k]:
            miss = innovations[k] / variances[k]
            precision = 1.0 / variances[k]
            for i in range(d):
                miss -= gains[k, i] * r[i]
            for i in range(d):
                product = 0.0
                for j in range(d):
                    product += stack[i, j] * gains[k, j]
                precision += product * product
                stack[i, 0] -= product
                stack[d, i] = 0.0
            stack[d, 0] = math.sqrt(1.0 / variances[k])
            _triangularize(stack, d + 1, d)
            misses[k] = miss
            precisions[k] = precision
            r[0] += miss
        if jumps[k] == 2:
            r[:] = 0.0
            stack[:] = 0.0
            continue
        _set_noise(noise_factor, unit, steps[k], diffusions[k])
        total = 0.0
        for j in range(d):
            product = 0.0
            for i in range(j, d):
                product += noise_factor[i, j] * r[i]
            total += product * product
            for i in range(d):
                product = 0.0
                for m in range(j, d):
                    product += stack[i, m] * noise_factor[m, j]
                total -= product * product
        by_diffusion[k] = 0.5 * total
        _set_transition(A, steps[k])
        for j in range(d - 1, -1, -1):
            product = 0.0
            for i in range(j + 1):
                product += A[i, j] * r[i]
            r[j] = product
            for i in range(d):
                product = 0.0
                for m in range(j + 1):
                    product += stack[i, m] * A[m, j]
                stack[i, j] = product
    return by_diffusion, misses, precisions


@_compiled
def smooth_chain(
    steps: Array, diffusions: Array, jumps: Flags, start: Array, unit: Array, means: Array, factors: Array
) -> Array:
    """Turn filtered into smoothed means, in place; return the deviations of the first two entries."""
    n = steps.shape[0]
    d = unit.shape[0]
    deviations = np.zeros((n, 2))
    stack = np.zeros((3 * d, 2 * d))
    small = np.zeros((2 * d, d))
    A = np.zeros((d, d))
    noise_factor = np.zeros((d, d))
    gain = np.zeros((d, d))
    smoothed = np.zeros((d, d))
    change = np.zeros(d)
    smoothed[:] = factors[n - 1]
    for k in range(n - 1, -1, -1):
        if k < n - 1:
            nxt = k + 1
            if jumps[nxt] == 2:
                smoothed[:] = factors[k]
            else:
                _set_transition(A, steps[nxt])
                _set_noise(noise_factor, unit, steps[nxt], diffusions[nxt])
                rows = 3 * d if jumps[nxt] == 1 else 2 * d
                stack[:] = 0.0
                for i in range(d):
                    for j in range(d):
                        total = 0.0
                        for m in range(max(i, j), d):
                            total += A[i, m] * factors[k, m, j]
                        stack[j, i] = total
                        stack[j, d + i] = factors[k, i, j]
                        stack[d + j, i] = noise_factor[i, j] if j <= i else 0.0
                    if rows == 3 * d and i > 0:
                        stack[2 * d + i, i] = start[i]
                _triangularize(stack, rows, 2 * d)
                # gain' = R11^-1 R12
                for column in range(d):
                    for i in range(d - 1, -1, -1):
                        total = stack[i, d + column]
                        for j in range(i + 1, d):
                            total -= stack[i, j] * gain[column, j]
                        gain[column, i] = total / stack[i, i]
                for i in range(d):
                    total = 0.0
                    for j in range(i, d):
                        total += A[i, j] * means[k, j]
                    change[i] = means[nxt, i] - total
                for i in range(d):
                    for j in range(d):
                        means[k, i] += gain[i, j] * change[j]
                for i in range(d):
                    for j in range(d):
                        small[j, i] = stack[d + j, d + i] if j <= i else 0.0
                        total = 0.0
                        for m in range(j, d):
                            total += gain[i, m] * smoothed[m, j]
                        small[d + j, i] = total
                _triangularize(small, 2 * d, d)
                for i in range(d):
                    for j in range(d):
                        smoothed[i, j] = small[j, i] if j <= i else 0.0
        deviations[k, 0] = abs(smoothed[0, 0])
        deviations[k, 1] = math.sqrt(smoothed[1, 0] ** 2 + smoothed[1, 1] ** 2)
    return deviations
