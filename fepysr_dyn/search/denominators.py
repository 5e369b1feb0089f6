"""Denominators read off data that are almost free of noise.

A target y = P/Q makes y*Q a polynomial. So a denominator is a combination Q of few monomials for which y*Q
lies in the span of many: whether there is one is a singular value, and no numerator has to be searched.
Linear algebra then says which monomials Q can do without, and its roots say how it factors. What is above the
line is left to whoever knows the factors below.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import sympy

from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.roots import factors
from fepysr_dyn.search.spans import Combination, ExactColumns, all_exponents, nearest, span, sparsest

#: Largest degrees above and below the line that are tried together, by the number of variables.
_DEGREES = {
    1: ((3, 2), (5, 4), (7, 6)),
    2: ((2, 1), (3, 2), (3, 3), (5, 4), (7, 6)),
    3: ((2, 1), (3, 2), (4, 3), (5, 4)),
    4: ((2, 1), (3, 2), (4, 3)),
}
#: Monomials of one denominator: with more it is no law but a series.
_MOST_TERMS = 10
#: Exponents of a denominator 1 + (x/k)^n, and how closely one that is not whole is found.
_POWERS = (*(0.5 * k for k in range(1, 13)), 7.0, 8.0, 9.0, 10.0, 11.0, 12.0)
_POWER_DIGITS = 1e-9
#: Rows of a first glance, and the misfit there, in tolerances, that leaves no hope for the others.
_FEW_ROWS = 150
_HOPELESS = 10.0
#: Scanning the exponent costs as much as a library with so many times the columns.
_SCAN_COST = 2.5


@dataclass(frozen=True)
class Denominator:
    """Factors below the line, and the variables of which the target is then a polynomial over them."""

    factors: tuple[sympy.Expr, ...]
    variables: tuple[str, ...]
    misfit: float


#: Looks for one kind of denominator.
Search = Callable[[], Denominator | None]


def find_denominators(
    problem: RegressionProblem, must_stop: Callable[[], bool] = lambda: False
) -> Iterator[Denominator]:
    """Yield denominators that make the target a polynomial within its error, small ones first."""
    data = ExactColumns(problem)
    if data.tolerance is None:
        return
    for search in _searches(data, data.tolerance):
        if must_stop():
            return
        found = search()
        if found is not None:
            yield found


def _searches(data: ExactColumns, tolerance: float) -> list[Search]:
    """Return what can be tried, libraries with few columns first."""
    tries: list[tuple[float, Search]] = []
    for count in range(1, min(len(data.values), max(_DEGREES)) + 1):
        for chosen in itertools.combinations(data.values, count):
            for high, low in _DEGREES[count]:
                columns = len(all_exponents(count, high)) + len(all_exponents(count, low))
                tries.append((columns, partial(_polynomial, data, tolerance, chosen, high, low)))
            columns = 2 * len(all_exponents(count, 2))
            positive = [name for name in chosen if np.all(data.values[name] > 0)]
            tries += [
                (_SCAN_COST * columns, partial(_power, data, tolerance, chosen, name)) for name in positive
            ]
    return [search for columns, search in sorted(tries, key=lambda item: item[0]) if columns <= data.room]


def _polynomial(
    data: ExactColumns, tolerance: float, chosen: tuple[str, ...], high: int, low: int
) -> Denominator | None:
    """Look for a polynomial below the line."""
    numerator, exponents = all_exponents(len(chosen), high), all_exponents(len(chosen), low)
    few = data.thinned(max(_FEW_ROWS, 3 * (len(numerator) + len(exponents))))
    glance = nearest(span(few.monomials(chosen, numerator)), few.monomials(chosen, exponents), few.target)
    if glance.misfit > _HOPELESS * tolerance:
        return None
    above = span(data.monomials(chosen, numerator))
    found = sparsest(above, data.monomials(chosen, exponents), tolerance, data.target)
    if found is None or not 1 < len(found.columns) <= _MOST_TERMS:
        return None
    terms = {exponents[k]: float(value) for k, value in zip(found.columns, found.numbers, strict=True)}
    parts = tuple(factors(terms, chosen, [data.scales[name] for name in chosen]))
    return Denominator(parts, chosen, found.misfit) if parts else None


def _power(data: ExactColumns, tolerance: float, chosen: tuple[str, ...], name: str) -> Denominator | None:
    """Look for 1 + (x/k)^n below the line, with a whole exponent or not."""

    def fitted(rows: ExactColumns, power: float) -> Combination:
        plain = rows.monomials(chosen, all_exponents(len(chosen), 2))
        raised = rows.values[name][:, None] ** power
        above = span(np.column_stack([plain, plain * raised]))
        return nearest(above, rows.weights * np.column_stack([raised**0, raised]), rows.target)

    few = data.thinned(_FEW_ROWS)
    tried = sorted((fitted(few, power).misfit, power) for power in _POWERS)
    best, power = tried[0]
    if best > _HOPELESS * tolerance:
        # Only near the right exponent is the misfit much smaller than elsewhere.
        if best > 0.1 * tried[len(tried) // 2][0]:
            return None
        power = _minimised(lambda n: fitted(data, n).misfit, power)
    found = fitted(data, power)
    constant, factor = found.numbers
    if found.misfit > tolerance or constant * factor <= 0:
        return None
    number = sympy.Float(constant / factor * data.scales[name] ** power)
    exponent = sympy.Integer(int(power)) if power == int(power) else sympy.Float(power)
    return Denominator((sympy.Symbol(name) ** exponent + number,), chosen, found.misfit)


def _minimised(function: Callable[[float], float], start: float) -> float:
    """Return the exponent near a start at which a misfit is smallest."""
    from scipy.optimize import minimize_scalar

    result = minimize_scalar(
        lambda n: float(np.log(max(function(float(n)), 1e-300))),
        bounds=(max(0.1, start - 0.5), start + 0.5),
        method="bounded",
        options={"xatol": _POWER_DIGITS},
    )
    return float(result.x)
