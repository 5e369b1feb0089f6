"""Constants of an expression refitted in float64, with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from fepysr_dyn.expressions import Template, free_constants
from fepysr_dyn.search.front import Candidate, evaluate_candidate
from fepysr_dyn.search.problem import Array, RegressionProblem

_STEPS = 60
#: A step that changes no constant by more than this, relative to its size, ends the fit.
_CONVERGED = 4e-16


@dataclass(frozen=True)
class Fit:
    """Constants at the optimum.

    Parameters
    ----------
    values : array
        All constants, the held ones included.
    loss : float
        As `RegressionProblem.loss`.
    errors : array
        Standard error of each constant from the residuals of the fit; zero where held.
    """

    values: Array
    loss: float
    errors: Array


class ConstantFitter:
    """Least squares over the constants of one template on one problem.

    Compiled once, so that constants can be held and the others refitted many times.
    """

    def __init__(self, template: Template, problem: RegressionProblem) -> None:
        self.template = template
        self._value, self._jacobian = template.functions(problem.names)
        self._columns = [np.asarray(column, dtype=np.float64) for column in problem.columns.values()]
        self._measure = problem.measure
        weights = np.ones(len(problem.target)) if problem.weights is None else problem.weights
        self._root = np.sqrt(weights / np.sum(weights)) / problem.scale
        self._target = problem.target

    def loss(self, values: Array) -> float:
        """Return the loss for given constants, infinite where it is not finite."""
        with np.errstate(all="ignore"):
            total = float(np.sum(self._residual(values) ** 2))
        return total if np.isfinite(total) else float("inf")

    def fit(self, start: Array, held: Sequence[int] = (), steps: int = _STEPS) -> Fit:
        """Return the local optimum from a start, by Levenberg-Marquardt with QR solves."""
        values = np.array(start, dtype=np.float64)
        free = np.array([i for i in range(len(values)) if i not in set(held)], dtype=int)
        loss = self.loss(values)
        damping = 1e-3
        slopes = self._slopes(values, free)
        for _ in range(steps if len(free) and np.isfinite(loss) else 0):
            step = _damped_step(slopes, self._residual(values), damping)
            trial = values.copy()
            trial[free] += step
            trial_loss = self.loss(trial)
            small = np.all(np.abs(step) <= _CONVERGED * (np.abs(values[free]) + 1e-300))
            if trial_loss < loss:
                values, loss = trial, trial_loss
                slopes = self._slopes(values, free)
                # Tiny damping is needed for the last digits, not zero: columns may be collinear.
                damping = max(damping / 10, 1e-16)
            else:
                damping = damping * 10 if damping > 1e-14 else 1e-8
            if small or damping > 1e8 or loss == 0.0:
                break
        return Fit(values, loss, self._errors(values, slopes, free, loss))

    def _residual(self, values: Array) -> Array:
        prediction = self._value(values, *self._columns)
        with np.errstate(all="ignore"):
            return (self._measure(prediction) - self._target) * self._root

    def _slopes(self, values: Array, free: Array) -> Array:
        jacobian = self._jacobian(values, *self._columns)[:, free]
        jacobian = np.where(np.isfinite(jacobian), jacobian, 0.0)
        slopes: Array = self._measure(jacobian) * self._root[:, None]
        return slopes

    def _errors(self, values: Array, slopes: Array, free: Array, loss: float) -> Array:
        errors = np.zeros(len(values))
        if not len(free) or not np.isfinite(loss):
            return errors
        rows = len(self._target)
        size = np.linalg.norm(slopes, axis=0)
        size[size == 0] = 1.0
        _, singular, right = np.linalg.svd(slopes / size, full_matrices=False)
        # A direction that moves nothing is known to nobody, but its error stays a number.
        singular = np.maximum(singular, singular[0] * 1e-14 + 1e-100)
        spread = np.sqrt(np.sum((right / singular[:, None]) ** 2, axis=0)) / size
        # Rounding alone leaves a residual of about this size in units of the target's scale.
        rounding = 1e-16 * float(np.linalg.norm(self._target * self._root))
        misfit = np.sqrt(loss / max(rows - len(free), 1)) + rounding
        errors[free] = spread * misfit
        return errors


def _damped_step(slopes: Array, residual: Array, damping: float) -> Array:
    size = np.linalg.norm(slopes, axis=0)
    size[size == 0] = 1.0
    stacked = np.vstack([slopes / size, np.sqrt(damping) * np.eye(slopes.shape[1])])
    goal = np.concatenate([-residual, np.zeros(slopes.shape[1])])
    solution = np.linalg.lstsq(stacked, goal, rcond=None)[0]
    step: Array = solution / size
    return step if np.all(np.isfinite(step)) else np.zeros_like(step)


def refit_candidate(expression: sympy.Expr, problem: RegressionProblem, engine: str) -> Candidate:
    """Return a candidate whose floating-point constants are at their float64 optimum.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> x = np.linspace(0, 1, 9)
    >>> problem = RegressionProblem({"x": x}, 2.5 * x + 1)
    >>> refit_candidate(parse("2.4*x + 1.1"), problem, "example").loss < 1e-28
    True
    """
    template = free_constants(expression)
    start = evaluate_candidate(expression, problem, engine)
    if not np.isfinite(start.loss) or not 0 < len(template.values) < len(problem.target):
        return start
    fit = ConstantFitter(template, problem).fit(np.array(template.values))
    if not fit.loss < start.loss:
        return start
    return evaluate_candidate(template.with_values([float(value) for value in fit.values]), problem, engine)
