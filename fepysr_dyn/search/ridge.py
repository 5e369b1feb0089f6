"""One nonlinear function of a linear combination of all variables, plus a linear rest.

Rate laws with a sigmoid of several inputs are of this form. Found from several starts with the linear
constants solved for, then simplified: constants are set to zero or to whole numbers, one at a time, always
the one whose loss hurts least, so that every degree of simplicity is on the front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.search.least_squares import levenberg_marquardt, linear_combination, number
from fepysr_dyn.search.library import Atom, variable_atoms
from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.rows import row_factors, thinned
from fepysr_dyn.search.session import Session

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RidgeConfig:
    """Rows used, variables inside the function at most, and fits of each function simplified."""

    rows: int = 200
    max_inside: int = 3
    follow: int = 3


@dataclass(frozen=True)
class Shape:
    """A function of one variable with its slope, its formula, and the operators it needs."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    formula: Callable[[sympy.Expr], sympy.Expr]
    needs: tuple[str, ...]


def _logistic(u: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-u)))


SHAPES = (
    Shape(
        _logistic,
        lambda u: _logistic(u) * _logistic(-u),
        lambda u: 1 / (1 + sympy.exp(-u)),
        ("exp", "/", "+"),
    ),
    Shape(np.tanh, lambda u: 1 - np.tanh(u) ** 2, sympy.tanh, ("tanh",)),
    Shape(np.exp, np.exp, sympy.exp, ("exp",)),
    Shape(np.sin, np.cos, sympy.sin, ("sin",)),
    Shape(np.arctan, lambda u: 1 / (1 + u**2), sympy.atan, ("atan",)),
)


class _Model:
    """b0 + b·v + A g(c + w·v) on the rows of a problem; parameters in the order b0, b, A, c, w."""

    def __init__(self, problem: RegressionProblem, variables: list[Atom], shape: Shape) -> None:
        self.variables = variables
        self.shape = shape
        self.V = np.column_stack([np.ones(len(problem.target)), *(atom.values for atom in variables)])
        self.weights = row_factors(problem, balanced=False) / problem.scale
        self.target = problem.target
        self.half = self.V.shape[1]

    def residual(self, theta: Array) -> Array:
        k = self.half
        u = self.V @ theta[k + 1 :]
        prediction = self.V @ theta[:k] + theta[k] * self.shape.value(u)
        return np.asarray((prediction - self.target) * self.weights)

    def slopes(self, theta: Array) -> Array:
        k = self.half
        u = self.V @ theta[k + 1 :]
        inner = (theta[k] * self.shape.slope(u))[:, None] * self.V
        return np.column_stack([self.V, self.shape.value(u), inner]) * self.weights[:, None]

    def cost(self, theta: Array) -> float:
        with np.errstate(all="ignore"):
            r = self.residual(theta)
            value = float(r @ r) / len(r)
        return value if np.isfinite(value) else float("inf")

    def fit(self, theta: Array, free: Mask, max_steps: int) -> tuple[Array, float]:
        def whole(part: Array) -> Array:
            full = theta.copy()
            full[free] = part
            return full

        if not np.any(free):
            return theta, self.cost(theta)
        part, cost = levenberg_marquardt(
            lambda part: self.residual(whole(part)),
            lambda part: self.slopes(whole(part))[:, free],
            theta[free],
            max_steps,
        )
        return whole(part), cost / len(self.target)

    def formula(self, theta: Array) -> sympy.Expr:
        k = self.half
        terms = [sympy.Integer(1), *(atom.expression for atom in self.variables)]
        inside = linear_combination(theta[k + 1 :], terms)
        return linear_combination(theta[:k], terms) + number(float(theta[k])) * self.shape.formula(inside)


