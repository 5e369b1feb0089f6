"""Pairs of columns that explain a target best together, out of all pairs.

Two terms that nearly cancel say little one by one, so that a search which adds the best term each time never
begins with them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from fepysr_dyn.search.problem import Array

#: Columns as parallel as this are one column.
_PARALLEL = 1e-6
#: Pairs that are looked at for every pair that is returned.
_DEPTH = 200


def best_pairs(matrix: Array, target: Array, kinds: Sequence[Hashable], count: int) -> list[tuple[int, int]]:
    """Return positions of the pairs whose fit leaves the least of the target, best first.

    Parameters
    ----------
    matrix : array, shape (rows, columns)
        Rows and target carry the square roots of their weights.
    kinds : sequence
        What each column is a member of; no two pairs of the same two kinds are returned.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> columns = np.column_stack([x, x**2, x**3, x**7])
    >>> best_pairs(columns, 5 * x - 4 * x**3, "abcd", 1)
    [(0, 2)]
    """
    sizes = np.linalg.norm(matrix, axis=0)
    scaled = matrix / np.where(sizes > 0, sizes, 1.0)
    overlap = scaled.T @ scaled
    along = scaled.T @ target
    left = 1.0 - overlap**2
    explained = along[:, None] ** 2 + along[None, :] ** 2 - 2.0 * overlap * np.outer(along, along)
    first, second = np.triu_indices(len(along), 1)
    known = (left[first, second] > _PARALLEL) & (sizes[first] > 0) & (sizes[second] > 0)
    gains = np.where(known, explained[first, second] / np.where(known, left[first, second], 1.0), -1.0)
    most = min(len(gains), _DEPTH * count)
    order = np.argpartition(-gains, most - 1)[:most] if most else np.zeros(0, dtype=int)
    chosen: dict[frozenset[Hashable], tuple[int, int]] = {}
    for index in order[np.argsort(-gains[order], kind="stable")]:
        i, j = int(first[index]), int(second[index])
        if gains[index] > 0:
            chosen.setdefault(frozenset((kinds[i], kinds[j])), (i, j))
        if len(chosen) == count:
            break
    return list(chosen.values())
