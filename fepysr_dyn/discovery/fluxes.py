"""What other equations say, as terms for one: what flows out of one state often flows into another."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import sympy

#: Sums of two terms are taken out of equations with so many terms at most.
_MOST_TERMS = 4


def fluxes_of_others(state: str, rates: Mapping[str, sympy.Expr]) -> tuple[sympy.Expr, ...]:
    """Return terms, sums of two terms and whole rates of all other equations, shorter ones first.

    Products of columns are left out: every search has those.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> rates = {"x": parse("1.0 - x"), "y": parse("3.0*x/(x + 0.5) - 2.0*y")}
    >>> [str(flux) for flux in fluxes_of_others("x", rates)]
    ['x/(x + 0.5)', '3.0*x/(x + 0.5) - 2.0*y']
    """
    found: dict[sympy.Expr, None] = {}
    for other, rate in rates.items():
        if other == state:
            continue
        terms = sympy.Add.make_args(sympy.expand_mul(rate))
        singles = [term.as_coeff_Mul()[1] for term in terms]
        found.update(dict.fromkeys(one for one in singles if not one.is_polynomial(*one.free_symbols)))
        if 2 < len(terms) <= _MOST_TERMS:
            found.update(dict.fromkeys(sympy.Add(*pair) for pair in itertools.combinations(terms, 2)))
        if len(terms) > 1:
            found[sympy.Add(*terms)] = None
    return tuple(sorted(found, key=lambda flux: len(sympy.Add.make_args(flux))))
