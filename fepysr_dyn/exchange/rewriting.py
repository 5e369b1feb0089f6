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
        pairs = []
        for index, argument in enumerate(arguments[:-1]):
            against = [kind(argument, other, evaluate=False) for other in arguments[index + 1 :]]
            wins = sympy.And(*against, evaluate=False) if len(against) > 1 else against[0]
            pairs.append((argument, wins))
        return _branches(*pairs, (arguments[-1], sympy.true))
    if isinstance(node, sympy.sign):
        (argument,) = arguments
        return _branches(
            (sympy.Integer(1), sympy.Gt(argument, 0, evaluate=False)),
            (sympy.Integer(-1), sympy.Lt(argument, 0, evaluate=False)),
            (sympy.Integer(0), sympy.true),
        )
    if isinstance(node, sympy.Piecewise):
        return _unchanged(arguments)
    return rebuilt(node, arguments)


def _branches(*pairs: tuple[sympy.Basic, sympy.Basic]) -> sympy.Expr:
    return _unchanged([sympy.Tuple.__new__(ExprCondPair, *pair) for pair in pairs])


def _unchanged(parts: list[sympy.Basic]) -> sympy.Expr:
    """Return branches as they are; Piecewise itself would rewrite conditions that hold branches."""
    return sympy.Basic.__new__(sympy.Piecewise, *parts)
