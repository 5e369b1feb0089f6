"""Best subsets of the columns of a matrix: forward with a beam and pairs, exchange, backward elimination.

Columns of such libraries are strongly correlated, so that every step here works on explicitly
orthogonalised columns and not on a Gram matrix, whose small eigenvalues are lost to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from fepysr_dyn.search.problem import Array

#: Unit columns whose remainder after projection is shorter than this are spanned by the others.
DEPENDENT = 3e-12
#: A relative residual below this is rounding.
ROUNDING = 3e-14

Columns = tuple[int, ...]


@dataclass(frozen=True)
class SubsetConfig:
    """How hard to look for subsets.

    Parameters
    ----------
    max_terms : int
        Largest subset.
    beam : int
        Subsets of one size that are extended.
    pairs : int
        Largest number of columns for which all pairs are tried as one step.
    per_size : int
        Subsets of one size that are returned.
    max_terms_wide : int
        Largest subset of more columns than that.
    """

    max_terms: int = 8
    beam: int = 6
    pairs: int = 600
    per_size: int = 2
    max_terms_wide: int = 7


@dataclass(frozen=True)
class Subset:
    """Columns and the relative residual of the target on them."""

    columns: Columns
    residual: float


def best_subsets(
    A: Array,
    y: Array,
    config: SubsetConfig | None = None,
    stop: Callable[[], bool] = lambda: False,
    *,
    seed: int | None = None,
) -> list[Subset]:
    """Return good subsets of every size, smallest first.

    Parameters
    ----------
    A : array
        Weighted columns, shape (rows, columns).
    y : array
        Weighted target.
    stop : callable
        Asked between steps; when true the subsets so far are returned.
    seed : int, optional
        A column (the constant) that is always tried as the first one.
    """
    config = config or SubsetConfig()
    size = float(np.linalg.norm(y))
    norms = np.linalg.norm(A, axis=0)
    usable = np.flatnonzero(norms > 0)
    if size == 0 or not len(usable):
        return []
    rows = A.shape[0]
    matrix, target = _compress(A[:, usable] / norms[usable], y / size)
    found = _Collection(config.per_size)
    limit = min(config.max_terms, max(1, rows - 2), len(usable))
    if len(usable) > config.pairs:
        limit = min(limit, config.max_terms_wide)
    if len(usable) <= rows - 2:
        found.add(_backward(matrix, target, limit))
    if not stop():
        first = None if seed is None or norms[seed] == 0 else int(np.searchsorted(usable, seed))
        found.add(_forward(matrix, target, config, limit, stop, first))
    for subset in found.best_of_sizes():
        if stop() or subset.residual < ROUNDING:
            break
        found.add(_exchange(matrix, target, subset))
    return [
        Subset(tuple(int(usable[j]) for j in subset.columns), subset.residual) for subset in found.ordered()
    ]


class _Collection:
    """The best few distinct subsets of each size."""

    def __init__(self, per_size: int) -> None:
        self._per_size = per_size
        self._sizes: dict[int, dict[Columns, float]] = {}

    def add(self, subsets: Iterable[Subset]) -> None:
        for subset in subsets:
            key = tuple(sorted(subset.columns))
            known = self._sizes.setdefault(len(key), {})
            known[key] = min(subset.residual, known.get(key, np.inf))
            if len(known) > 4 * self._per_size:
                self._sizes[len(key)] = dict(sorted(known.items(), key=lambda kv: kv[1])[: self._per_size])

    def ordered(self) -> list[Subset]:
        return [
            Subset(columns, residual)
            for size in sorted(self._sizes)
            for columns, residual in sorted(self._sizes[size].items(), key=lambda kv: kv[1])[: self._per_size]
        ]

    def best_of_sizes(self) -> list[Subset]:
        best: dict[int, Subset] = {}
        for subset in self.ordered():
            best.setdefault(len(subset.columns), subset)
        return list(best.values())


def _compress(A: Array, y: Array) -> tuple[Array, Array]:
    """Rotate the rows so that no more than columns + 1 remain; all residuals stay what they are."""
    rows, columns = A.shape
    if rows <= columns + 1:
        return A, y
    triangle = np.asarray(qr(np.column_stack([A, y]), mode="r", check_finite=False)[0], dtype=np.float64)
    triangle = triangle[: columns + 1]
    return triangle[:, :columns], triangle[:, columns]


def independent_columns(A: Array, tolerance: float = DEPENDENT) -> NDArray[np.intp]:
    """Return the columns that are no combination of earlier ones, in order."""
    norms = np.linalg.norm(A, axis=0)
    norms[norms == 0] = 1.0
    triangle = qr(A / norms, mode="r", check_finite=False)[0]
    diagonal = np.zeros(A.shape[1])
    diagonal[: min(A.shape)] = np.abs(np.diag(triangle))
    return np.flatnonzero(diagonal > tolerance)


def _backward(A: Array, y: Array, max_terms: int) -> list[Subset]:
    """Leave out the column that is missed least, again and again, from the full set.

    On exact data whose truth the library holds, this needs no luck: the full fit has no residual, and the
    columns that can go without creating one are not part of the answer.
    """
    columns = independent_columns(A)
    triangle = qr(np.column_stack([A[:, columns], y]), mode="r", check_finite=False)[0]
    found = []
    while len(columns):
        k = len(columns)
        inverse = solve_triangular(triangle[:k, :k], np.eye(k), check_finite=False)
        solution = inverse @ triangle[:k, k]
        missed = solution**2 / np.sum(inverse**2, axis=1)
        if k <= max_terms:
            found.append(Subset(tuple(int(j) for j in columns), float(np.linalg.norm(triangle[k:, k]))))
        leave = max(1, k // 12) if k > 36 else 1
        keep = np.sort(np.argsort(missed, kind="stable")[leave:])
        columns = columns[keep]
        triangle = qr(triangle[:, [*keep, k]], mode="r", check_finite=False)[0]
    return found


@dataclass
class _State:
    """A subset with the remainders of all columns and of the target."""

    columns: Columns
    remainder: Array
    target: Array

    @property
    def residual(self) -> float:
        return float(np.linalg.norm(self.target))

    def gains(self) -> Array:
        lengths = np.sum(self.remainder**2, axis=0)
        products = self.target @ self.remainder
        independent = lengths > DEPENDENT**2
        gains = np.where(independent, products**2 / np.where(independent, lengths, 1.0), 0.0)
        gains[list(self.columns)] = 0.0
        return gains

    def extended(self, column: int) -> _State:
        direction = self.remainder[:, column]
        direction = direction / np.linalg.norm(direction)
        remainder = self.remainder - np.outer(direction, direction @ self.remainder)
        target = self.target - direction * (direction @ self.target)
        return _State((*self.columns, column), remainder, target)


def _forward(
    A: Array,
    y: Array,
    config: SubsetConfig,
    max_terms: int,
    stop: Callable[[], bool],
    seed: int | None = None,
) -> list[Subset]:
    """Extend the best few subsets by one column, or by the best pairs, until the largest size."""
    levels: dict[int, dict[Columns, _State]] = {0: {(): _State((), A, y)}}
    found: list[Subset] = []
    best_so_far: list[float] = []
    for size in range(max_terms):
        states = sorted(levels.pop(size, {}).values(), key=lambda state: state.residual)[: config.beam]
        if not states or stop():
            break
        found += [Subset(state.columns, state.residual) for state in states if state.columns]
        if states[0].residual < ROUNDING:
            return found
        best_so_far.append(states[0].residual)
        if size > 3 and best_so_far[-1] > 0.99 * best_so_far[-3]:
            return found
        proposals: dict[Columns, tuple[float, _State, int]] = {}
        for state in states:
            gains = state.gains()
            for column in np.argsort(-gains, kind="stable")[: config.beam]:
                if gains[column] > 0:
                    key = tuple(sorted((*state.columns, int(column))))
                    left = state.residual**2 - float(gains[column])
                    if key not in proposals or left < proposals[key][0]:
                        proposals[key] = (left, state, int(column))
        chosen = sorted(proposals.items(), key=lambda item: item[1][0])[: config.beam]
        following = levels.setdefault(size + 1, {})
        for key, (_, state, column) in chosen:
            following[key] = state.extended(column)
        if size == 0 and seed is not None:
            seeded = states[0].extended(seed)
            following[(seed,)] = seeded
            # Beside the constant the next column shows better, so its first step is taken at once.
            gains = seeded.gains()
            after = levels.setdefault(2, {})
            for column in np.argsort(-gains, kind="stable")[: config.beam]:
                if gains[column] > 0:
                    after[tuple(sorted((seed, int(column))))] = seeded.extended(int(column))
        most = config.pairs if size > 1 else 2 * config.pairs
        if size + 2 <= max_terms and A.shape[1] <= most:
            after = levels.setdefault(size + 2, {})
            for state in states[: 1 + (size == 0) + config.beam // 4]:
                for first, second in _best_pairs(state, config.beam):
                    key = tuple(sorted((*state.columns, first, second)))
                    if key not in after:
                        after[key] = state.extended(first).extended(second)
    last = levels.get(max_terms, {})
    return found + [Subset(state.columns, state.residual) for state in last.values()]


def _best_pairs(state: _State, count: int) -> list[tuple[int, int]]:
    """Return the pairs of columns that together reduce the residual most."""
    lengths = np.linalg.norm(state.remainder, axis=0)
    usable = np.flatnonzero(lengths > 1e3 * DEPENDENT)
    if len(usable) < 2:
        return []
    unit = state.remainder[:, usable] / lengths[usable]
    cosines = unit.T @ unit
    products = unit.T @ state.target
    below = 1.0 - cosines**2
    # Nearly parallel pairs have no reliable cosine; single steps look at them.
    reliable = below > 1e-7
    above = (products**2)[:, None] + (products**2)[None, :] - 2 * np.outer(products, products) * cosines
    gains = np.where(np.triu(reliable, 1), above / np.where(reliable, below, 1.0), 0.0).ravel()
    count = min(count, len(gains))
    top = np.argpartition(-gains, count - 1)[:count]
    top = top[np.argsort(-gains[top], kind="stable")]
    pairs = [(int(usable[k // len(usable)]), int(usable[k % len(usable)])) for k in top if gains[k] > 0]
    return pairs


def _exchange(A: Array, y: Array, start: Subset, rounds: int = 3) -> list[Subset]:
    """Replace one column at a time by a better one until none is."""
    found: list[Subset] = []
    current = start
    for _ in range(rounds):
        better = _best_exchange(A, y, current)
        if better is None:
            break
        found.append(better)
        current = better
    return found


def _best_exchange(A: Array, y: Array, subset: Subset) -> Subset | None:
    """Return the best subset that differs in one column, all of them scored at once.

    Leaving out column p gives back one direction q of the span, so that every remainder beside the rest
    is the remainder beside all columns plus its part along q.
    """
    columns = list(subset.columns)
    Q, R = qr(A[:, columns], mode="economic", check_finite=False)
    if np.min(np.abs(np.diag(R))) < DEPENDENT:
        return None
    directions = Q @ solve_triangular(R, np.eye(len(columns)), trans="T", check_finite=False)
    directions /= np.linalg.norm(directions, axis=0)
    remainder = A - Q @ (Q.T @ A)
    target = y - Q @ (Q.T @ y)
    along, along_target = directions.T @ A, directions.T @ y
    lengths = np.sum(remainder**2, axis=0)[None, :] + along**2
    products = (target @ remainder)[None, :] + along * along_target[:, None]
    reliable = lengths > 1e3 * DEPENDENT**2
    gains = np.where(reliable, products**2 / np.where(reliable, lengths, 1.0), 0.0)
    gains[:, columns] = 0.0
    left = float(target @ target) + along_target**2 - np.max(gains, axis=1)
    position = int(np.argmin(left))
    if not left[position] < 0.998 * subset.residual**2:
        return None
    rest = [*columns[:position], *columns[position + 1 :], int(np.argmax(gains[position]))]
    basis = qr(A[:, rest], mode="economic", check_finite=False)[0]
    residual = y - basis @ (basis.T @ y)
    residual -= basis @ (basis.T @ residual)
    exact = float(np.linalg.norm(residual))
    return Subset(tuple(sorted(rest)), exact) if exact < 0.999 * subset.residual else None
