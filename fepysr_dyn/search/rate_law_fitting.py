"""Fits of rate laws: coefficients by linear least squares, inner constants by Gauss-Newton steps on top.

A search tries thousands of laws, so this works on arrays of their terms; nothing symbolic is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy
from scipy.linalg import solve_triangular

from fepysr_dyn.search.least_squares import solve_columns
from fepysr_dyn.search.library import Atom, feature_atoms
from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.rate_laws import RateTerm
from fepysr_dyn.search.rows import column_arrays, row_weights

_MAX_STEPS = 25
#: No inner constant changes by more than this factor in a step, in logarithms.
_LONGEST_STEP = 1.5
#: A step that lowers the sum of squares by a smaller share ends a fit.
_CONVERGED = 1e-7
#: Terms that are so nearly combinations of each other have no coefficients of their own.
_DEPENDENT = 1e-11


@dataclass(frozen=True)
class FittedLaw:
    """Terms with fitted inner constants, their coefficients, and the loss (infinite if there is no fit)."""

    terms: tuple[RateTerm, ...]
    coefficients: Array
    loss: float


@dataclass(frozen=True)
class _Point:
    """A law with some inner constants and the coefficients that are best for them."""

    levels: Array
    coefficients: Array
    residual: Array
    basis: Array
    by_level: Array
    cost: float


class RateLawFitter:
    """Fits laws to one problem; what terms are made of is computed once."""

    def __init__(self, problem: RegressionProblem) -> None:
        self._problem = problem
        self.columns = column_arrays(problem)
        #: Formulas that stand for columns of their own, by the name of that column.
        self.features: dict[str, sympy.Expr] = {}
        self._factors = dict(self.columns)
        for name, feature in _named(feature_atoms(problem), self.columns):
            self.features[name] = feature.expression
            self._factors[name] = feature.values
        self._weights = row_weights(problem)
        self.target = problem.target * self._weights
        self._products: dict[tuple[str, ...], Array] = {}

    def values(self, terms: Sequence[RateTerm]) -> Array:
        """Return terms as the problem measures and weighs them, zero where they are not finite."""
        with np.errstate(all="ignore"):
            values = [self._value(term, [part.level for part in term.parts])[0] for term in terms]
        return self._measured(np.column_stack(values))

    def fit(self, terms: Sequence[RateTerm]) -> FittedLaw:
        """Fit all constants of a law, starting from the inner ones of its terms."""
        start = np.array([part.level for term in terms for part in term.parts])
        with np.errstate(all="ignore"):
            here = self._at(terms, start)
            if here is None:
                return FittedLaw(tuple(terms), np.zeros(len(terms)), float("inf"))
            if len(start):
                here = self._descended(terms, here)
            values = self._values_and_slopes(terms, here.levels)[0]
        coefficients = solve_columns(values, self.target)
        misses = values @ coefficients - self.target
        loss = float(misses @ misses) / (len(misses) * self._problem.scale**2)
        fitted = with_levels(terms, here.levels)
        usable = np.all(np.isfinite(coefficients)) and not any(
            part.has_pole(self.columns) for term in fitted for part in term.parts
        )
        return FittedLaw(tuple(fitted), coefficients, loss if usable else float("inf"))

    def _descended(self, terms: Sequence[RateTerm], here: _Point) -> _Point:
        """Improve inner constants by damped Gauss-Newton steps in their logarithms."""
        damping = 1e-3
        for _ in range(_MAX_STEPS):
            slopes = here.by_level - here.basis @ (here.basis.T @ here.by_level)
            normal, pull = slopes.T @ slopes, slopes.T @ here.residual
            trial: _Point | None = None
            for _ in range(6):
                damped = normal + damping * np.diag(np.diag(normal) + 1e-300)
                step = np.linalg.lstsq(damped, pull, rcond=1e-14)[0] if np.all(np.isfinite(damped)) else pull
                step = np.clip(np.nan_to_num(step), -_LONGEST_STEP, _LONGEST_STEP)
                trial = self._at(terms, here.levels * np.exp(step))
                if trial is not None and trial.cost < here.cost:
                    break
                trial = None
                damping = max(damping, 1e-9) * 10
            if trial is None:
                return here
            gain = 1.0 - trial.cost / here.cost
            here, damping = trial, damping / 10
            if gain < _CONVERGED or here.cost == 0.0:
                return here
        return here

    def _at(self, terms: Sequence[RateTerm], levels: Array) -> _Point | None:
        """Return the law with these inner constants; None if its terms have no coefficients of their own."""
        values, slopes = self._values_and_slopes(terms, levels)
        sizes = np.linalg.norm(values, axis=0)
        if not np.all(np.isfinite(sizes)) or np.any(sizes == 0.0):
            return None
        basis, triangle = np.linalg.qr(values / sizes)
        diagonal = np.abs(np.diag(triangle))
        if np.min(diagonal) < _DEPENDENT * np.max(diagonal):
            return None
        along = basis.T @ self.target
        coefficients = solve_triangular(triangle, along) / sizes
        residual = self.target - basis @ along
        owners = [i for i, term in enumerate(terms) for _ in term.parts]
        return _Point(
            levels,
            coefficients,
            residual,
            basis,
            slopes * coefficients[owners] * levels,
            float(residual @ residual),
        )

    def _values_and_slopes(self, terms: Sequence[RateTerm], levels: Array) -> tuple[Array, Array]:
        """Return terms, and their derivatives by their inner constants."""
        values, slopes = [], []
        rest = iter(levels.tolist())
        for term in terms:
            value, by_level = self._value(term, [next(rest) for _ in term.parts])
            values.append(value)
            slopes += by_level
        count = len(terms)
        measured = self._measured(np.column_stack([*values, *slopes]))
        return measured[:, :count], measured[:, count:]

    def _value(self, term: RateTerm, levels: Sequence[float]) -> tuple[Array, list[Array]]:
        """Return a term on the rows, and its derivatives by its inner constants."""
        value, slopes = self._product(term.factors), list[Array]()
        for part, level in zip(term.parts, levels, strict=True):
            rival = self.columns[part.rival] if part.rival else None
            is_gate = part.kind == "gate"
            power = part.power(self.columns) if is_gate else self._product((part.column,) * part.exponent)
            own, by_level = part.values(power, rival, level)
            slopes = [*(slope * own for slope in slopes), value * by_level]
            value = value * own
        return value, slopes

    def _product(self, factors: tuple[str, ...]) -> Array:
        if factors not in self._products:
            ones = np.ones(len(next(iter(self.columns.values()))))
            self._products[factors] = np.prod([ones, *(self._factors[name] for name in factors)], axis=0)
        return self._products[factors]

    def written(self, law: FittedLaw) -> sympy.Expr:
        """Return a law as a formula in the columns of the problem."""
        terms = (term.expression([sympy.Float(part.level) for part in term.parts]) for term in law.terms)
        sum_of_terms = sympy.Add(
            *(sympy.Float(c) * term for c, term in zip(law.coefficients, terms, strict=True))
        )
        return sum_of_terms.xreplace({sympy.Symbol(name): own for name, own in self.features.items()})

    def _measured(self, values: Array) -> Array:
        measured = self._problem.measure(values) * self._weights[:, None]
        return np.where(np.isfinite(measured), measured, 0.0)


def _named(features: Sequence[Atom], columns: Mapping[str, Array]) -> Iterator[tuple[str, Atom]]:
    """Give features names that no column has."""
    prefix = "feature"
    while any(name.startswith(prefix) for name in columns):
        prefix += "_"
    return ((f"{prefix}{position}", feature) for position, feature in enumerate(features))


def with_levels(terms: Sequence[RateTerm], levels: Array) -> list[RateTerm]:
    """Return the terms of a law with other inner constants, term by term."""
    rest = iter(levels.tolist())
    return [term.with_levels([next(rest) for _ in term.parts]) for term in terms]
