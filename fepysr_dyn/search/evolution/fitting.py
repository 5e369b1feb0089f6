"""Loss of a program with optimal linear coefficients.

The summands at the top of a tree each get their own least-squares coefficient, and an intercept is added, so
that the search only has to find the shape of each summand. In the weak form the summands are measured
first. The fit is a modified Gram-Schmidt factorisation, whose residual is exact where normal equations
would lose half of the digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.kernels import subtree_sizes
from fepysr_dyn.search.evolution.workspace import MAX_TERMS, Data, Workspace

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

#: A column this much shorter after projection is a combination of the ones before it.
_DEPENDENT = 1e-10
#: Largest summand beside the target.
_CANCELLATION = 1e4


@kernel
def split_terms(
    codes: Codes, length: int, sizes: Integers, roots: Integers, pending: Integers, is_scaled: bool
) -> int:
    """Find the summands at the top of a tree; constant factors and summands are left to the linear fit."""
    if not is_scaled:
        roots[0] = length - 1
        return 1
    pending[0] = length - 1
    waiting, found = 1, 0
    while waiting > 0:
        waiting -= 1
        node = pending[waiting]
        code = codes[node]
        right = node - 1
        if code == op.CONSTANT:
            continue
        if code == op.NEG:
            pending[waiting] = right
            waiting += 1
        elif (code == op.ADD or code == op.SUB) and found + waiting + 2 <= MAX_TERMS:
            pending[waiting] = right
            pending[waiting + 1] = right - sizes[right]
            waiting += 2
        elif code == op.MUL and codes[right - sizes[right]] == 0:
            pending[waiting] = right
            waiting += 1
        elif (code == op.MUL or code == op.DIV) and codes[right] == op.CONSTANT:
            pending[waiting] = right - 1
            waiting += 1
        else:
            roots[found] = node
            found += 1
    return found


@kernel
def measure(data: Data, values: Floats, out: Floats) -> None:
    """Apply the measurement operator and the weights to values on the rows."""
    n = out.shape[0]
    if data.measurement.shape[0] == 0:
        for r in range(n):
            out[r] = values[r] * data.root_weights[r]
    else:
        for r in range(n):
            line = data.measurement[r]
            total = 0.0
            for s in range(line.shape[0]):
                total += line[s] * values[s]
            out[r] = total * data.root_weights[r]


@kernel
def dot(a: Floats, b: Floats) -> float:
    """Return the inner product."""
    total = 0.0
    for r in range(a.shape[0]):
        total += a[r] * b[r]
    return total


@kernel
def subtract_multiple(factor: float, a: Floats, out: Floats) -> None:
    """Subtract ``factor * a`` in place."""
    for r in range(a.shape[0]):
        out[r] -= factor * a[r]


@kernel
def copy(a: Floats, out: Floats) -> None:
    """Copy as many values as `a` has."""
    for r in range(a.shape[0]):
        out[r] = a[r]


@kernel
def fill(value: float, out: Floats) -> None:
    """Set all values."""
    for r in range(out.shape[0]):
        out[r] = value


@kernel
def scale(factor: float, out: Floats) -> None:
    """Multiply in place."""
    for r in range(out.shape[0]):
        out[r] *= factor


@kernel
def evaluate_terms(codes: Codes, values: Floats, length: int, data: Data, work: Workspace) -> int:
    """Evaluate the summands on all rows; return how many, or -1 if one of them is not finite somewhere."""
    subtree_sizes(codes, length, work.sizes)
    terms = split_terms(codes, length, work.sizes, work.roots, work.pending, data.is_scaled)
    work.terms[0] = terms
    rows = data.X.shape[1]
    block = work.tape.shape[1]
    for low in range(0, rows, block):
        m = min(block, rows - low)
        bad = 0.0
        for t in range(terms):
            root = work.roots[t]
            span = (root - work.sizes[root] + 1, root + 1)
            work.forward(codes, values, work.sizes, span, data.X, low, work.tape)
            result = work.tape[root]
            out = work.outputs[t]
            for r in range(m):
                out[low + r] = result[r]
                bad += result[r] * 0.0
        if bad != 0.0:
            return -1
    return terms


@kernel
def fit_terms(terms: int, data: Data, work: Workspace) -> float:
    """Fit intercept and coefficients of evaluated summands; leave residual and basis behind.

    Without scaling the only summand is taken as it is.
    """
    residual = work.residual
    copy(data.target, residual)
    if not data.is_scaled:
        work.coefficients[0] = 0.0
        work.coefficients[1] = 1.0
        measure(data, work.outputs[0], work.basis[1])
        subtract_multiple(1.0, work.basis[1], residual)
        return dot(residual, residual)
    projections = work.projections
    for j in range(terms + 1):
        column = work.basis[j]
        if j == 0:
            copy(data.one, column)
        else:
            measure(data, work.outputs[j - 1], column)
        before = math.sqrt(dot(column, column))
        work.lengths[j] = before
        for i in range(j):
            overlap = dot(work.basis[i], column)
            work.triangle[i, j] = overlap
            subtract_multiple(overlap, work.basis[i], column)
        after = math.sqrt(dot(column, column))
        if not after > _DEPENDENT * before:
            fill(0.0, column)
            work.triangle[j, j] = 0.0
            continue
        work.triangle[j, j] = after
        scale(1.0 / after, column)
        projections[j] = dot(column, residual)
        subtract_multiple(projections[j], column, residual)
    for j in range(terms, -1, -1):
        total = projections[j]
        for k in range(j + 1, terms + 1):
            total -= work.triangle[j, k] * work.coefficients[k]
        pivot = work.triangle[j, j]
        work.coefficients[j] = total / pivot if pivot > 0.0 else 0.0
    # Large summands that cancel are a derivative in disguise, and lose the digits that they cancel.
    most = _CANCELLATION * math.sqrt(dot(data.target, data.target))
    for j in range(terms + 1):
        if abs(work.coefficients[j]) * work.lengths[j] > most:
            return np.inf
    return dot(residual, residual)
