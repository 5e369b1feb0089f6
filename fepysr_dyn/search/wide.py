"""Pursuit over all products of two sets of atoms, without ever forming the products.

The products of p and q atoms are p·q columns; their inner products with any vector v are the matrix
``L.T @ diag(v) @ R``. One matrix product thus scores a hundred thousand columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fepysr_dyn.search.library import Atom
from fepysr_dyn.search.problem import Array
from fepysr_dyn.search.subsets import ROUNDING

#: Columns whose remainder has lost this share of its squared length are not scored any further.
_LOST = 1e-7


Product = tuple[Atom, Atom]


@dataclass(frozen=True)
class WideConfig:
    """How hard to look: subsets extended per size, the largest size, and columns kept from each."""

    beam: int = 6
    depth: int = 5
    keep: int = 40


@dataclass
class _State:
    chosen: tuple[tuple[int, int], ...]
    basis: list[Array]
    target: Array
    lengths: Array

    @property
    def residual(self) -> float:
        return float(np.linalg.norm(self.target))


def promising_products(
    left: Sequence[Atom],
    right: Sequence[Atom],
    target: Array,
    weights: Array,
    config: WideConfig | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[list[Product], list[tuple[Product, ...]]]:
    """Return the products that orthogonal pursuit with a beam meets on its way, and its best subsets.

    Parameters
    ----------
    left, right : sequences of Atom
        Factors, the constant 1 first.
    target : array
        Values to explain, one per row.
    weights : array
        Row factors (square roots of weights).
    """
    config = config or WideConfig()
    L = _unit(np.column_stack([atom.values for atom in left]))
    R = _unit(np.column_stack([atom.values for atom in right]))
    size = float(np.linalg.norm(weights * target))
    if size == 0:
        return [], []
    W = weights**2
    lengths = (L**2 * W[:, None]).T @ R**2
    # Tiny lengths are products without overlap; they would only amplify rounding.
    floor = 1e-12 * float(np.max(lengths))
    start = _State((), [], weights * target / size, np.where(lengths > floor, lengths, np.inf))
    # The first product is the constant: most targets have one, and beside it the rest shows better.
    states = [start, _extended(start, (0, 0), L, R, weights)]
    kept: dict[tuple[int, int], None] = {}
    best_of_sizes: list[tuple[tuple[int, int], ...]] = []
    for _ in range(config.depth):
        proposals: dict[frozenset[tuple[int, int]], tuple[float, _State, tuple[int, int]]] = {}
        for state in states:
            if stop():
                break
            gains = _gains(state, L, R, weights, lengths)
            for i, j in _largest(gains, config.keep):
                kept.setdefault((i, j))
            for i, j in _largest(gains, config.beam):
                key = frozenset((*state.chosen, (i, j)))
                left_over = state.residual**2 - float(gains[i, j])
                if key not in proposals or left_over < proposals[key][0]:
                    proposals[key] = (left_over, state, (i, j))
        best = _different(sorted(proposals.values(), key=lambda item: item[0]), 3 * config.beam)
        states = [_extended(state, pair, L, R, weights) for _, state, pair in best[: config.beam]]
        if not states:
            break
        first = min(states, key=lambda state: state.residual)
        best_of_sizes.append(first.chosen)
        if first.residual < ROUNDING:
            break
    subsets = [tuple((left[i], right[j]) for i, j in chosen) for chosen in best_of_sizes]
    return [(left[i], right[j]) for i, j in kept], subsets


def product_gains(
    left: Sequence[Atom], right: Sequence[Atom], target: Array, weights: Array, basis: Array
) -> Array:
    """Return how much each product explains of the square of what given columns leave over."""
    L = _unit(np.column_stack([atom.values for atom in left]))
    R = _unit(np.column_stack([atom.values for atom in right]))
    lengths = (L**2 * (weights**2)[:, None]).T @ R**2
    floor = 1e-12 * float(np.max(lengths))
    state = _State((), [], weights * target, np.where(lengths > floor, lengths, np.inf))
    for direction in np.linalg.qr(basis * weights[:, None])[0].T:
        shadow = (L * (weights * direction)[:, None]).T @ R
        state.target = state.target - direction * (direction @ state.target)
        state.lengths = state.lengths - shadow**2
    return _gains(state, L, R, weights, lengths)


def _unit(columns: Array) -> Array:
    return np.asarray(columns / np.sqrt(np.mean(columns**2, axis=0)))


def _gains(state: _State, L: Array, R: Array, weights: Array, lengths: Array) -> Array:
    products = (L * (weights * state.target)[:, None]).T @ R
    reliable = state.lengths > _LOST * lengths
    return np.where(reliable, products**2 / np.where(reliable, state.lengths, 1.0), 0.0)


def _largest(gains: Array, count: int) -> list[tuple[int, int]]:
    flat = gains.ravel()
    count = min(count, len(flat))
    top = np.argpartition(-flat, count - 1)[:count]
    top = top[np.argsort(-flat[top], kind="stable")]
    return [(int(k) // gains.shape[1], int(k) % gains.shape[1]) for k in top if flat[k] > 0]


def _different(
    proposals: list[tuple[float, _State, tuple[int, int]]], count: int
) -> list[tuple[float, _State, tuple[int, int]]]:
    """Drop proposals that leave the same residual: the same column written in another way."""
    result: list[tuple[float, _State, tuple[int, int]]] = []
    for proposal in proposals:
        if all(abs(proposal[0] - other[0]) > 1e-9 * abs(other[0]) for other in result):
            result.append(proposal)
        if len(result) == count:
            break
    return result


def _extended(state: _State, pair: tuple[int, int], L: Array, R: Array, weights: Array) -> _State:
    direction = weights * L[:, pair[0]] * R[:, pair[1]]
    for _ in range(2):
        for known in state.basis:
            direction = direction - known * (known @ direction)
    direction = direction / np.linalg.norm(direction)
    shadow = (L * (weights * direction)[:, None]).T @ R
    return _State(
        (*state.chosen, pair),
        [*state.basis, direction],
        state.target - direction * (direction @ state.target),
        state.lengths - shadow**2,
    )
