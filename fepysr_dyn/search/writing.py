"""Shorter ways to write the same sum or product."""

from __future__ import annotations

import sympy

from fepysr_dyn.expressions import complexity


def shortest(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression, or its form with common factors taken out if that is smaller."""
    expression = expression.replace(_has_exponentials, _one_exponential)
    if expression.is_Mul:
        return sympy.Mul(*(_shortest_power(factor) for factor in expression.args))
    return _gathered(expression)


def _shortest_power(factor: sympy.Expr) -> sympy.Expr:
    if factor.is_Pow and factor.base.is_Add:
        return _gathered(factor.base) ** factor.exp
    return _gathered(factor)


def _gathered(expression: sympy.Expr) -> sympy.Expr:
    if not expression.is_Add:
        return expression
    factored = sympy.factor_terms(expression)
    return factored if complexity(factored) < complexity(expression) else expression


def _has_exponentials(node: sympy.Basic) -> bool:
    return bool(node.is_Mul and sum(isinstance(factor, sympy.exp) for factor in node.args) > 1)


def _one_exponential(node: sympy.Mul) -> sympy.Expr:
    """Return a product with its exponentials put together."""
    powers = [factor.args[0] for factor in node.args if isinstance(factor, sympy.exp)]
    rest = [factor for factor in node.args if not isinstance(factor, sympy.exp)]
    return sympy.Mul(*rest, sympy.exp(sympy.Add(*powers)))
