"""Errors of the columns: what they do to a formula, row by row, and the weights that follow from it.

Smoothed states are known no better than their noise allows. A steep law turns a small error of a column into
a large one of the rate: the right formula then misses such rows by more than a wrong one that is flat there,
and least squares takes the wrong one. How much each row should count depends on the law that is searched, so
laws are judged by their likelihood with these errors counted in, and the best one's errors become the weights
of the next search.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sympy

from fepysr_dyn.expressions import complexity
from fepysr_dyn.expressions.canonical import NODE_COST
from fepysr_dyn.search.evaluation import tree_values
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.search.least_squares import refit_expression
from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.rows import column_arrays

#: Laws that are fitted again with their own weights, and how often.
_CONTENDERS = 15
_ROUNDS = 2
_STEPS = 30
#: A law that is not finite one standard error away misses that row by as much as it likes.
_ANY_ERROR = 1e3


def row_variances(law: sympy.Expr, problem: RegressionProblem) -> Array:
    """Return the variance of each row's residual: that of the target, and of the law through its columns.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> rows = {"x": np.array([0.1, 1.0, 2.0])}
    >>> errors = {"x": np.full(3, 0.1)}
    >>> problem = RegressionProblem(rows, np.zeros(3), noise=0.1, column_errors=errors)
    >>> row_variances(parse("2*x"), problem).round(4).tolist()
    [0.05, 0.05, 0.05]
    """
    noise = problem.noise or 0.0
    weights = np.ones(len(problem.target)) if problem.weights is None else problem.weights
    variances = noise**2 * np.mean(weights) / weights
    columns = column_arrays(problem)
    with np.errstate(all="ignore"):
        for name in sorted({symbol.name for symbol in law.free_symbols} & set(problem.column_errors)):
            error = problem.column_errors[name]
            above = tree_values(law, {**columns, name: columns[name] + error})
            below = tree_values(law, {**columns, name: columns[name] - error})
            moved = np.broadcast_to(0.5 * (above - below), variances.shape)
            variances = variances + np.where(np.isfinite(moved), moved, _ANY_ERROR * problem.scale) ** 2
    return np.asarray(variances, dtype=np.float64)


def weighed_like(law: sympy.Expr, problem: RegressionProblem) -> RegressionProblem:
    """Return the problem with the weights and the noise that it has if this is the law."""
    variances = row_variances(law, problem)
    weights = 1.0 / variances
    return replace(
        problem, weights=weights / np.mean(weights), noise=float(np.mean(weights)) ** -0.5, column_errors={}
    )


def likeliest(laws: list[Candidate], problem: RegressionProblem) -> sympy.Expr | None:
    """Return the law that explains target and columns best for its length, None if none is finite."""
    lengths = {law.expression: _description(law.expression, problem) for law in laws}
    ranked = sorted(lengths, key=lambda law: lengths[law])[:_CONTENDERS]
    for _ in range(_ROUNDS):
        for law in list(ranked):
            again, _ = refit_expression(law, weighed_like(law, problem), max_steps=_STEPS)
            if again not in lengths:
                lengths[again] = _description(again, problem)
                ranked.append(again)
        ranked = sorted(ranked, key=lambda law: lengths[law])[:_CONTENDERS]
    return ranked[0] if ranked and np.isfinite(lengths[ranked[0]]) else None


def _description(law: sympy.Expr, problem: RegressionProblem) -> float:
    """Return the negative logarithm of the likelihood, and the length of the formula, in nats."""
    variances = row_variances(law, problem)
    with np.errstate(all="ignore"):
        misses = problem.target - tree_values(law, column_arrays(problem))
        misfit = 0.5 * float(np.sum(misses**2 / variances + np.log(variances)))
    return misfit + NODE_COST * complexity(law) if np.isfinite(misfit) else float("inf")
