"""Fitted formulas offered to a session: constants, sums of terms, and their shortest writing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy

from fepysr_dyn.search.least_squares import (
    cleaned_coefficients,
    linear_combination,
    solve_columns,
    whole_coefficients,
)
from fepysr_dyn.search.problem import Array
from fepysr_dyn.search.rows import evaluated, row_count, row_factors
from fepysr_dyn.search.session import Session


def offer_constant(session: Session) -> None:
    """Offer the weighted mean, the simplest answer of all."""
    problem = session.problem
    weights = row_factors(problem, balanced=False)
    ones = problem.measure(np.ones(row_count(problem)))[:, None] * weights[:, None]
    value = solve_columns(ones, problem.target * weights)
    session.offer(sympy.Float(float(value[0])))


def offer_terms(
    session: Session,
    terms: Sequence[sympy.Expr],
    values: Array | None = None,
    *,
    least: int = 1,
    balanced: bool = False,
) -> float:
    """Fit the coefficients of terms on all rows and offer the sum; return its loss.

    The values of the terms on all rows are evaluated if they are not given. `least` is a lower bound of the
    complexity: no formula is built for what cannot reach the front.
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
    if session.would_help(least, loss):
        session.add(linear_combination(coefficients, terms), loss)
        whole = whole_coefficients(A, y, coefficients)
        if whole is not None:
            session.add(linear_combination(whole, terms), problem.loss(values @ whole))
    return loss
