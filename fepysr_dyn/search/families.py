"""Elementary functions with one inner constant, and the grids on which that constant is looked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from fepysr_dyn.search.library import Atom
from fepysr_dyn.search.problem import Array


@dataclass(frozen=True)
class Family:
    """Functions g(c; u) of an argument u and a constant c.

    Parameters
    ----------
    name : str
        What it is called in reports.
    symbolic, numeric : tuples of callables
        One or two functions ``(c, u)`` that belong together (sine and cosine: one phase).
    grid : callable
        Values of the constant for the values of an argument; empty where the family has no sense.
    needs : tuple of str
        Operators that must be allowed.
    quotient : bool
        Whether the functions may stand below the fraction line.
    """

    name: str
    symbolic: tuple[Callable[[sympy.Expr, sympy.Expr], sympy.Expr], ...]
    numeric: tuple[Callable[[Array, Array], Array], ...]
    grid: Callable[[Array, int], Array]
    needs: tuple[str, ...]
    quotient: bool = True

    def atoms(self, constant: float, argument: Atom) -> list[Atom]:
        """Return the functions at one constant."""
        c = sympy.Float(float(constant))
        with np.errstate(all="ignore"):
            return [
                Atom(
                    symbolic(c, argument.expression),
                    numeric(np.asarray(constant, dtype=np.float64), argument.values),
                )
                for symbolic, numeric in zip(self.symbolic, self.numeric, strict=True)
            ]

    def values(self, constants: Array, argument: Array) -> Array:
        """Return the functions at many constants, shape (constants, rows, functions)."""
        with np.errstate(all="ignore"):
            return np.stack(
                [numeric(constants[:, None], argument[None, :]) for numeric in self.numeric], axis=-1
            )


def _rates(values: Array, points: int) -> Array:
    size = float(np.max(np.abs(values - np.mean(values)))) or 1.0
    half = np.geomspace(0.1, 12.0, points // 2) / size
    rates = np.concatenate([-half[::-1], half])
    return np.asarray(rates[np.abs(rates) * np.max(np.abs(values)) < 60])


def _frequencies(values: Array, points: int) -> Array:
    size = float(np.max(np.abs(values - np.mean(values)))) or 1.0
    return np.asarray(np.linspace(0.25, 0.25 + 0.35 * points, points) / size)


def _exponents(values: Array, points: int) -> Array:
    if np.min(values) < 0 or np.max(values) <= 0:
        return np.empty(0)
    positive = np.linspace(0.15, 7.0, points * 2 // 3)
    negative = -np.linspace(0.3, 4.0, points // 3) if np.min(values) > 0 else np.empty(0)
    return np.concatenate([negative[::-1], positive])


def _shifts(values: Array, points: int) -> Array:
    width = float(np.ptp(values))
    return np.asarray(width * np.geomspace(2e-3, 30.0, points) - float(np.min(values)))


def _power(u: Array, c: Array) -> Array:
    return np.power(u, c)


FAMILIES = (
    Family("exp", (lambda c, u: sympy.exp(c * u),), (lambda c, u: np.exp(c * u),), _rates, ("exp",)),
    Family("power", (lambda c, u: u**c,), (lambda c, u: _power(u, c),), _exponents, ("**",)),
    Family(
        "sine",
        (lambda c, u: sympy.sin(c * u), lambda c, u: sympy.cos(c * u)),
        (lambda c, u: np.sin(c * u), lambda c, u: np.cos(c * u)),
        _frequencies,
        ("sin", "cos"),
        quotient=False,
    ),
    Family("log", (lambda c, u: sympy.log(u + c),), (lambda c, u: np.log(u + c),), _shifts, ("log",)),
    Family("sqrt", (lambda c, u: sympy.sqrt(u + c),), (lambda c, u: np.sqrt(u + c),), _shifts, ("sqrt",)),
    Family("tanh", (lambda c, u: sympy.tanh(c * u),), (lambda c, u: np.tanh(c * u),), _rates, ("tanh",)),
    Family("atan", (lambda c, u: sympy.atan(c * u),), (lambda c, u: np.arctan(c * u),), _rates, ("atan",)),
)


def allowed_families(operators: Collection[str]) -> list[Family]:
    """Return the families a problem's operators can express."""
    names = set(operators)
    if {"exp", "log", "*"} <= names:
        names.add("**")
    return [family for family in FAMILIES if set(family.needs) <= names]


def arguments(variables: Sequence[Atom]) -> list[Atom]:
    """Return variables, their squares, products, sums and differences as arguments of families."""
    from fepysr_dyn.search.library import inner_arguments

    doubled = {atom.expression * 2 for atom in variables}
    return [atom for atom in inner_arguments(variables, 1) if atom.expression not in doubled]
