"""Sympy to text that `parse` reads back to the same expression."""

from __future__ import annotations

import math

import sympy
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from fepysr_dyn.expressions.reals import function_nesting

#: Sums of functions nested deeper than this are written in sympy's internal order.
_MOST_ORDERED = 3


class _FormulaPrinter(StrPrinter):  # type: ignore[misc]
    """sympy's own printer with the spellings of our grammar."""

    def _as_ordered_terms(self, expr: sympy.Expr, order: str | None = None) -> list[sympy.Expr]:
        # sympy orders terms by their powers, which it evaluates: exponential work for nested functions.
        if function_nesting(expr) > _MOST_ORDERED:
            return list(expr.args)
        return list(super()._as_ordered_terms(expr, order=order))

    def _print_Float(self, expr: sympy.Float) -> str:  # noqa: N802
        value = float(expr)
        # Beyond float64 sympy's own digits say more than "inf"; reading them back is refused.
        text = repr(value) if math.isfinite(value) else str(expr)
        return text if "." in text or "e" in text else f"{text}.0"

    def _print_Abs(self, expr: sympy.Abs) -> str:  # noqa: N802
        return f"abs({self._print(expr.args[0])})"

    def _print_Exp1(self, expr: sympy.Expr) -> str:  # noqa: N802
        return "exp(1)"

    def _print_cot(self, expr: sympy.Expr) -> str:
        # sympy makes cotangents of tangents; the grammar has none.
        return f"(1/tan({self._print(expr.args[0])}))"

    def _print_ExprCondPair(self, expr: sympy.Basic) -> str:  # noqa: N802
        return f"({self._print(expr.args[0])}, {self._print(expr.args[1])})"

    def _print_And(self, expr: sympy.And) -> str:  # noqa: N802
        return self._joined(expr, " & ")

    def _print_Or(self, expr: sympy.Or) -> str:  # noqa: N802
        return self._joined(expr, " | ")

    def _joined(self, expr: sympy.Basic, operator: str) -> str:
        parts = sorted(self.parenthesize(part, PRECEDENCE["BitwiseAnd"]) for part in expr.args)
        return operator.join(part if part.startswith("(") else f"({part})" for part in parts)


_PRINTER = _FormulaPrinter({"full_prec": False, "abbrev": False})


def to_text(expression: sympy.Expr) -> str:
    """Write an expression as a formula.

    Examples
    --------
    >>> import sympy
    >>> to_text(sympy.Abs(sympy.Symbol("x")) / 3 + 0.1)
    'abs(x)/3 + 0.1'
    """
    return str(_PRINTER.doprint(expression))
