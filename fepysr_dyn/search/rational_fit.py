"""Fits of a quotient of two linear combinations, implicit and explicit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.least_squares import levenberg_marquardt
from fepysr_dyn.search.problem import Array

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Quotient:
    """Coefficients above and below, and the weighted sum of squared residuals."""

    above: Array
    below: Array
    cost: float


def null_vector(P: Array, Q: Array, y: Array, weights: Array) -> tuple[Array, float]:
    """Return the total least-squares solution of ``P a = y Q b`` and its relative singular value."""
    A = np.column_stack([P, -y[:, None] * Q]) * weights[:, None]
    norms = np.linalg.norm(A, axis=0)
    norms[norms == 0] = 1.0
    sigma, right = np.linalg.svd(_triangle(A / norms))[1:]
    return right[-1] / norms, float(sigma[-1] / sigma[0])


def _triangle(A: Array) -> Array:
    return np.asarray(np.linalg.qr(A, mode="r")) if A.shape[0] > A.shape[1] else A


def implicit_fit(P: Array, Q: Array, y: Array, weights: Array, rounds: int = 4) -> Quotient:
    """Fit by repeated total least squares, each row divided by the last denominator.

    Without the division rows with a large denominator count too much (Sanathanan and Koerner).
    """
    best = Quotient(np.zeros(P.shape[1]), np.ones(Q.shape[1]), float("inf"))
    factors = weights / (1.0 + np.abs(y) / (np.median(np.abs(y)) + 1e-300))
    for _ in range(rounds):
        vector, _ = null_vector(P, Q, y, factors)
        above, below = vector[: P.shape[1]], vector[P.shape[1] :]
        denominator = Q @ below
        cost = quotient_cost(P, Q, y, weights, above, below)
        if not cost < 0.999 * best.cost:
            break
        best = Quotient(above, below, cost)
        size = np.abs(denominator)
        factors = weights / np.maximum(size, 1e-6 * np.median(size) + 1e-300)
        factors /= np.max(factors)
    return best


def quotient_cost(P: Array, Q: Array, y: Array, weights: Array, above: Array, below: Array) -> float:
    """Return the weighted sum of squared residuals of the quotient itself."""
    with np.errstate(all="ignore"):
        residual = ((P @ above) / (Q @ below) - y) * weights
        cost = float(residual @ residual)
    return cost if np.isfinite(cost) else float("inf")


def explicit_fit(
    P: Array, Q: Array, y: Array, weights: Array, start: Quotient, max_steps: int = 30
) -> Quotient:
    """Refine a quotient on its own residuals; the common factor of all coefficients stays free."""
    p = P.shape[1]
    scale = float(np.linalg.norm(start.below)) or 1.0
    theta = np.concatenate([start.above, start.below]) / scale

    def residual(values: Array) -> Array:
        return ((P @ values[:p]) / (Q @ values[p:]) - y) * weights

    def slopes(values: Array) -> Array:
        denominator = (Q @ values[p:])[:, None]
        quotient = (P @ values[:p])[:, None] / denominator
        return np.hstack([P / denominator, -quotient * Q / denominator]) * weights[:, None]

    with np.errstate(all="ignore"):
        values, cost = levenberg_marquardt(residual, slopes, theta, max_steps)
    return Quotient(values[:p], values[p:], cost) if cost < start.cost else start


def refit_free(
    P: Array, Q: Array, y: Array, weights: Array, values: Array, fixed: Mask, max_steps: int = 30
) -> tuple[Array, float]:
    """Refine only the coefficients that are not fixed; returns all values and the cost."""
    p = P.shape[1]
    free = ~fixed

    def full(part: Array) -> Array:
        whole = values.copy()
        whole[free] = part
        return whole

    def residual(part: Array) -> Array:
        whole = full(part)
        return ((P @ whole[:p]) / (Q @ whole[p:]) - y) * weights

    def slopes(part: Array) -> Array:
        whole = full(part)
        denominator = (Q @ whole[p:])[:, None]
        quotient = (P @ whole[:p])[:, None] / denominator
        return (np.hstack([P / denominator, -quotient * Q / denominator]) * weights[:, None])[:, free]

    with np.errstate(all="ignore"):
        if not np.any(free):
            r = residual(values[free])
            cost = float(r @ r)
            return values, cost if np.isfinite(cost) else float("inf")
        part, cost = levenberg_marquardt(residual, slopes, values[free], max_steps)
    return full(part), cost
