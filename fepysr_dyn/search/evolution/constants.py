"""Constants inside a program by Levenberg-Marquardt with reverse-mode derivatives.

The linear coefficients are eliminated (variable projection after Kaufman): only the constants inside
the summands are unknowns, and each step uses their derivatives projected off the summands themselves.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.fitting import (
    dot,
    evaluate_terms,
    fill,
    fit_terms,
    measure,
    subtract_multiple,
)
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.workspace import MAX_CONSTANTS, Data, Workspace

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]

#: Constants beyond this size compensate each other and no longer mean anything.
_LARGEST = 1e8


@kernel
def find_constants(codes: Codes, terms: int, work: Workspace) -> int:
    """List the places of the constants inside the summands; return how many."""
    count = 0
    for t in range(terms):
        root = work.roots[t]
        for i in range(root - work.sizes[root] + 1, root + 1):
            if codes[i] == op.CONSTANT and count < MAX_CONSTANTS:
                work.places[count] = i
                count += 1
    return count


@kernel
def differentiate(codes: Codes, values: Floats, terms: int, count: int, data: Data, work: Workspace) -> None:
    """Fill `slopes`: derivative of its summand with respect to each listed constant, on every row."""
    rows = data.X.shape[1]
    block = work.tape.shape[1]
    for low in range(0, rows, block):
        m = min(block, rows - low)
        for t in range(terms):
            root = work.roots[t]
            first = root - work.sizes[root] + 1
            work.forward(codes, values, work.sizes, (first, root + 1), data.X, low, work.tape)
            work.backward(codes, work.sizes, root, work.tape, work.adjoint, m)
            for c in range(count):
                place = work.places[c]
                if first <= place <= root:
                    for r in range(m):
                        work.slopes[c, low + r] = work.adjoint[place, r]


@kernel
def _project_slopes(terms: int, count: int, data: Data, work: Workspace) -> None:
    """Measure the slopes and remove what the linear coefficients can do as well."""
    for c in range(count):
        place = work.places[c]
        factor = 0.0
        for t in range(terms):
            root = work.roots[t]
            if root - work.sizes[root] < place <= root:
                factor = work.coefficients[t + 1]
        column = work.jacobian[c]
        measure(data, work.slopes[c], column)
        norm = 0.0
        for r in range(column.shape[0]):
            column[r] *= factor
            norm += column[r] * column[r]
        if not norm < np.inf:
            fill(0.0, column)
            continue
        if data.is_scaled:
            for j in range(terms + 1):
                subtract_multiple(dot(work.basis[j], column), work.basis[j], column)


@kernel
def _solve_damped(
    normal: Floats, lower: Floats, gradient: Floats, damping: float, count: int, step: Floats
) -> bool:
    """Solve the damped normal equations by Cholesky; return whether that was possible."""
    for i in range(count):
        for j in range(i + 1):
            total = normal[i, j]
            if i == j:
                total = total * (1.0 + damping) + (1.0 if total == 0.0 else 0.0)
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                lower[i, i] = math.sqrt(total)
            else:
                lower[i, j] = total / lower[j, j]
    for i in range(count):
        total = gradient[i]
        for k in range(i):
            total -= lower[i, k] * step[k]
        step[i] = total / lower[i, i]
    for i in range(count - 1, -1, -1):
        total = step[i]
        for k in range(i + 1, count):
            total -= lower[k, i] * step[k]
        step[i] = total / lower[i, i]
    return True


@kernel
def optimise_constants(
    codes: Codes, values: Floats, length: int, data: Data, work: Workspace, iterations: int, least: float
) -> tuple[float, int]:
    """Improve the constants in place; return the loss and the evaluations spent.

    Stops when the loss falls below `least` or no longer improves. The workspace is left as the last
    accepted constants made it.
    """
    terms = evaluate_terms(codes, values, length, data, work)
    if terms < 0:
        return np.inf, 1
    loss = fit_terms(terms, data, work)
    count = find_constants(codes, terms, work)
    spent = 1
    if count == 0 or not loss < np.inf:
        return (loss if loss == loss else np.inf), spent
    normal = work.normal
    gradient, step, old = work.vectors[0], work.vectors[1], work.vectors[2]
    damping = 1e-2
    # Without a loss that is good enough, go on to the end.
    tolerance = 1e-3 if least > 0.0 else 1e-9
    improved = True
    for _ in range(iterations):
        differentiate(codes, values, terms, count, data, work)
        _project_slopes(terms, count, data, work)
        spent += 3
        for i in range(count):
            gradient[i] = dot(work.jacobian[i], work.residual)
            old[i] = values[work.places[i]]
            for j in range(i + 1):
                normal[i, j] = dot(work.jacobian[i], work.jacobian[j])
        improved = False
        start = loss
        for _attempt in range(6):
            if not _solve_damped(normal, work.lower, gradient, damping, count, step):
                damping = damping * 10.0 + 1e-8
                continue
            largest = 0.0
            for i in range(count):
                values[work.places[i]] = old[i] + step[i]
                largest = max(largest, abs(old[i] + step[i]))
            trial = np.inf
            if largest < _LARGEST and evaluate_terms(codes, values, length, data, work) >= 0:
                trial = fit_terms(terms, data, work)
            spent += 1
            if trial < loss:
                loss = trial
                damping = max(damping * 0.1, 1e-12)
                improved = True
                break
            damping *= 8.0
        if not improved:
            for i in range(count):
                values[work.places[i]] = old[i]
            break
        if loss < least or start - loss < tolerance * loss:
            break
    # The workspace may still hold a refused trial.
    if not improved and evaluate_terms(codes, values, length, data, work) >= 0:
        loss = fit_terms(terms, data, work)
    return loss, spent
