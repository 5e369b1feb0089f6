"""Fitted formulas offered to a session: constants, sums of terms, and their shortest writing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy

from fepysr_dyn.expressions import complexity
from fepysr_dyn.search.least_squares import cleaned_coefficients, linear_combination, solve_columns
from fepysr_dyn.search.problem import Array
from fepysr_dyn.search.rows import evaluated, row_count, row_factors
from fepysr_dyn.search.session import Session

#: Taking out common factors saves at most about this much complexity.
MOST_GATHERED = 6


def offer_constant(session: Session) -> None:
    """Offer the weighted mean, the simplest answer of all."""
    problem = session.problem
    weights = row_factors(problem, balanced=False)
    ones = problem.measure(np.ones(row_count(problem)))[:, None] * weights[:, None]
    value = solve_columns(ones, problem.target * weights)
    session.offer(sympy.Float(float(value[0])))


def offer_terms(
    session: Session, terms: Sequence[sympy.Expr], values: Array | None = None, *, balanced: bool = False
) -> float:
    """Fit the coefficients of terms on all rows and offer the sum; return its loss.

    The values of the terms on all rows are evaluated if they are not given.
    """
    problem = session.problem
    values = evaluated(problem, terms) if values is None else values
    if not np.all(np.isfinite(values)):
        return float("inf")
    weights = row_factors(problem, balanced=balanced)
    A = problem.measure(values) * weights[:, None]
    y = problem.target * weights
    coefficients = cleaned_coefficients(A, y, solve_columns(A, y))
    loss = problem.loss(values @ coefficients)
    session.spend(1)
    expression = linear_combination(coefficients, terms)
    if session.would_help(complexity(expression) - MOST_GATHERED, loss):
        session.add(shortest(expression), loss)
    return loss


def shortest(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression, or its form with common factors taken out if that is smaller."""
    expression = expression.replace(_has_exponentials, _one_exponential)
    if not expression.is_Add:
        return expression
    gathered = sympy.factor_terms(expression)
    return gathered if complexity(gathered) < complexity(expression) else expression


def _has_exponentials(node: sympy.Basic) -> bool:
    return bool(node.is_Mul and sum(isinstance(factor, sympy.exp) for factor in node.args) > 1)


def _one_exponential(node: sympy.Mul) -> sympy.Expr:
    """Return a product with its exponentials put together."""
    powers = [factor.args[0] for factor in node.args if isinstance(factor, sympy.exp)]
    rest = [factor for factor in node.args if not isinstance(factor, sympy.exp)]
    return sympy.Mul(*rest, sympy.exp(sympy.Add(*powers)))
