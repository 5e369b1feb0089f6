"""Shorter ways to write the same sum or product."""

from __future__ import annotations

import sympy

from fepysr_dyn.expressions import complexity

#: Taking out common factors saves at most about this much complexity.
MOST_GATHERED = 6


def shortest(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression, or its form with common factors taken out if that is smaller."""
    expression = positive_sums(expression.replace(_has_exponentials, _one_exponential))
    if expression.is_Add:
        expression = _over_common_lines(_with_products_of_waves(expression))
    if expression.is_Mul:
        return sympy.Mul(*(_shortest_power(factor) for factor in expression.args))
    return _gathered(expression)


def positive_sums(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression with sums of negative terms below a line or in a factor written with a plus.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> positive_sums(-12 * x / (-10 * x - 7))
    12*x/(10*x + 7)
    """
    return expression.replace(_is_negative_factor, lambda node: -((-node.base) ** node.exp))


def _is_negative_factor(node: sympy.Basic) -> bool:
    """Return whether a node is an odd power of a sum that has negative terms only."""
    if not (node.is_Pow and node.exp.is_Integer and node.exp.is_odd and node.base.is_Add):
        return False
    return all(term.as_coeff_Mul()[0].is_negative for term in node.base.args)


def _shortest_power(factor: sympy.Expr) -> sympy.Expr:
    if factor.is_Pow and factor.base.is_Add:
        return _gathered(factor.base) ** factor.exp
    return _gathered(factor)


def _gathered(expression: sympy.Expr) -> sympy.Expr:
    if not expression.is_Add:
        return expression
    factored = sympy.factor_terms(expression)
    return factored if complexity(factored) < complexity(expression) else expression


def _over_common_lines(expression: sympy.Expr) -> sympy.Expr:
    """Return a sum in which terms over the same sums are one fraction, where that is shorter.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> _over_common_lines(3 * x / (x + y) + 2 * x**2 / (x + y) - y)
    x*(2*x + 3)/(x + y) - y
    """
    groups: dict[sympy.Expr, list[sympy.Expr]] = {}
    for term in sympy.Add.make_args(expression):
        below = [
            factor
            for factor in sympy.Mul.make_args(term)
            if factor.is_Pow and factor.base.is_Add and factor.exp.is_negative
        ]
        groups.setdefault(sympy.Mul(*below), []).append(term)
    parts = [
        sympy.factor_terms(sympy.Add(*(term / below for term in terms))) * below
        if len(terms) > 1 and below != 1
        else sympy.Add(*terms)
        for below, terms in groups.items()
    ]
    together = sympy.Add(*parts)
    return together if complexity(together) < complexity(expression) else expression


def _has_exponentials(node: sympy.Basic) -> bool:
    return bool(node.is_Mul and sum(isinstance(factor, sympy.exp) for factor in node.args) > 1)


def _one_exponential(node: sympy.Mul) -> sympy.Expr:
    """Return a product with its exponentials put together."""
    powers = [factor.args[0] for factor in node.args if isinstance(factor, sympy.exp)]
    rest = [factor for factor in node.args if not isinstance(factor, sympy.exp)]
    return sympy.Mul(*rest, sympy.exp(sympy.Add(*powers)))


def _with_products_of_waves(expression: sympy.Expr) -> sympy.Expr:
    """Return a sum in which pairs of sines or cosines are products where that is shorter."""
    terms = list(sympy.Add.make_args(expression))
    for i, first in enumerate(terms):
        for j in range(i + 1, len(terms)):
            product = _product_of_waves(first, terms[j])
            if product is not None and complexity(product) < complexity(first + terms[j]):
                rest = [term for k, term in enumerate(terms) if k not in (i, j)]
                return _with_products_of_waves(sympy.Add(product, *rest))
    return expression


def _product_of_waves(first: sympy.Expr, second: sympy.Expr) -> sympy.Expr | None:
    (a, f), (b, g) = first.as_coeff_Mul(), second.as_coeff_Mul()
    if f.func is not g.func or f.func not in (sympy.sin, sympy.cos):
        return None
    if abs(abs(float(a)) - abs(float(b))) > 1e-12 * abs(float(a)):
        return None
    half = sympy.Rational(1, 2)
    mean, spread = (sympy.expand(half * (f.args[0] + s * g.args[0])) for s in (1, -1))
    alike = float(a) * float(b) > 0
    if f.func is sympy.sin:
        waves = sympy.sin(mean) * sympy.cos(spread) if alike else sympy.cos(mean) * sympy.sin(spread)
        return _whole(2 * a) * waves
    waves = sympy.cos(mean) * sympy.cos(spread) if alike else -sympy.sin(mean) * sympy.sin(spread)
    return _whole(2 * a) * waves


def _whole(number: sympy.Expr) -> sympy.Expr:
    nearest = round(float(number))
    return sympy.Integer(nearest) if abs(float(number) - nearest) < 1e-12 else number
