"""Equations as LaTeX."""

from __future__ import annotations

import sympy

from fepysr_dyn.expressions.reals import function_nesting
from fepysr_dyn.system import OdeSystem

_MOST_ORDERED = 3


def latex_formula(expression: sympy.Expr, *, digits: int = 6, flat: bool = False) -> str:
    r"""Return a formula as LaTeX, constants rounded to so many digits, short fractions in a line if `flat`.

    Examples
    --------
    >>> latex_formula(sympy.Symbol("x1") * sympy.Float(0.123456789))
    '0.123457 x_{1}'
    """
    rounded = {number: sympy.Float(f"{float(number):.{digits}g}") for number in expression.atoms(sympy.Float)}
    # sympy orders terms by their powers, which it evaluates: exponential work for nested functions.
    order = "none" if function_nesting(expression) > _MOST_ORDERED else None
    return str(sympy.latex(expression.xreplace(rounded), order=order, full_prec=False, fold_short_frac=flat))


def latex_system(system: OdeSystem, *, digits: int = 6) -> str:
    r"""Return the equations of a system, aligned at their equals signs.

    Examples
    --------
    >>> latex_system(OdeSystem("decay", {"x": -sympy.Symbol("x")}, {"x": 1.0}))
    '\\begin{aligned}\n\\frac{dx}{dt} &= - x\n\\end{aligned}'
    """
    rows = [
        rf"\frac{{d{latex_formula(sympy.Symbol(state))}}}{{dt}} &= {latex_formula(rate, digits=digits)}"
        for state, rate in system.rates.items()
    ]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
