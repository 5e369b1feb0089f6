"""Refits: linear ones by QR, nonlinear ones by Levenberg-Marquardt, and the cleaning of constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import sympy
from scipy.linalg import lstsq

from fepysr_dyn.expressions import Template, free_constants
from fepysr_dyn.search.evaluation import tree_slopes, tree_values
from fepysr_dyn.search.problem import Array, RegressionProblem

if TYPE_CHECKING:
    from fepysr_dyn.search.session import Session

#: Losses below this are rounding; one is then as good as the other.
LOSS_FLOOR = 1e-26
#: How near to an integer a constant must be to be tried as one, relative to its size.
NEAR_INTEGER = 1e-6


def solve_columns(A: Array, y: Array) -> Array:
    """Return the least-squares coefficients of scaled columns by a complete orthogonal factorisation."""
    norms = np.linalg.norm(A, axis=0)
    norms[norms == 0] = 1.0
    scaled = A / norms
    solution: Array = lstsq(scaled, y, lapack_driver="gelsy", cond=1e-15, check_finite=False)[0]
    # One step of refinement wins back digits that heavy rows took.
    solution = (
        solution
        + lstsq(scaled, y - scaled @ solution, lapack_driver="gelsy", cond=1e-15, check_finite=False)[0]
    )
    return np.asarray(solution / norms)


def linear_combination(coefficients: Sequence[float] | Array, terms: Sequence[sympy.Expr]) -> sympy.Expr:
    """Return the sum of terms with their coefficients; whole numbers become integers."""
    return sympy.Add(*(number(c) * term for c, term in zip(coefficients, terms, strict=True)))


def number(value: float) -> sympy.Expr:
    """Return a float as a sympy number, an integer where it is one."""
    return sympy.Integer(int(value)) if float(value).is_integer() and abs(value) < 1e6 else sympy.Float(value)


def cleaned_coefficients(A: Array, y: Array, coefficients: Array) -> Array:
    """Return coefficients with near-integers rounded and the others refitted, if the fit is as good."""
    rounded = np.round(coefficients)
    near = np.abs(coefficients - rounded) <= NEAR_INTEGER * np.maximum(1.0, np.abs(coefficients))
    if not np.any(near):
        return coefficients
    fixed = np.where(near, rounded, coefficients)
    if not np.all(near):
        rest = ~near
        fixed[rest] = solve_columns(A[:, rest], y - A[:, near] @ rounded[near])
    before = float(np.sum((A @ coefficients - y) ** 2))
    after = float(np.sum((A @ fixed - y) ** 2))
    floor = LOSS_FLOOR * float(np.sum(y**2))
    return fixed if after <= 1.0001 * before + floor else coefficients


def whole_coefficients(A: Array, y: Array, coefficients: Array) -> Array | None:
    """Return coefficients with whole numbers wherever the data cannot tell the difference, or None.

    Under noise this is another formula, simpler and a little worse; which one to believe is decided later.
    """
    rows, columns = A.shape
    if rows <= columns + 2:
        return None
    residual = A @ coefficients - y
    norms = np.linalg.norm(A, axis=0)
    sigma, right = np.linalg.svd(A / norms, full_matrices=False)[1:]
    if sigma[-1] <= 1e-13 * sigma[0]:
        return None
    spread = np.sqrt(np.sum((right / sigma[:, None]) ** 2, axis=0)) / norms
    errors = spread * np.sqrt(float(residual @ residual) / (rows - columns))
    rounded = np.round(coefficients)
    near = (np.abs(coefficients - rounded) < 2.5 * errors) & (errors < 0.15) & (rounded != 0)
    if not np.any(near & (coefficients != rounded)):
        return None
    fixed = np.where(near, rounded, coefficients)
    if not np.all(near):
        fixed[~near] = solve_columns(A[:, ~near], y - A[:, near] @ rounded[near])
    return fixed


def refit(
    template: Template,
    problem: RegressionProblem,
    start: Sequence[float] | None = None,
    *,
    max_steps: int = 60,
) -> tuple[Array, float]:
    """Fit the parameters of a template by Levenberg-Marquardt on all rows.

    Returns
    -------
    values, loss
        The best values met and their loss (infinite if the start cannot be evaluated).
    """
    theta = np.array(template.values if start is None else start, dtype=np.float64)
    if not len(theta):
        return theta, float("inf")
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in problem.columns.items()}
    expression, parameters = template.expression, template.parameters
    weights = np.ones(len(problem.target)) if problem.weights is None else np.sqrt(problem.weights)
    scale = weights / problem.scale

    def residual(values: Array) -> Array:
        numbers = {name: np.asarray(value) for name, value in zip(parameters, values, strict=True)}
        prediction = tree_values(expression, {**columns, **numbers})
        return (problem.measure(prediction) - problem.target) * scale

    def slopes(values: Array) -> Array:
        return problem.measure(tree_slopes(expression, parameters, values, columns)[1]) * scale[:, None]

    with np.errstate(all="ignore"):
        theta, cost = levenberg_marquardt(residual, slopes, theta, max_steps)
    total = float(np.sum(weights**2))
    # A constant that has run away to infinity is none, even where the formula still has a value.
    return theta, cost / total if np.all(np.isfinite(theta)) else float("inf")


def levenberg_marquardt(
    residual: Callable[[Array], Array],
    slopes: Callable[[Array], Array],
    start: Array,
    max_steps: int = 60,
) -> tuple[Array, float]:
    """Minimise a sum of squares; steps are solved on scaled columns by orthogonal factorisation."""
    theta = start
    r = residual(theta)
    cost = float(r @ r)
    if not np.isfinite(cost):
        return theta, float("inf")
    damping = 1e-3
    for _ in range(max_steps):
        A = slopes(theta)
        if not np.all(np.isfinite(A)):
            break
        norms = np.linalg.norm(A, axis=0)
        norms[norms == 0] = 1.0
        U, sigma, right = np.linalg.svd(A / norms, full_matrices=False)
        projected = U.T @ r
        improved = False
        for _ in range(8):
            step = right.T @ (sigma / (sigma**2 + damping**2) * projected) / norms
            trial = theta - step
            new = residual(trial)
            new_cost = float(new @ new)
            if np.isfinite(new_cost) and new_cost < cost:
                improved = True
                break
            damping = max(damping, 1e-12) * 4
        if not improved:
            break
        gain = 1 - new_cost / cost
        theta, r, cost = trial, new, new_cost
        damping *= 0.2
        if cost == 0 or gain < 1e-9:
            break
    return theta, cost


def refit_expression(
    expression: sympy.Expr, problem: RegressionProblem, *, max_steps: int = 60
) -> tuple[sympy.Expr, float]:
    """Return the expression with all its constants refitted, and its loss."""
    template = tied_constants(expression)
    values, loss = refit(template, problem, max_steps=max_steps)
    return template.with_values(values.tolist()), loss


def offer_refitted(session: Session, expression: sympy.Expr, *, max_steps: int = 60) -> float:
    """Refit all constants of an expression, clean them, offer the results; return the best loss."""
    template = tied_constants(expression)
    if not template.values:
        candidate = session.offer(expression)
        return candidate.loss if candidate else float("inf")
    problem = session.problem
    values, loss = refit(template, problem, max_steps=max_steps)
    session.spend(max_steps)
    if not np.isfinite(loss):
        return loss
    session.offer(template.with_values(values.tolist()))
    simpler = cleaned(template, values, problem)
    if simpler is not None:
        session.offer(simpler)
    return loss


def tied_constants(expression: sympy.Expr) -> Template:
    """Turn the floating-point numbers of an expression into parameters, equal numbers into the same one."""
    template = free_constants(expression)
    first: dict[float, int] = {}
    for position, value in enumerate(template.values):
        first.setdefault(value, position)
    same = {
        sympy.Symbol(name): sympy.Symbol(template.parameters[first[value]])
        for name, value in zip(template.parameters, template.values, strict=True)
    }
    return Template(
        template.expression.xreplace(same),
        tuple(template.parameters[position] for position in first.values()),
        tuple(first),
    )


def cleaned(template: Template, values: Array, problem: RegressionProblem) -> sympy.Expr | None:
    """Return the formula with near-integers rounded and the rest refitted, if the fit is as good."""
    near = [i for i, v in enumerate(values) if abs(v - round(v)) <= NEAR_INTEGER * max(1.0, abs(v))]
    if not near:
        return None
    numbers = {sympy.Symbol(template.parameters[i]): sympy.Integer(round(values[i])) for i in near}
    rest = [i for i in range(len(values)) if i not in near]
    partial = Template(
        template.expression.xreplace(numbers),
        tuple(template.parameters[i] for i in rest),
        tuple(float(values[i]) for i in rest),
    )
    if not partial.expression.is_finite and partial.expression.has(sympy.zoo, sympy.nan, sympy.oo):
        return None
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in problem.columns.items()}
    before = problem.loss(tree_values(template.with_values(values.tolist()), columns))
    fitted, after = refit(partial, problem) if rest else (np.empty(0), float("nan"))
    expression = partial.with_values(fitted.tolist())
    if not rest:
        after = problem.loss(tree_values(expression, columns))
    return expression if after <= 1.0001 * before + LOSS_FLOOR else None
