"""Sums of fractions whose denominators were read off the data."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import sympy

from fepysr_dyn.search.denominators import find_denominators
from fepysr_dyn.search.library import Atom, Library, products, variable_atoms
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.radicals import find_radicals
from fepysr_dyn.search.rows import evaluated, row_count
from fepysr_dyn.search.session import Session
from fepysr_dyn.search.sparse import SparseConfig, search_library

#: Denominators that are tried: the first is nearly always the right one.
_DENOMINATORS = 4
#: With more factors below the line it is not a law that is found but a function of discrete levels.
_MOST_FACTORS = 4
_MOST_COLUMNS = 140
#: One look for a denominator takes as long as about so many evaluations: with many columns there are many.
_COST = 50
#: So many of the best sums have all constants refitted: the shortest that is right may be far from best.
_REFITTED = 12
_DEGREES = (3, 2, 1)


def search_fractions(session: Session) -> None:
    """Offer sums of products over the factors of denominators, for targets almost free of noise."""

    def must_stop() -> bool:
        session.spend(_COST)
        return session.must_stop()

    found = find_denominators(session.problem, must_stop)
    few = (one for one in found if len(one.factors) <= _MOST_FACTORS)
    for one in itertools.islice(few, _DENOMINATORS):
        if _is_solved(session, one.variables, one.factors, ()):
            return
    if "sqrt" in session.problem.operators:
        for root in itertools.islice(find_radicals(session.problem, must_stop), _DENOMINATORS):
            if _is_solved(session, root.variables, root.factors, root.terms):
                return


def _is_solved(
    session: Session,
    variables: tuple[str, ...],
    below: tuple[sympy.Expr, ...],
    extra: tuple[sympy.Expr, ...],
) -> bool:
    """Search sums over given factors, and say whether to end there."""
    session.report(0.0, "fractions over " + ", ".join(map(str, (*below, *extra))))
    library = _library(session.problem, variables, below, extra)
    if len(library):
        search_library(session, session.problem, library, SparseConfig())
        # The factors are known to a few digits less than the target: all constants are fitted together.
        session.refine_front(most=_REFITTED)
    return session.exact is not None or session.must_stop()


def _library(
    problem: RegressionProblem,
    variables: tuple[str, ...],
    below: tuple[sympy.Expr, ...],
    extra: tuple[sympy.Expr, ...],
) -> Library:
    """Return products of the variables over products of the factors, and extra terms over these."""
    own = replace(problem, columns={name: problem.columns[name] for name in variables})
    expressions = [*(sympy.Pow(factor, -1) for factor in below), *extra]
    values = evaluated(problem, expressions)
    atoms = [Atom(expression, values[:, k]) for k, expression in enumerate(expressions)]
    inverse, terms = atoms[: len(below)], atoms[len(below) :]
    over = [some for count in range(len(inverse) + 1) for some in itertools.combinations(inverse, count)]
    for degree in _DEGREES:
        above = products(variable_atoms(own), degree, _MOST_COLUMNS)
        if len(above) * len(over) <= _MOST_COLUMNS or degree == _DEGREES[-1]:
            break
    plain = [(*a, *b) for b in over for a in above]
    # At a pole a product may be undefined; such columns are left out.
    with np.errstate(all="ignore"):
        return Library.of([*plain, *((term, *b) for term in terms for b in over)], row_count(problem))
