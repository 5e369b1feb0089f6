"""Whether a formula can be written with the operators a problem allows."""

from __future__ import annotations

from collections.abc import Collection

import sympy

_FUNCTIONS = {
    sympy.exp: "exp",
    sympy.log: "log",
    sympy.Abs: "abs",
    sympy.sign: "sign",
    sympy.sin: "sin",
    sympy.cos: "cos",
    sympy.tan: "tan",
    sympy.tanh: "tanh",
    sympy.sinh: "sinh",
    sympy.cosh: "cosh",
    sympy.atan: "atan",
}


def uses_only(expression: sympy.Expr, operators: Collection[str]) -> bool:
    """Return whether an expression needs no operator beyond the given ones.

    Numbers may be negative, so ``-2*x`` needs no subtraction; a power needs multiplication or its own name.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> uses_only(x**2 + 1, ["+", "*"]), uses_only(sympy.sin(x) / x, ["+", "*", "sin"])
    (True, False)
    """
    allowed = set(operators)
    return all(_node_allowed(node, allowed) for node in sympy.preorder_traversal(expression))


def _node_allowed(node: sympy.Basic, allowed: set[str]) -> bool:
    if not node.args or node.is_Rational:
        return True
    if node.is_Add:
        signs = [bool(term.as_coeff_Mul()[0].is_negative) for term in node.args]
        return "+" in allowed or ("-" in allowed and signs.count(False) <= 1)
    if node.is_Mul:
        return _product_allowed(node, allowed)
    if node.is_Pow:
        return _power_allowed(node.base, node.exp, allowed)
    return _FUNCTIONS.get(node.func) in allowed


def _product_allowed(node: sympy.Mul, allowed: set[str]) -> bool:
    above = [factor for factor in node.args if not _is_inverse(factor)]
    if above == [sympy.S.NegativeOne]:
        above = []
    needs_product = len([factor for factor in above if factor != -1]) > 1
    below = len(node.args) > len(above)
    signed = -1 in above and not allowed & {"neg", "-", "*"}
    return (
        not signed and (not needs_product or "*" in allowed) and (not below or bool(allowed & {"/", "inv"}))
    )


def _is_inverse(factor: sympy.Expr) -> bool:
    return bool(factor.is_Pow and factor.exp.as_coeff_Mul()[0].is_negative)


def _power_allowed(base: sympy.Expr, exponent: sympy.Expr, allowed: set[str]) -> bool:
    if base is sympy.E or base == sympy.E:
        return "exp" in allowed
    if "**" in allowed:
        return True
    if exponent.as_coeff_Mul()[0].is_negative:
        return bool(allowed & {"/", "inv"}) and (exponent == -1 or _power_allowed(base, -exponent, allowed))
    if exponent == sympy.Rational(1, 2):
        return "sqrt" in allowed
    if exponent.is_Rational and exponent.q == 2:
        return "sqrt" in allowed and "*" in allowed
    if not exponent.is_Integer:
        # sympy itself writes exp(c*log(x)) as x**c.
        return {"exp", "log", "*"} <= allowed
    named = {2: {"square"}, 3: {"cube"}, 4: {"square"}}.get(int(exponent), set())
    return "*" in allowed or bool(named & allowed)
