"""Equations as LaTeX for notebooks and reports."""

from __future__ import annotations

from fepysr_dyn.exchange.latex import expression_in_latex, name_in_latex
from fepysr_dyn.system import OdeSystem


def latex_system(system: OdeSystem) -> str:
    r"""Return the equations of a system, aligned at their equals signs.

    Examples
    --------
    >>> import sympy
    >>> latex_system(OdeSystem("decay", {"x": -sympy.Symbol("x")}, {"x": 1.0}))
    '\\begin{aligned}\n\\frac{dx}{dt} &= - x\n\\end{aligned}'
    """
    rows = [
        rf"\frac{{d{name_in_latex(state)}}}{{dt}} &= {expression_in_latex(rate)}"
        for state, rate in system.rates.items()
    ]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
