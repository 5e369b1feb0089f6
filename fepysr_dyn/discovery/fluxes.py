"""What other equations say, as terms for one: what flows out of one state often flows into another."""

from __future__ import annotations

from collections.abc import Mapping

import sympy


def fluxes_of_others(state: str, rates: Mapping[str, sympy.Expr]) -> tuple[sympy.Expr, ...]:
    """Return the terms of all other equations, without their coefficients.

    Products of columns are left out: every search has those.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> rates = {"x": parse("1.0 - x"), "y": parse("3.0*x/(x + 0.5) - 2.0*y")}
    >>> [str(flux) for flux in fluxes_of_others("x", rates)]
    ['x/(x + 0.5)']
    """
    others = (rate for other, rate in rates.items() if other != state)
    terms = (term for rate in others for term in sympy.Add.make_args(sympy.expand_mul(rate)))
    fluxes = (term.as_coeff_Mul()[1] for term in terms)
    return tuple(dict.fromkeys(flux for flux in fluxes if not flux.is_polynomial(*flux.free_symbols)))
