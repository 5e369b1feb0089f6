"""Square roots read off data that are almost free of noise.

A target that holds one square root solves A*y^2 + B*y + C = 0 with polynomials A, B and C, as the saturation
of two opposed enzymes does (Goldbeter and Koshland 1981). So A*y^2 + B*y lies in the span of monomials, which
is again a singular value. Then D = (2*A*y + B)^2 is what stands below the root, and mostly a polynomial of
one variable, whatever else is added to the root.

Where A has a root r, a law that is finite there is (c - sqrt(D))/A with c^2 = D(r). Written as a quotient
over c + sqrt(D) it has no pole to cancel, but may be longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.roots import factors
from fepysr_dyn.search.spans import ExactColumns, Exponents, all_exponents, span, sparsest

#: Degrees of A, B and C that are tried: for linear A, what is added to the root may be of degree 1 or 2.
_DEGREES = ((1, 2, 3), (1, 3, 5))
_MOST_VARIABLES = 3
#: Largest degree of what is below the root, and how well it must be met.
_RADICAND = 4
_MET = 1e-5


@dataclass(frozen=True)
class Radical:
    """What stands below the line, what else is a term, and the variables of the target."""

    factors: tuple[sympy.Expr, ...]
    terms: tuple[sympy.Expr, ...]
    variables: tuple[str, ...]


def find_radicals(
    problem: RegressionProblem, must_stop: Callable[[], bool] = lambda: False
) -> Iterator[Radical]:
    """Yield square roots over which the target is a quotient of polynomials, few variables first."""
    data = ExactColumns(problem)
    if data.tolerance is None:
        return
    for count in range(1, min(len(data.values), _MOST_VARIABLES) + 1):
        for chosen in itertools.combinations(data.values, count):
            for degrees in _DEGREES:
                if must_stop():
                    return
                found = _radicals(data, data.tolerance, chosen, degrees)
                yield from found
                if found:
                    break


def _radicals(
    data: ExactColumns, tolerance: float, chosen: tuple[str, ...], degrees: tuple[int, int, int]
) -> list[Radical]:
    square, linear, plain = (all_exponents(len(chosen), degree) for degree in degrees)
    if len(square) + len(linear) + len(plain) > data.room:
        return []
    y = data.target[:, None]
    A, B = data.monomials(chosen, square), data.monomials(chosen, linear)
    above = span(data.monomials(chosen, plain))
    found = sparsest(above, np.column_stack([y**2 * A, y * B]), tolerance)
    if found is None:
        return []
    numbers = dict(zip(found.columns, found.numbers.tolist(), strict=True))
    first = {square[k]: v for k, v in numbers.items() if k < len(square)}
    second = {linear[k - len(square)]: v for k, v in numbers.items() if k >= len(square)}
    if not first or not second:
        return []
    values = [_evaluated(data, chosen, part) for part in (first, second)]
    root = _root(data, chosen, (2 * values[0] * data.target + values[1]) ** 2)
    if root is None:
        return []
    below = tuple(factors(first, chosen, [data.scales[name] for name in chosen]))
    finite = _without_pole(root, below)
    return [
        *([] if finite is None else [Radical((finite,), (), chosen)]),
        Radical(below, (root, *(sympy.Symbol(name) * root for name in chosen)), chosen),
    ]


def _without_pole(root: sympy.Expr, below: tuple[sympy.Expr, ...]) -> sympy.Expr | None:
    """Return c + sqrt(D), if the only factor below the line is linear in the variable of the root."""
    (variable,) = root.free_symbols
    if len(below) != 1 or below[0].free_symbols != {variable}:
        return None
    pole = -below[0].coeff(variable, 0) / below[0].coeff(variable, 1)
    if below[0].diff(variable, 2) != 0 or not root.args[0].subs(variable, pole) > 0:
        return None
    return root + sympy.Float(float(root.subs(variable, pole)))


def _evaluated(data: ExactColumns, chosen: Sequence[str], terms: dict[Exponents, float]) -> Array:
    columns = data.monomials(chosen, list(terms)) / data.weights
    return np.asarray(columns @ np.array(list(terms.values())))


def _root(data: ExactColumns, chosen: Sequence[str], radicand: Array) -> sympy.Expr | None:
    """Return the root of the shortest polynomial of one variable that is met; a square is taken out."""
    goal = radicand / (float(np.sqrt(np.mean(radicand**2))) or 1.0)
    for degree in range(1, _RADICAND + 1):
        for name, taken_out in itertools.product(chosen, (0, 2)):
            x = data.values[name]
            powers = np.column_stack([x ** (k + taken_out) for k in range(degree + 1)])
            # The error of a square grows with what is squared: small values are the more exact ones.
            weights = 1.0 / np.sqrt(goal + 1e-6)
            numbers, *_ = np.linalg.lstsq(powers * weights[:, None], goal * weights, rcond=None)
            left = powers @ numbers - goal
            inside = np.polyval(numbers[::-1], x)
            if np.sqrt(np.mean(left**2)) <= _MET and np.all(inside > 0):
                return _square_root(
                    np.asarray(numbers, dtype=np.float64), sympy.Symbol(name), data.scales[name]
                )
    return None


def _square_root(numbers: Array, variable: sympy.Symbol, scale: float) -> sympy.Expr:
    """Return the root of a polynomial whose first coefficient is one, or minus one: nothing to be fitted."""
    degree = len(numbers) - 1
    terms = [
        sympy.Float(numbers[k] / abs(numbers[-1]) * scale ** (degree - k)) * variable**k
        for k in range(degree)
    ]
    return sympy.sqrt(sympy.Add(*terms, int(np.sign(numbers[-1])) * variable**degree))
