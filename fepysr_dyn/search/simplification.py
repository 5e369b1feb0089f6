"""Other ways to write a formula, of which the shortest that still fits is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import sympy

from fepysr_dyn.expressions import canonical, complexity
from fepysr_dyn.expressions.canonical import expanded_terms
from fepysr_dyn.search.front import Candidate, evaluate_candidate
from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.problem import RegressionProblem

#: Larger expressions are left as they are: factoring them can take minutes.
_LARGEST = 60
_TERMS = 60


def shortened(candidate: Candidate, problem: RegressionProblem, *, tolerance: float = 1e-22) -> Candidate:
    """Return the shortest equal form of a candidate found by expansion, factoring and cancellation.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> x = np.linspace(1, 2, 9)
    >>> problem = RegressionProblem({"x": x}, (x + 1) ** 3)
    >>> long = evaluate_candidate(parse("x**3 + 3*x**2 + 3*x + 1"), problem, "example")
    >>> shortened(long, problem).expression
    (x + 1)**3
    """
    if candidate.complexity > _LARGEST or expanded_terms(candidate.expression) > _TERMS:
        return candidate
    best = candidate
    for form in _forms(candidate.expression):
        if complexity(form) >= best.complexity or not uses_only(form, problem.operators):
            continue
        if form.has(sympy.nan, sympy.zoo, sympy.oo, sympy.I):
            continue
        other = evaluate_candidate(form, problem, candidate.engine)
        # Forms are equal on paper; rounding or a branch of a root may say otherwise.
        if np.isfinite(other.loss) and other.loss <= max(candidate.loss * 1.01, tolerance):
            best = other
    return best


def _forms(expression: sympy.Expr) -> Iterator[sympy.Expr]:
    ways: list[Callable[[sympy.Expr], sympy.Expr]] = [canonical, sympy.powsimp]
    if not expression.has(sympy.Float):
        ways += [sympy.factor_terms, _cancelled, _factored, sympy.together, _collected]
    for way in ways:
        try:
            yield way(expression)
        except (sympy.PolynomialError, NotImplementedError, ValueError, TypeError, AttributeError):
            # sympy's algebra refuses some functions; the other forms remain.
            continue


def _cancelled(expression: sympy.Expr) -> sympy.Expr:
    return sympy.cancel(expression)


def _factored(expression: sympy.Expr) -> sympy.Expr:
    return sympy.factor(expression)


def _collected(expression: sympy.Expr) -> sympy.Expr:
    symbols = sorted(expression.free_symbols, key=str)
    return sympy.collect(canonical(expression), symbols) if symbols else expression
