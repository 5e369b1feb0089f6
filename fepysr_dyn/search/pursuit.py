"""Products of functions with free inner constants, found on grids and refined at once.

A dictionary holds each family at a grid of constants; products of two of its members are scored without
being formed, the best of each kind is refined by Levenberg-Marquardt, and the next term is looked for
beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from fepysr_dyn.search.families import allowed_families
from fepysr_dyn.search.least_squares import linear_combination, refit_expression, solve_columns
from fepysr_dyn.search.library import Atom, products, variable_atoms
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.rows import evaluated, row_factors, thinned
from fepysr_dyn.search.session import Session
from fepysr_dyn.search.wide import product_gains


@dataclass(frozen=True)
class PursuitConfig:
    """Grid points per family, rows for the scoring, kinds refined per step, sums extended, and terms."""

    points: int = 14
    rows: int = 240
    kinds: int = 10
    beam: int = 2
    terms: int = 2
    max_atoms: int = 420


@dataclass(frozen=True, eq=False)
class Entry:
    """A dictionary member and the kind it belongs to (family and argument, whatever the constant)."""

    atom: Atom
    kind: int


def pursue_products(session: Session, config: PursuitConfig) -> None:
    """Offer sums of few products of two functions with inner constants."""
    few = thinned(session.problem, config.rows)
    if few.measurement is not None:
        return
    entries = _dictionary(few, config)
    sums: list[tuple[float, tuple[sympy.Expr, ...]]] = [(1.0, ())]
    for step in range(config.terms):
        longer: list[tuple[float, tuple[sympy.Expr, ...]]] = []
        for _, terms in sums[: config.beam]:
            session.report(step / config.terms, "products with inner constants")
            for product in _candidates(few, entries, terms, config.kinds):
                if session.must_stop():
                    return
                loss, refined = _refined(session, few, (*terms, product))
                if session.exact is not None:
                    return
                if refined:
                    longer.append((loss, refined))
        sums = sorted(longer, key=lambda item: item[0])
        if not sums:
            return


def _dictionary(few: RegressionProblem, config: PursuitConfig) -> list[Entry]:
    """Return the constant, low monomials, and all families of simple arguments at their grids."""
    variables = variable_atoms(few)
    rows = len(few.target)
    entries = [Entry(Atom(sympy.Integer(1), np.ones(rows)), 0)]
    for kind, factors in enumerate(products(variables, 2, 40, constant=False), start=1):
        atom = factors[0]
        for other in factors[1:]:
            atom = atom * other
        entries.append(Entry(atom, kind))
    kind = len(entries)
    for argument in _arguments(variables):
        for family in allowed_families(few.operators):
            grid = family.grid(argument.values, config.points)
            if len(entries) + 2 * len(grid) > config.max_atoms:
                continue
            for constant in grid:
                for position, atom in enumerate(family.atoms(float(constant), argument)):
                    if atom.usable:
                        entries.append(Entry(atom, kind + position))
            kind += 2
    return sorted(entries, key=lambda entry: entry.kind)


def _arguments(variables: Sequence[Atom]) -> list[Atom]:
    pairs = [(a, b) for k, a in enumerate(variables) for b in variables[k + 1 :]]
    squares = [atom**2 for atom in variables]
    return [*variables, *squares, *(a * b for a, b in pairs), *(a + b for a, b in pairs)]


def _candidates(
    few: RegressionProblem, entries: list[Entry], terms: Sequence[sympy.Expr], count: int
) -> list[sympy.Expr]:
    """Return the best product of each of the best kinds, beside the terms there are."""
    weights = row_factors(few, balanced=False)
    ones = np.ones((len(few.target), 1))
    basis = np.column_stack([ones, evaluated(few, terms)]) if terms else ones
    atoms = [entry.atom for entry in entries]
    gains = np.triu(product_gains(atoms, atoms, few.target, weights, basis))
    starts = np.flatnonzero(np.diff([entry.kind for entry in entries], prepend=-1))
    of_kinds = np.maximum.reduceat(np.maximum.reduceat(gains, starts, axis=0), starts, axis=1)
    ends = [*starts[1:], len(entries)]
    best = []
    for k in np.argsort(-of_kinds, axis=None, kind="stable")[:count]:
        a, b = divmod(int(k), len(starts))
        block = gains[starts[a] : ends[a], starts[b] : ends[b]]
        i, j = divmod(int(np.argmax(block)), block.shape[1])
        best.append(atoms[starts[a] + i].expression * atoms[starts[b] + j].expression)
    return best


def _refined(
    session: Session, few: RegressionProblem, terms: tuple[sympy.Expr, ...]
) -> tuple[float, tuple[sympy.Expr, ...]]:
    """Refine all constants of a sum of terms on few rows, then on all; return the loss and the terms."""
    values = np.column_stack([np.ones(len(few.target)), evaluated(few, terms)])
    weights = row_factors(few, balanced=False)
    numbers = solve_columns(values * weights[:, None], few.target * weights)
    start = linear_combination(numbers[1:], terms)
    session.spend(40)
    best: tuple[float, sympy.Expr] = (float("inf"), start)
    for expression in (start + sympy.Float(float(numbers[0])), start):
        refined, loss = refit_expression(expression, few, max_steps=25)
        if loss < 0.9 * best[0] or (expression is start and loss < 1.001 * best[0] + 1e-24):
            best = (loss, refined)
        session.offer_if_promising(refined, loss)
    parts = [term for term in sympy.Add.make_args(best[1]) if term.free_symbols]
    return best[0], tuple(_without_number(term) for term in parts)


def _without_number(term: sympy.Expr) -> sympy.Expr:
    return term.as_coeff_Mul()[1]