def search_ridges(session: Session, config: RidgeConfig) -> None:
    """Offer ridge functions of every simplicity."""
    problem = session.problem
    if problem.measurement is not None:
        return
    few = thinned(problem, config.rows)
    variables = variable_atoms(few)
    shapes = [shape for shape in SHAPES if set(shape.needs) <= set(problem.operators)]
    for position, shape in enumerate(shapes):
        session.report(position / len(shapes), "ridge functions")
        model = _Model(few, variables, shape)
        fits: list[tuple[Array, float, Mask]] = []
        for free, starts in _forms(model, config.max_inside):
            for start in starts:
                if session.must_stop():
                    return
                with np.errstate(all="ignore"):
                    fits.append((*model.fit(start, free, 25), free))
                session.spend(25)
        fits = sorted((fit for fit in fits if np.isfinite(fit[1])), key=lambda fit: fit[1])
        for theta, _, free in _different(fits, config.follow):
            _simplify(session, model, theta, free)
            if session.must_stop() or session.exact is not None:
                return


def _different(fits: list[tuple[Array, float, Mask]], count: int) -> list[tuple[Array, float, Mask]]:
    """Return the best fits, one for each form."""
    best: dict[bytes, tuple[Array, float, Mask]] = {}
    for fit in fits:
        best.setdefault(fit[2].tobytes(), fit)
    return list(best.values())[:count]


def _forms(model: _Model, max_inside: int) -> Iterator[tuple[Mask, list[Array]]]:
    """Yield which constants are free, with starts.

    A variable is inside the function or beside it, never both, and there is no constant beside it: with
    all constants free at once they could stand in for one another.
    """
    k = model.half
    linear = np.linalg.lstsq(model.V * model.weights[:, None], model.target * model.weights, rcond=1e-10)[0]
    names = range(1, k)
    for size in range(1, min(max_inside, k - 1) + 1):
        for inside in combinations(names, size):
            for factor in (False, True):
                free = np.zeros(2 * k + 1, dtype=bool)
                free[[j for j in names if j not in inside]] = True
                free[[k + 1, *(k + 1 + j for j in inside)]] = True
                free[k] = factor
                yield free, [_start(model, linear, free, steep, sign) for steep in (1, 4) for sign in (1, -1)]


def _start(model: _Model, linear: NDArray[np.floating[Any]], free: Mask, steep: float, sign: float) -> Array:
    """Return constants from the linear fit: its slopes inside, its other terms beside."""
    k = model.half
    theta = np.zeros(2 * k + 1)
    theta[:k] = linear * free[:k]
    theta[k] = sign
    theta[k + 2 :] = sign * steep * linear[1:] * free[k + 2 :]
    middle = float(np.mean(model.V[:, 1:] @ theta[k + 2 :]))
    theta[k + 1] = -middle if steep > 1 else 0.0
    return theta


def _simplify(session: Session, model: _Model, theta: Array, free: Mask) -> None:
    """Fix constants one after the other at zero or a whole number, the least harmful first."""
    free = free.copy()
    while np.any(free):
        _offer(session, model, theta)
        if session.must_stop() or session.exact is not None:
            return
        best: tuple[float, Array, int] | None = None
        for position in np.flatnonzero(free):
            for value in _simple_values(theta[position], zero=position != model.half):
                trial, mask = theta.copy(), free.copy()
                trial[position], mask[position] = value, False
                with np.errstate(all="ignore"):
                    trial, trial_cost = model.fit(trial, mask, 12)
                session.spend(12)
                # A zero makes the formula shorter than a whole number does.
                rated = trial_cost * (1.0 if value == 0 else 1.5) + 1e-30
                if best is None or rated < best[0]:
                    best = (rated, trial, int(position))
        if best is None or best[0] > 0.5:
            return
        theta, free[best[2]] = best[1], False


def _simple_values(value: float, *, zero: bool) -> list[float]:
    near = float(np.round(value))
    values = [near] if near != 0 and abs(value - near) < 0.3 * abs(value) and abs(near) < 10 else []
    return [0.0, *values] if zero else values


def _offer(session: Session, model: _Model, theta: Array) -> None:
    inner = theta[model.half + 1 :]
    if not np.any(inner[1:]) or theta[model.half] == 0:
        return
    session.offer_if_promising(model.formula(theta), model.cost(theta))
