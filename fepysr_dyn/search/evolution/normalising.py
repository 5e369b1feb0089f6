"""The one form of a program in which it is compared, stored and fitted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution.fitting import split_terms
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.kernels import subtree_sizes
from fepysr_dyn.search.evolution.mutation import Rules, join_terms, move
from fepysr_dyn.search.evolution.simplify import simplify, structure_hash
from fepysr_dyn.search.evolution.workspace import Workspace

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]


@kernel
def normalise(
    child: tuple[Codes, Floats],
    length: int,
    other: tuple[Codes, Floats],
    is_scaled: bool,
    rules: Rules,
    work: Workspace,
) -> tuple[int, int, np.uint64]:
    """Simplify a program and strip its linear coefficients; return length, summands and hash.

    The result is written to `other`. The hash does not depend on the order of the summands.
    """
    length = simplify(child[0], child[1], length, rules.allowed, work.sizes)
    subtree_sizes(child[0], length, work.sizes)
    terms = split_terms(child[0], length, work.sizes, work.roots, work.pending, is_scaled)
    key = np.uint64(terms)
    for t in range(terms):
        root = work.roots[t]
        key += structure_hash(child[0], root - work.sizes[root] + 1, root + 1)
    if is_scaled:
        length = join_terms(child, work.roots, terms, -1, work.sizes, other)
    else:
        length = move(child[0], child[1], 0, length, other[0], other[1], 0)
    return length, terms, key
