"""Canonical form and complexity of an expression."""

from __future__ import annotations

from functools import lru_cache
from math import comb

import sympy

#: Products that would expand into more terms than this are left as they are.
MAX_TERMS = 2_000


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
    if expression.has(sympy.Piecewise, sympy.Min, sympy.Max):
        return sympy.expand(expression, power_exp=False, power_base=False, log=False)
    import symengine

    return sympy.sympify(symengine.expand(symengine.sympify(expression)))


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
    if expression.is_Atom or expression.is_Rational:
        return 1
    if expression.is_Add:
        operands = sum(complexity(_without_sign(term)) for term in expression.args)
        # A sum of negative terms only still needs one sign.
        sign = all(_is_negative(term) for term in expression.args)
        return operands + len(expression.args) - 1 + int(sign)
    if expression.is_Mul:
        return _product_complexity(expression)
    if expression.is_Pow:
        base, exponent = expression.as_base_exp()
        if exponent == sympy.Rational(1, 2):
            return 1 + complexity(base)
        if _is_negative(exponent):
            return 2 + complexity(1 / expression)
        return 1 + complexity(base) + complexity(exponent)
    if isinstance(expression, sympy.Piecewise):
        return 1 + sum(complexity(value) + _condition_size(condition) for value, condition in expression.args)
    operands = sum(complexity(argument) for argument in expression.args)
    return operands + max(1, len(expression.args) - 1)


def _product_complexity(expression: sympy.Mul) -> int:
    if _is_negative(expression):
        # -x*y is one sign before the product; -2*x*y only a negative number in it.
        number = expression.as_coeff_Mul()[0]
        if number == -1:
            return 1 + complexity(-expression)
        return complexity(-expression)
    numerator, denominator = expression.as_numer_denom() if _has_division(expression) else (expression, None)
    if denominator is not None and denominator != 1:
        return 1 + complexity(numerator) + complexity(denominator)
    return sum(complexity(factor) for factor in expression.args) + len(expression.args) - 1


def _has_division(expression: sympy.Mul) -> bool:
    return any(factor.is_Pow and _is_negative(factor.exp) for factor in expression.args)


def _condition_size(condition: sympy.Basic) -> int:
    if condition in (sympy.true, sympy.false):
        return 1
    if isinstance(condition, sympy.And | sympy.Or):
        return sum(_condition_size(part) for part in condition.args) + len(condition.args) - 1
    return 1 + sum(complexity(side) for side in condition.args)


def _is_negative(expression: sympy.Expr) -> bool:
    return bool(expression.as_coeff_Mul()[0].is_negative)


def _without_sign(expression: sympy.Expr) -> sympy.Expr:
    return -expression if _is_negative(expression) else expression
