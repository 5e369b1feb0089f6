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

from fepysr_dyn.expressions import compile_expression
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.refit import refit_candidate

#: Laws that are fitted again with their own weights, and how often.
_CONTENDERS = 15
_ROUNDS = 2
#: Nats of a node of a formula.
_NODE_COST = 1.5
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
    function = compile_expression(law, problem.names)
    columns = list(problem.columns.values())
    with np.errstate(all="ignore"):
        for position, name in enumerate(problem.names):
            error = problem.column_errors.get(name)
            if error is None:
                continue
            above, below = (
                function(*(c + way * error if i == position else c for i, c in enumerate(columns)))
                for way in (1.0, -1.0)
            )
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
    lengths = {law.expression: _description(law, problem) for law in laws}
    ranked = sorted(laws, key=lambda law: lengths[law.expression])[:_CONTENDERS]
    for _ in range(_ROUNDS):
        for law in list(ranked):
            again = refit_candidate(law.expression, weighed_like(law.expression, problem), law.engine)
            if again.expression not in lengths:
                lengths[again.expression] = _description(again, problem)
                ranked.append(again)
        ranked = sorted(ranked, key=lambda law: lengths[law.expression])[:_CONTENDERS]
    return ranked[0].expression if ranked and np.isfinite(lengths[ranked[0].expression]) else None


def _description(law: Candidate, problem: RegressionProblem) -> float:
    """Return the negative logarithm of the likelihood, and the length of the formula, in nats."""
    variances = row_variances(law.expression, problem)
    values = compile_expression(law.expression, problem.names)(*problem.columns.values())
    with np.errstate(all="ignore"):
        misfit = 0.5 * float(np.sum((problem.target - values) ** 2 / variances + np.log(variances)))
    return misfit + _NODE_COST * law.complexity if np.isfinite(misfit) else float("inf")
