"""Rows of a problem: how many, which of them a search looks at, and how much each counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.search.evaluation import tree_values
from fepysr_dyn.search.problem import Array, RegressionProblem

if TYPE_CHECKING:
    import sympy


def row_count(problem: RegressionProblem) -> int:
    """Return the number of rows of the columns."""
    return len(next(iter(problem.columns.values())))


def column_arrays(problem: RegressionProblem) -> dict[str, Array]:
    """Return the columns as float64 arrays by name."""
    return {name: np.asarray(values, dtype=np.float64) for name, values in problem.columns.items()}


def thinned(problem: RegressionProblem, rows: int) -> RegressionProblem:
    """Return the problem on at most so many random rows; a measured problem is left whole."""
    total = row_count(problem)
    if problem.measurement is not None or total <= rows:
        return problem
    chosen = np.sort(np.random.default_rng(problem.seed).choice(total, rows, replace=False))
    # The extremes decide where functions are defined, so they always stay.
    extremes = [
        int(k) for v in (*problem.columns.values(), problem.target) for k in (np.argmin(v), np.argmax(v))
    ]
    chosen = np.union1d(chosen, extremes)
    return replace(
        problem,
        columns={name: np.asarray(values)[chosen] for name, values in problem.columns.items()},
        target=problem.target[chosen],
        weights=None if problem.weights is None else problem.weights[chosen],
        column_errors={name: errors[chosen] for name, errors in problem.column_errors.items()},
    )


def row_weights(problem: RegressionProblem) -> Array:
    """Return the square roots of the weights, one per row of the target, their squares one on average."""
    if problem.weights is None:
        return np.ones(len(problem.target))
    return np.asarray(np.sqrt(problem.weights / np.mean(problem.weights)))


def balance(problem: RegressionProblem) -> Array:
    """Return row factors that make all rows count relative to their own size."""
    size = np.abs(problem.target)
    typical = float(np.median(size)) or float(np.mean(size)) or 1.0
    factors = 1.0 / (size + typical)
    return np.asarray(factors / np.sqrt(np.mean(factors**2)))


def row_factors(problem: RegressionProblem, *, balanced: bool) -> Array:
    """Return square roots of the weights; balanced ones also divide each row by its size."""
    return row_weights(problem) * balance(problem) if balanced else row_weights(problem)


def heavy_tailed(problem: RegressionProblem) -> bool:
    """Return whether a few rows decide an unbalanced fit."""
    size = np.abs(problem.target - np.median(problem.target))
    return bool(np.max(size) > 30 * (np.median(size) or 1e-300))


def weightings(problem: RegressionProblem) -> tuple[bool, ...]:
    """Return whether to balance the rows: no, and for a heavy-tailed target also yes."""
    return (False, True) if heavy_tailed(problem) else (False,)


def evaluated(problem: RegressionProblem, terms: Sequence[sympy.Expr]) -> Array:
    """Return the values of terms on all rows, shape (rows, terms)."""
    columns = column_arrays(problem)
    return np.asarray(np.column_stack([tree_values(term, columns) for term in terms]))
