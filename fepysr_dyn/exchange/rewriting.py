"""Expressions in the functions that every exchange format has."""

from __future__ import annotations

import sympy
from sympy.functions.elementary.piecewise import ExprCondPair

from fepysr_dyn.expressions.reals import rebuilt


def without_choices(node: sympy.Basic) -> sympy.Basic:
    """Return an expression with min, max and sign written as branches, without evaluating anything.

    Examples
    --------
    >>> without_choices(sympy.sign(sympy.Symbol("x")))
    Piecewise((1, x > 0), (-1, x < 0), (0, True))
    """
    if not node.args:
        return node
    arguments = [without_choices(argument) for argument in node.args]
    if isinstance(node, sympy.Min | sympy.Max):
        kind = sympy.Le if isinstance(node, sympy.Min) else sympy.Ge
        result, *others = arguments
        for other in others:
            result = _branches((result, kind(result, other, evaluate=False)), (other, sympy.true))
        return result
    if isinstance(node, sympy.sign):
        (argument,) = arguments
        return _branches(
            (sympy.Integer(1), sympy.Gt(argument, 0, evaluate=False)),
            (sympy.Integer(-1), sympy.Lt(argument, 0, evaluate=False)),
            (sympy.Integer(0), sympy.true),
        )
    return rebuilt(node, arguments)


def _branches(*pairs: tuple[sympy.Basic, sympy.Basic]) -> sympy.Expr:
    parts = [sympy.Tuple.__new__(ExprCondPair, *pair) for pair in pairs]
    return sympy.Piecewise(*parts, evaluate=False)
