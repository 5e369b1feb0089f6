"""Whether a feature helps to write a target, decided by program.

A feature is valid if the smallest tree found for the target gets smaller when the feature is offered as one
symbol. The trees tried are a fixed list of equivalent forms of the target (`equivalent_forms`), in which the
feature, up to sign and a constant factor, is replaced wherever that makes a form smaller: whole
subexpressions, parts of sums (x + y in x + y + z), of products and of integer powers (x² in x⁵), of exponents
(exp(x) in exp(x + y)). That is sufficient, not necessary: an identity outside the list can hide a useful
feature. Raw variables and constants are never valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import sympy

from fepysr_dyn.features.extraction import primitive
from fepysr_dyn.features.tree_size import equivalent_forms, nested_forms, smallest_tree, tree_size

_SYMBOL = sympy.Symbol("feature_")


def is_valid(feature: sympy.Expr, target: sympy.Expr) -> bool:
    """Return whether a feature makes the smallest tree found for the target smaller.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> is_valid(x**2, x**4 + y), is_valid(2 * x - 2 * y, sympy.exp(y - x)), is_valid(sympy.sin(x), x**4 + y)
    (True, True, False)
    """
    wanted = primitive(_rational(feature))
    if wanted.is_Atom or wanted.is_number or not wanted.free_symbols <= target.free_symbols:
        return False
    return _valid(wanted, _rational(target))


def valid_flags(features: tuple[sympy.Expr, ...], target: sympy.Expr) -> list[bool]:
    """Return the validity of each feature of a ranked list; a repetition does not count again."""
    seen: set[sympy.Expr] = set()
    flags = []
    for feature in features:
        form = primitive(_rational(feature))
        flags.append(form not in seen and is_valid(feature, target))
        seen.add(form)
    return flags


def _rational(expression: sympy.Expr) -> sympy.Expr:
    return sympy.nsimplify(expression, rational=True)


@lru_cache(maxsize=50_000)
def _valid(feature: sympy.Expr, target: sympy.Expr) -> bool:
    best = smallest_tree(target)
    for form in equivalent_forms(target):
        for slack in (0, 1, 2):
            replaced = substitute(form, feature, slack)
            if replaced == form:
                continue
            if tree_size(replaced) < best:
                return True
            # The smallest tree of the target may be a nested one: give the replaced form the same chance.
            if any(tree_size(nested) < best for nested in _shorter_forms(replaced)):
                return True
    return False


def _shorter_forms(expression: sympy.Expr) -> Iterator[sympy.Expr]:
    yield sympy.factor_terms(expression)
    yield from nested_forms(expression)


def substitute(expression: sympy.Expr, feature: sympy.Expr, slack: int = 0) -> sympy.Expr:
    """Return the expression with the feature replaced by a symbol wherever that makes it smaller.

    With `slack` it is replaced also where that makes a part as small as it was (1), or one node larger (2):
    it may pay off where several parts are collected.
    """
    cache: dict[sympy.Expr, sympy.Expr] = {}

    def visit(node: sympy.Expr) -> sympy.Expr:
        if node.is_Atom:
            return node
        if node not in cache:
            cache[node] = node
            plain = _rebuilt(node, visit)
            options = [_rebuilt(option, visit) for option in _replacements(node, feature)]
            best = min(options, key=tree_size, default=plain)
            cache[node] = best if tree_size(best) < tree_size(plain) + slack else plain
        return cache[node]

    return visit(expression)


def _rebuilt(node: sympy.Expr, visit: Callable[[sympy.Expr], sympy.Expr]) -> sympy.Expr:
    # Parts of a replaced sum or product are visited one by one, never the whole again.
    return node if node.is_Atom else node.func(*map(visit, node.args))


def _replacements(node: sympy.Expr, feature: sympy.Expr) -> Iterator[sympy.Expr]:
    """Yield ways to write a node with the symbol."""
    if node == feature:
        yield _SYMBOL
    elif node.is_Add and feature.is_Add:
        yield from _in_sum(node, feature)
    elif isinstance(node, sympy.exp) and isinstance(feature, sympy.exp):
        yield from _in_exponent(node, feature)
    elif (node.is_Mul or node.is_Pow) and (feature.is_Mul or feature.is_Pow):
        yield from _in_product(node, feature)


def _in_sum(node: sympy.Add, feature: sympy.Add) -> Iterator[sympy.Expr]:
    have, want = node.as_coefficients_dict(), feature.as_coefficients_dict()
    ratios = {have[term] / number for term, number in want.items() if term in have}
    for ratio in sorted(ratios, key=str):
        yield node - ratio * feature + ratio * _SYMBOL


def _in_exponent(node: sympy.exp, feature: sympy.exp) -> Iterator[sympy.Expr]:
    argument, inner = node.args[0], feature.args[0]
    have, want = argument.as_coefficients_dict(), inner.as_coefficients_dict()
    ratios = {have[term] / number for term, number in want.items() if term in have}
    for ratio in sorted(ratios, key=str):
        yield _SYMBOL**ratio * sympy.exp(sympy.expand(argument - ratio * inner))


def _in_product(node: sympy.Expr, feature: sympy.Expr) -> Iterator[sympy.Expr]:
    have, want = node.as_powers_dict(), feature.as_powers_dict()
    if not all(base in have and have[base].is_number for base in want):
        return
    quotients = [have[base] / power for base, power in want.items()]
    if not all(quotient.is_real for quotient in quotients):
        return
    if all(quotient > 0 for quotient in quotients):
        most, sign = min(quotients), 1
    elif all(quotient < 0 for quotient in quotients):
        most, sign = min(-quotient for quotient in quotients), -1
    else:
        return
    for power in range(1, int(sympy.floor(most)) + 1):
        yield node / feature ** (sign * power) * _SYMBOL ** (sign * power)
