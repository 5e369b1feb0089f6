"""Size of the smallest expression tree found for a formula, in the alphabet of the networks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import sympy

from fepysr_dyn.expressions.canonical import MAX_TERMS, expanded_terms


@lru_cache(maxsize=20_000)
def tree_size(expression: sympy.Expr) -> int:
    """Return the number of nodes of a tree of +, −, ×, ÷, square, square root, functions and numbers.

    Integer powers are built from squares and products (x⁴ is the square of a square), because neither the
    network nor the usual search alphabets have a general power.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> tree_size(x**2), tree_size(x**3), tree_size(x**4), tree_size(x - y), tree_size(x / y)
    (2, 4, 3, 3, 3)
    """
    if expression.is_Atom or expression.is_number:
        return 1
    if expression.is_Add:
        positive = [_without_sign(term) for term in expression.args]
        only_negative = all(is_negative(term) for term in expression.args)
        return sum(map(tree_size, positive)) + len(positive) - 1 + int(only_negative)
    if expression.is_Mul:
        return _product_size(expression)
    if expression.is_Pow:
        return _power_size(expression)
    if isinstance(expression, sympy.exp):
        return _exponential_size(expression)
    return sum(map(tree_size, expression.args)) + max(1, len(expression.args) - 1)


def _product_size(expression: sympy.Mul) -> int:
    number, rest = expression.as_coeff_Mul()
    if number == -1:
        return 1 + tree_size(rest)
    numerator, denominator = expression.as_numer_denom()
    if denominator != 1 and not (denominator.is_number and number.is_Rational):
        return 1 + tree_size(numerator) + tree_size(denominator)
    return sum(map(tree_size, expression.args)) + len(expression.args) - 1


def _power_size(expression: sympy.Pow) -> int:
    base, exponent = expression.args
    if is_negative(exponent):
        return 2 + tree_size(1 / expression)
    if exponent.is_Integer:
        return _repeated(tree_size(base), int(exponent))
    if exponent == sympy.Rational(1, 2):
        return 1 + tree_size(base)
    if exponent.is_Rational and exponent.q == 2:
        return 1 + tree_size(base**exponent.p)
    return 1 + tree_size(base) + tree_size(exponent)


def _repeated(size: int, power: int) -> int:
    """Cost of a power by squaring and multiplying."""
    if power == 1:
        return size
    if power % 2 == 0:
        return 1 + _repeated(size, power // 2)
    return 1 + size + _repeated(size, power - 1)


def _exponential_size(expression: sympy.Expr) -> int:
    (argument,) = expression.args
    direct = 1 + tree_size(argument)
    number, rest = argument.as_coeff_Mul()
    if number.is_Integer and number > 1:
        return min(direct, _repeated(1 + tree_size(rest), int(number)))
    return direct


def is_negative(expression: sympy.Expr) -> bool:
    """Return whether the leading number is negative."""
    return bool(expression.as_coeff_Mul()[0].is_negative)


def _without_sign(expression: sympy.Expr) -> sympy.Expr:
    return -expression if is_negative(expression) else expression


@lru_cache(maxsize=2_000)
def equivalent_forms(expression: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Return the formula, expanded, over a common denominator, factored, nested, with exponentials split."""
    found = dict.fromkeys([expression])
    for form in _rewritten(expression):
        found.setdefault(form)
    return tuple(found)


def _rewritten(expression: sympy.Expr) -> Iterator[sympy.Expr]:
    if expanded_terms(expression) > MAX_TERMS:
        return
    expanded = sympy.expand(expression)
    yield expanded
    yield sympy.expand_power_exp(expression)
    yield sympy.powsimp(expanded)
    yield sympy.factor_terms(expanded)
    together = sympy.together(expression)
    yield together
    numerator, denominator = together.as_numer_denom()
    if denominator != 1:
        yield sympy.expand(numerator) / sympy.expand(denominator)
        yield sympy.factor_terms(numerator) / sympy.factor_terms(denominator)
        yield sympy.Add(*(term / denominator for term in sympy.Add.make_args(sympy.expand(numerator))))
        yield from _divided_by_exponentials(numerator, denominator)
    yield from nested_forms(expanded)
    yield sympy.expand_trig(expression)
    if expression.has(sympy.tanh):
        yield expression.rewrite(sympy.exp)


def _divided_by_exponentials(numerator: sympy.Expr, denominator: sympy.Expr) -> Iterator[sympy.Expr]:
    """Yield a fraction with both sides divided by an exponential, so that only ratios of them are left."""
    for exponential in sorted(denominator.atoms(sympy.exp), key=str):
        parts = [sympy.expand(part / exponential, power_exp=False) for part in (numerator, denominator)]
        yield sympy.powsimp(parts[0]) / sympy.powsimp(parts[1])


def nested_forms(expression: sympy.Expr) -> Iterator[sympy.Expr]:
    """Yield the formula collected in powers of each of its variables (Horner), where it is a polynomial."""
    symbols = sorted(expression.free_symbols, key=str)
    if not symbols or not expression.is_polynomial(*symbols):
        return
    for symbol in symbols:
        yield sympy.horner(expression, wrt=[symbol, *(other for other in symbols if other != symbol)])
        yield sympy.collect(expression, symbol)


@lru_cache(maxsize=2_000)
def smallest_tree(expression: sympy.Expr) -> int:
    """Return the size of the smallest tree among the equivalent forms."""
    return min(map(tree_size, equivalent_forms(expression)))
