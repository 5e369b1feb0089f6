"""Problems for engines that only know rows and a target: features as columns, the weak form undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sympy

from fepysr_dyn.expressions import compile_expression, complexity
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.refit import refit_candidate

#: Widths of the kernel in standard deviations of the columns, and the smallest damping relative to it.
_WIDTHS = (0.3, 0.7, 1.5, 3.0)
_DAMPING = 1e-14


@dataclass(frozen=True)
class PointwiseProblem:
    """Rows, target and weights, with names no outside program mistakes for something else.

    Parameters
    ----------
    names : tuple of str
        ``v0, v1, ...``: first the variables, then the features.
    meaning : mapping of str to sympy expression
        What each name stands for in the user's variables.
    matrix : array, shape (rows, names)
    target : array, shape (rows,)
    weights : array, optional
    """

    names: tuple[str, ...]
    meaning: Mapping[str, sympy.Expr]
    matrix: Array
    target: Array
    weights: Array | None


def pointwise(problem: RegressionProblem) -> PointwiseProblem:
    """Return variables and usable features as columns.

    With a measurement operator the target per row is the smallest one that the operator maps to the
    target: good enough to search with; answers are refitted and scored by the operator itself.
    """
    columns = [np.asarray(values, dtype=np.float64) for values in problem.columns.values()]
    meaning = [sympy.Symbol(name) for name in problem.names]
    for feature in problem.features:
        values = compile_expression(feature, problem.names)(*columns[: len(problem.names)])
        if np.all(np.isfinite(values)) and np.ptp(values) > 0 and uses_only(feature, problem.operators):
            columns.append(values)
            meaning.append(feature)
    names = tuple(f"v{i}" for i in range(len(columns)))
    target, weights = problem.target, problem.weights
    if problem.measurement is not None:
        target, weights = unmeasured(problem), None
    return PointwiseProblem(
        names, dict(zip(names, meaning, strict=True)), np.column_stack(columns), target, weights
    )


def unmeasured(problem: RegressionProblem) -> Array:
    """Return a target per row that the measurement operator maps to the target, as far as noise allows.

    The target is taken for a smooth function of the columns (a constant, a linear part and a Gaussian
    kernel): that decides what the operator leaves open. Its width and how far noise is damped are those under
    which each measured value is best foretold by the others (generalised cross-validation).
    """
    operator = problem.measurement
    if operator is None:
        return problem.target
    root = np.ones(len(problem.target)) if problem.weights is None else np.sqrt(problem.weights)
    rooted, goal = operator * root[:, None], problem.target * root
    spread = problem.matrix.std(axis=1)
    rows = ((problem.matrix.T - problem.matrix.mean(axis=1)) / np.where(spread > 0, spread, 1.0)).T
    products = rows.T @ rows
    squares = np.diag(products)
    distances = np.maximum(squares[:, None] + squares - 2 * products, 0.0)
    best, target = np.inf, np.zeros(operator.shape[1])
    for width in _WIDTHS:
        kernel = 1.0 + products + np.exp(-0.5 * distances / width**2)
        seen = kernel @ rooted.T
        values, vectors = np.linalg.eigh(rooted @ seen)
        values, projected = np.maximum(values, 0.0), vectors.T @ goal
        for damping in np.geomspace(_DAMPING, 1.0, 25) * values[-1]:
            missed = damping / (values + damping)
            score = float(np.sum((missed * projected) ** 2)) / float(np.sum(missed)) ** 2
            if score < best:
                best = score
                target = seen @ (vectors @ (projected / (values + damping)))
    return target


def in_variables(found: sympy.Expr, rows: PointwiseProblem) -> sympy.Expr:
    """Substitute features and variables as sympy objects, never as text."""
    return found.xreplace({sympy.Symbol(name): meaning for name, meaning in rows.meaning.items()})


def refitted(expression: sympy.Expr, problem: RegressionProblem, engine: str) -> Candidate | None:
    """Return a candidate with its constants refitted in float64, if it is allowed at all."""
    if not uses_only(expression, problem.operators) or expression.has(sympy.nan, sympy.zoo, sympy.oo):
        return None
    if complexity(expression) > problem.max_complexity:
        return None
    candidate = refit_candidate(expression, problem, engine)
    return candidate if np.isfinite(candidate.loss) else None
