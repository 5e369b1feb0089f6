"""Sympy to the infix formulas that Antimony and plain Python share, each with its own words."""

from __future__ import annotations

from collections.abc import Mapping

import sympy
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from fepysr_dyn.errors import ModelError

_FUNCTIONS = frozenset({"exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "Abs", "cot"})


class InfixPrinter(StrPrinter):  # type: ignore[misc]
    """Prints formulas with other names for functions and symbols.

    Parameters
    ----------
    functions : mapping of str to str
        What sympy's functions are called.
    symbols : mapping of str to str
        What symbols are called that cannot keep their name.
    """

    def __init__(self, functions: Mapping[str, str], symbols: Mapping[str, str]) -> None:
        super().__init__({"full_prec": False, "abbrev": False, "order": "none"})
        self._functions_called = functions
        self._symbols_called = symbols

    def _print_Symbol(self, expr: sympy.Symbol) -> str:  # noqa: N802
        return self._symbols_called.get(expr.name, expr.name)

    def _print_Float(self, expr: sympy.Float) -> str:  # noqa: N802
        return repr(float(expr))

    def _print_Rational(self, expr: sympy.Rational) -> str:  # noqa: N802
        return f"{expr.p}/{expr.q}"

    def _print_Exp1(self, expr: sympy.Expr) -> str:  # noqa: N802
        return f"{self._functions_called['exp']}(1)"

    def _print_Function(self, expr: sympy.Function) -> str:  # noqa: N802
        name = type(expr).__name__
        if name not in _FUNCTIONS:
            raise ModelError(f"the function '{name}' has no counterpart in this format")
        arguments = ", ".join(self._print(argument) for argument in expr.args)
        called = self._functions_called.get(name, name)
        return f"({called}({arguments}))" if called.startswith("1/") else f"{called}({arguments})"

    def _print_Abs(self, expr: sympy.Abs) -> str:  # noqa: N802
        return self._print_Function(expr)

    def _print_Relational(self, expr: sympy.Basic) -> str:  # noqa: N802
        return f"{self._print(expr.lhs)} {expr.rel_op} {self._print(expr.rhs)}"

    def _joined(self, expr: sympy.Basic, sign: str) -> str:
        return sign.join(f"({self._print(part)})" for part in expr.args)

    def _power(self, expr: sympy.Pow, sign: str) -> str:
        base, exponent = (self.parenthesize(part, PRECEDENCE["Pow"], strict=False) for part in expr.args)
        return f"{base}{sign}{exponent}"
