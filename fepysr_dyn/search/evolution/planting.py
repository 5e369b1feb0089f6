"""Formulas from elsewhere become individuals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np
import sympy

from fepysr_dyn.search.evolution.archive import Island, archive, niche_of, oldest, store
from fepysr_dyn.search.evolution.constants import optimise_constants
from fepysr_dyn.search.evolution.encoding import Program
from fepysr_dyn.search.evolution.inputs import Task
from fepysr_dyn.search.evolution.mutation import cost_of
from fepysr_dyn.search.evolution.normalising import normalise
from fepysr_dyn.search.evolution.workspace import MAX_TERMS, make_workspace


def polynomials(names: Sequence[str]) -> list[sympy.Expr]:
    """Return sums of all monomials up to each degree, as long as each can have its own coefficient.

    Fitted as a whole and pruned afterwards, a polynomial is exact where its terms, one by one, resemble each
    other too much to be found.
    """
    symbols = sympy.symbols(list(names))
    found: list[sympy.Expr] = []
    terms: list[sympy.Expr] = []
    for degree in range(1, MAX_TERMS + 1):
        terms += [sympy.prod(f) for f in combinations_with_replacement(symbols, degree)]
        if len(terms) > MAX_TERMS:
            break
        found.append(sum(terms))
    return found


def plant(island: Island, programs: Sequence[Program], task: Task, resolution: float) -> None:
    """Put programs with their best constants into population and archive."""
    data = task.search
    work = make_workspace(data, task.nodes)
    for program in programs:
        if len(program) > task.nodes:
            continue
        child = (np.zeros(task.nodes, dtype=np.int16), np.zeros(task.nodes))
        fresh = (np.zeros(task.nodes, dtype=np.int16), np.zeros(task.nodes))
        child[0][: len(program)] = program.codes
        child[1][: len(program)] = program.values
        length, terms, _ = normalise(child, len(program), fresh, data.is_scaled, task.rules, work)
        if length == 0:
            continue
        # Powers cost more as products than as formulas; the formula's complexity is checked in the end.
        cost = min(cost_of(fresh[0], length, task.rules.costs), task.rules.max_cost)
        loss, _ = optimise_constants(fresh[0], fresh[1], length, data, work, 20, resolution * 1e-4)
        if loss < np.inf:
            store(island, oldest(island), fresh, length, loss, cost)
            archive(island, fresh, length, loss, cost, niche_of(fresh[0], length, terms))
