"""Equations as people read them."""

from __future__ import annotations

import sympy

from fepysr_dyn.expressions import to_text


def rounded_text(expression: sympy.Expr, digits: int = 6) -> str:
    """Return a formula whose constants have so many significant digits.

    Examples
    --------
    >>> rounded_text(sympy.Float(0.12345678901) * sympy.Symbol("x"))
    '0.123457*x'
    """
    rounded = {number: sympy.Float(f"{float(number):.{digits}g}") for number in expression.atoms(sympy.Float)}
    return to_text(expression.xreplace(rounded))
