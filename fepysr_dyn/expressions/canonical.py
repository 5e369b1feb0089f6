"""Canonical form and complexity of an expression."""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import Any

import sympy

from fepysr_dyn.expressions.reals import RealBuilder, real_symbol

#: Products that would expand into more terms than this are left as they are.
MAX_TERMS = 2_000
#: Nats of a node of a formula, where its length is weighed against what it explains.
NODE_COST = 1.5
_SINGULAR = (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I)


@lru_cache(maxsize=50_000)
def canonical(expression: sympy.Expr) -> sympy.Expr:
    """Return the expanded form, in which equal polynomials in equal atoms look equal.

    Expansion alone, by symengine where it can, because this runs over thousands of expressions; what needs
    trigonometric or rational identities is left to `equivalent`.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> canonical((x + y) ** 2 - x**2)
    2*x*y + y**2
    """
    if expanded_terms(expression) > MAX_TERMS:
        return expression
    builder = RealBuilder()
    if expression.has(sympy.Piecewise, sympy.Min, sympy.Max):
        # symengine lacks these; with functions hidden, what is left for sympy is a rational expression.
        return builder.finish(sympy.expand(builder.rebuild(expression), log=False))
    import symengine

    expanded = symengine.expand(symengine.sympify(expression))
    try:
        form = builder.finish(_from_symengine(expanded, builder))
    except KeyError:  # a function outside the grammar
        form = sympy.sympify(expanded)
    # symengine takes 0**x for infinite or zero where sympy leaves it open.
    return expression if form.has(*_SINGULAR) else form


_FUNCTIONS = {
    kind.__name__: kind
    for kind in (
        *(sympy.log, sympy.sin, sympy.cos, sympy.tan, sympy.tanh, sympy.sinh, sympy.cosh),
        *(sympy.atan, sympy.Abs, sympy.sign),
    )
}


def _from_symengine(node: Any, builder: RealBuilder) -> sympy.Expr:
    """Convert without sympy's evaluation for complex symbols, which is slow, and expand inside functions."""
    import symengine

    if node.is_Symbol:
        return real_symbol(node.name)
    if not node.args:
        return sympy.sympify(node)
    inner = node.args if node.is_Add or node.is_Mul else map(symengine.expand, node.args)
    arguments = [_from_symengine(argument, builder) for argument in inner]
    if node.is_Add:
        return builder.add(arguments)
    if node.is_Mul:
        return builder.multiply(arguments)
    if node.is_Pow:
        if arguments[0] is sympy.E:
            return builder.function(sympy.exp, arguments[1:])
        return builder.power(*arguments)
    return builder.function(_FUNCTIONS[type(node).__name__], arguments)


def expanded_terms(expression: sympy.Expr) -> int:
    """Return an upper bound for the number of terms after expansion, over all levels."""
    if expression.is_Atom:
        return 1
    inner = [expanded_terms(argument) for argument in expression.args]
    if expression.is_Add:
        return min(sum(inner), MAX_TERMS + 1)
    if expression.is_Mul:
        product = 1
        for count in inner:
            product = min(product * count, MAX_TERMS + 1)
        return product
    if expression.is_Pow and expression.exp.is_Integer:
        power = abs(int(expression.exp))
        return min(comb(power + inner[0] - 1, power), MAX_TERMS + 1) if inner[0] > 1 else 1
    # A function of a long sum is one term, but its inside is expanded as well.
    return max(inner) if max(inner) > MAX_TERMS else 1


def complexity(expression: sympy.Expr) -> int:
    """Return the number of nodes of the expression tree.

    Sums and products count as binary, a subtraction, a division and a square root as one operator, a
    number as one node whatever its digits.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> complexity(x - y), complexity(x / y), complexity(2 * x**2), complexity(sympy.sqrt(x))
    (3, 3, 5, 2)
    """
    if expression.is_Atom:
        return 1
    if expression.is_Add:
        operands = sum(_unsigned(term) for term in expression.args)
        # A sum of negative terms only still needs one sign.
        sign = all(_is_negative(term) for term in expression.args)
        return operands + len(expression.args) - 1 + int(sign)
    if expression.is_Mul:
        # -x*y is one sign before the product; -2*x*y only a negative number in it.
        return _unsigned(expression) + int(expression.args[0] == -1)
    if expression.is_Pow:
        return _power_complexity(*expression.args)
    if isinstance(expression, sympy.Piecewise):
        return 1 + sum(complexity(value) + _condition_size(condition) for value, condition in expression.args)
    operands = sum(complexity(argument) for argument in expression.args)
    return operands + max(1, len(expression.args) - 1)


def _unsigned(term: sympy.Expr) -> int:
    """Nodes of a term whose sign is part of the sum around it."""
    if not term.is_Mul:
        return complexity(term)
    factors = term.args[1:] if term.args[0] == -1 else term.args
    below = [factor for factor in factors if factor.is_Pow and _is_negative(factor.exp)]
    above = [factor for factor in factors if factor not in below]
    upper = sum(complexity(factor) for factor in above) + len(above) - 1 if above else 1
    if not below:
        return upper
    lower = sum(_power_complexity(factor.base, factor.exp, inverted=True) for factor in below)
    return upper + 1 + lower + len(below) - 1


def _power_complexity(base: sympy.Expr, exponent: sympy.Expr, *, inverted: bool = False) -> int:
    if _is_negative(exponent):
        return _power_complexity(base, -exponent) + (0 if inverted else 2)
    if exponent == 1:
        return complexity(base)
    if exponent == sympy.Rational(1, 2):
        return 1 + complexity(base)
    return 1 + complexity(base) + complexity(exponent)


def _condition_size(condition: sympy.Basic) -> int:
    if condition in (sympy.true, sympy.false):
        return 1
    if isinstance(condition, sympy.And | sympy.Or):
        return sum(_condition_size(part) for part in condition.args) + len(condition.args) - 1
    return 1 + sum(complexity(side) for side in condition.args)


def _is_negative(expression: sympy.Expr) -> bool:
    return bool(expression.as_coeff_Mul()[0].is_negative)
