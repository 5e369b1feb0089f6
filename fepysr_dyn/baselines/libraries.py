"""Function libraries twice over: as PySINDy evaluates them, and as sympy terms in the same order.

Coefficients meet sympy objects here and never text: PySINDy's names such as ``x y`` or ``sin(1 x)`` are not
formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import sympy

Terms = Callable[[Sequence[sympy.Expr]], list[sympy.Expr]]


@dataclass(frozen=True)
class Library:
    """A function library.

    Parameters
    ----------
    make : callable
        Takes the module pysindy and returns its library object.
    terms : callable
        Takes the variables (states, then inputs) and returns the features in the library's order.
    """

    make: Callable[[Any], Any]
    terms: Terms


def polynomial(degree: int) -> Library:
    """Return all products of up to `degree` states and inputs, and the constant."""
    return Library(
        lambda ps: ps.PolynomialLibrary(degree=degree, include_bias=True),
        lambda variables: monomials(variables, degree),
    )


def fourier(frequencies: int = 2) -> Library:
    """Return the constant, states and inputs, and their sines and cosines at the first frequencies."""
    return Library(
        lambda ps: ps.ConcatLibrary(
            [ps.PolynomialLibrary(degree=1, include_bias=True), ps.FourierLibrary(n_frequencies=frequencies)]
        ),
        lambda variables: [
            *monomials(variables, 1),
            *(
                function(k * variable)
                for k in range(1, frequencies + 1)
                for variable in variables
                for function in (sympy.sin, sympy.cos)
            ),
        ],
    )


def exponential(degree: int = 2) -> Library:
    """Return polynomials, and the growing and the falling exponential of every state and input."""
    return Library(
        lambda ps: ps.ConcatLibrary(
            [
                ps.PolynomialLibrary(degree=degree, include_bias=True),
                ps.CustomLibrary(library_functions=[_growing, _falling], function_names=[_name, _name]),
            ]
        ),
        lambda variables: [
            *monomials(variables, degree),
            *(sympy.exp(variable) for variable in variables),
            *(sympy.exp(-variable) for variable in variables),
        ],
    )


def monomials(variables: Sequence[sympy.Expr], degree: int) -> list[sympy.Expr]:
    """Return all products of up to `degree` variables, by degree.

    Examples
    --------
    >>> monomials(sympy.symbols("x y"), 2)
    [1, x, y, x**2, x*y, y**2]
    """
    return [
        sympy.Mul(*factors)
        for order in range(degree + 1)
        for factors in combinations_with_replacement(variables, order)
    ]


def _growing(x: Any) -> Any:
    return np.exp(x)


def _falling(x: Any) -> Any:
    return np.exp(-x)


def _name(x: str) -> str:
    return x
