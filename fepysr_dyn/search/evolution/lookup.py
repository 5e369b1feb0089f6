"""Which sums of small expressions come close to wanted values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.fitting import dot, scale, subtract_multiple
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.library import Library
from fepysr_dyn.search.evolution.mutation import put
from fepysr_dyn.search.evolution.randomness import Stream, uniform

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

#: Library entries that one lookup may combine.
MAX_PICKS = 3
#: The cheapest entries, of which all pairs can be tried, if there are rows enough to make that worth while.
_PAIR_ENTRIES = 400
#: Evaluations that a try of all pairs may cost.
_PAIR_COST = 130.0


@kernel
def lookup_cost(library: Library, rows: int) -> float:
    """Return the evaluations on so many rows that take as long as one lookup."""
    return float(1.0 + library.values.shape[0] * library.values.shape[1] / (20.0 * rows))


@kernel
def pair_entries_for(library: Library, rows: int) -> int:
    """Return of how many entries all pairs are tried."""
    affordable = math.sqrt(_PAIR_COST * 160.0 * rows / library.values.shape[1])
    return int(min(_PAIR_ENTRIES, int(affordable), library.values.shape[0]))


@kernel
def pair_cost(library: Library, rows: int) -> float:
    """Return the evaluations on so many rows that take as long as one try of all pairs."""
    return float(pair_entries_for(library, rows) ** 2 * library.values.shape[1] / (160.0 * rows))


@kernel
def _take(basis: Floats, k: int, triangle: Floats, projections: Floats, rest: Floats) -> bool:
    """Make column `k` orthonormal to those before it and take its part out of the rest."""
    column = basis[k]
    for j in range(k):
        overlap = dot(basis[j], column)
        triangle[j, k] = overlap
        subtract_multiple(overlap, basis[j], column)
    length = math.sqrt(dot(column, column))
    if not length > 0.0:
        return False
    triangle[k, k] = length
    scale(1.0 / length, column)
    projections[k] = dot(column, rest)
    subtract_multiple(projections[k], column, rest)
    return True


@kernel
def _shorten(values: Floats, weights: Floats, column: Floats, pull: Floats, norms: Floats) -> None:
    """Take the part along a new basis column off the squared lengths of all entries."""
    for r in range(column.shape[0]):
        pull[r] = column[r] * weights[r]
    for g in range(norms.shape[0]):
        if norms[g] > 0.0:
            overlap = dot(values[g], pull)
            shorter = norms[g] - overlap * overlap
            norms[g] = shorter if shorter > 1e-9 * norms[g] else 0.0


@kernel
def _best_two(values: Floats, costs: Integers, norms: Floats, pull: Floats, left: float) -> tuple[int, int]:
    """Return the entries that leave least; only among near equals the cost decides."""
    best, second = -1, -1
    best_score, second_score = np.inf, np.inf
    for g in range(norms.shape[0]):
        if norms[g] <= 0.0:
            continue
        overlap = dot(values[g], pull)
        score = (max(left - overlap * overlap / norms[g], 0.0) + 1e-12 * left) * (1.0 + 0.03 * costs[g])
        if score < best_score:
            second, second_score = best, best_score
            best, best_score = g, score
        elif score < second_score:
            second, second_score = g, score
    return best, second


@kernel
def _best_pair(
    values: Floats,
    costs: Integers,
    weights: Floats,
    basis: Floats,
    norms: Floats,
    rest: Floats,
    entries: int,
) -> tuple[int, int]:
    """Return the two of the first entries that together leave least, among all pairs."""
    rows = rest.shape[0]
    columns = np.empty((entries, rows))
    gains = np.empty(entries)
    for g in range(entries):
        gains[g] = 0.0
        if norms[g] <= 0.0:
            continue
        column = columns[g]
        for r in range(rows):
            column[r] = values[g, r] * weights[r]
        for k in range(2):
            subtract_multiple(dot(basis[k], column), basis[k], column)
        scale(1.0 / math.sqrt(norms[g]), column)
        gains[g] = dot(column, rest)
    left = dot(rest, rest)
    first, second, best = -1, -1, np.inf
    for g in range(entries):
        if norms[g] <= 0.0:
            continue
        for h in range(g):
            if norms[h] <= 0.0:
                continue
            overlap = dot(columns[g], columns[h])
            spread = 1.0 - overlap * overlap
            if spread < 1e-8:
                continue
            gain = (gains[g] ** 2 + gains[h] ** 2 - 2.0 * overlap * gains[g] * gains[h]) / spread
            score = (max(left - gain, 0.0) + 1e-12 * left) * (1.0 + 0.03 * (costs[g] + costs[h]))
            if score < best:
                first, second, best = h, g, score
    return first, second


@kernel
def pick_entries(
    values: Floats,
    costs: Integers,
    wanted: Floats,
    weights: Floats,
    outer: Floats,
    most: int,
    pair_entries: int,
    picks: Integers,
    coefficients: Floats,
    stream: Stream,
) -> int:
    """Choose library entries whose weighted sum with an intercept comes closest to the wanted values.

    Orthogonal least squares: the pick that leaves least is taken and all others are projected off it; now and
    then the second best is taken, as the best one to add is not always part of the best sum. With
    `pair_entries` the first two picks are the best pair of so many cheap entries, which a greedy choice can
    miss. `outer` is one more column that explains the weighted wanted values for free, unless it is zero.
    Returns how many were picked; the first coefficient is the intercept's.
    """
    entries, rows = values.shape
    size = MAX_PICKS + 2
    basis = np.empty((size, rows))
    triangle = np.zeros((size, size))
    projections = np.zeros(size)
    norms = np.empty(entries)
    rest = np.empty(rows)
    pull = np.empty(rows)
    for r in range(rows):
        rest[r] = wanted[r] * weights[r]
        pull[r] = weights[r] * weights[r]
        basis[0, r] = outer[r]
        basis[1, r] = weights[r]
    for g in range(entries):
        line = values[g]
        square = 0.0
        for r in range(rows):
            square += pull[r] * line[r] * line[r]
        norms[g] = square
    for k in range(2):
        if _take(basis, k, triangle, projections, rest):
            _shorten(values, weights, basis[k], pull, norms)
        else:
            scale(0.0, basis[k])
            triangle[k, k] = 1.0
    total = dot(rest, rest)
    count = 0
    if pair_entries > 1:
        pair = _best_pair(values, costs, weights, basis, norms, rest, pair_entries)
        for k in range(2):
            if pair[k] < 0:
                return 0
            picks[k] = pair[k]
            norms[pair[k]] = 0.0
            for r in range(rows):
                basis[2 + k, r] = values[pair[k], r] * weights[r]
            if not _take(basis, 2 + k, triangle, projections, rest):
                return 0
            _shorten(values, weights, basis[2 + k], pull, norms)
        count = 2
    while count < most and dot(rest, rest) > 1e-20 * total:
        for r in range(rows):
            pull[r] = rest[r] * weights[r]
        best, second = _best_two(values, costs, norms, pull, dot(rest, rest))
        if best < 0:
            break
        if second >= 0 and uniform(stream) < 0.2:
            best = second
        norms[best] = 0.0
        for r in range(rows):
            basis[count + 2, r] = values[best, r] * weights[r]
        if not _take(basis, count + 2, triangle, projections, rest):
            continue
        picks[count] = best
        count += 1
        if count < most:
            _shorten(values, weights, basis[count + 1], pull, norms)
    for j in range(count + 1, 0, -1):
        value = projections[j]
        for k in range(j + 1, count + 2):
            value -= triangle[j, k] * coefficients[k - 1]
        coefficients[j - 1] = value / triangle[j, j]
    return count


@kernel
def _largest(values: Floats) -> float:
    largest = 0.0
    for r in range(values.shape[0]):
        largest = max(largest, abs(values[r]))
    return largest


@kernel
def put_sum(
    library: Library, picks: Integers, count: int, coefficients: Floats, child: tuple[Codes, Floats], end: int
) -> int:
    """Append ``c0 + c1*g1 + ...``, leaving out what is 0 or 1."""
    size = abs(coefficients[0])
    for k in range(count):
        size = max(size, abs(coefficients[k + 1]) * _largest(library.values[picks[k]]))
    written = 0
    for k in range(count):
        g = picks[k]
        if abs(coefficients[k + 1]) * _largest(library.values[g]) < 1e-9 * size:
            continue
        for i in range(library.lengths[g]):
            end = put(child[0], child[1], end, library.codes[g, i], 0.0)
        if abs(coefficients[k + 1] - 1.0) > 1e-9:
            end = put(child[0], child[1], end, op.CONSTANT, coefficients[k + 1])
            end = put(child[0], child[1], end, op.MUL, 0.0)
        if written > 0:
            end = put(child[0], child[1], end, op.ADD, 0.0)
        written += 1
    if written == 0:
        return put(child[0], child[1], end, op.CONSTANT, coefficients[0])
    if abs(coefficients[0]) > 1e-9 * size:
        end = put(child[0], child[1], end, op.CONSTANT, coefficients[0])
        end = put(child[0], child[1], end, op.ADD, 0.0)
    return end
