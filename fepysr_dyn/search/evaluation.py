"""Values and slopes of an expression by walking its tree.

Compiling an expression takes longer than evaluating it a hundred times; engines that meet thousands of
expressions, each a few times, walk the tree instead. Slopes are carried along (forward mode).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import sympy

from fepysr_dyn.search.problem import Array

#: sympy function -> (value, slope in terms of argument and value)
_FUNCTIONS: dict[type, tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]] = {
    sympy.exp: (np.exp, lambda u, f: f),
    sympy.log: (np.log, lambda u, f: 1 / u),
    sympy.sin: (np.sin, lambda u, f: np.cos(u)),
    sympy.cos: (np.cos, lambda u, f: -np.sin(u)),
    sympy.tan: (np.tan, lambda u, f: 1 + f**2),
    sympy.tanh: (np.tanh, lambda u, f: 1 - f**2),
    sympy.sinh: (np.sinh, lambda u, f: np.cosh(u)),
    sympy.cosh: (np.cosh, lambda u, f: np.sinh(u)),
    sympy.atan: (np.arctan, lambda u, f: 1 / (1 + u**2)),
    sympy.Abs: (np.abs, lambda u, f: np.sign(u)),
    sympy.sign: (np.sign, lambda u, f: np.zeros_like(u)),
}

#: What sympy writes where a function leaves its domain; no formula is finite there.
_NOT_REAL = (sympy.im, sympy.re, sympy.arg, sympy.atan2, type(sympy.zoo), type(sympy.I))

Dual = tuple[Array, Array | None]


class UnsupportedExpressionError(Exception):
    """An expression has a node this module cannot walk."""


def tree_values(expression: sympy.Expr, columns: Mapping[str, Array]) -> Array:
    """Return the values of an expression on the rows.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> tree_values(x**2 + 1, {"x": np.array([1.0, 2.0])})
    array([2., 5.])
    """
    rows = max(np.size(values) for values in columns.values())
    with np.errstate(all="ignore"):
        value, _ = _walk(expression, columns, {}, {})
    return np.array(np.broadcast_to(value, (rows,)))


def tree_slopes(
    expression: sympy.Expr, parameters: tuple[str, ...], theta: Array, columns: Mapping[str, Array]
) -> tuple[Array, Array]:
    """Return the values of an expression and its slopes in the parameters, shape (rows, parameters)."""
    rows = len(next(iter(columns.values())))
    numbers = {name: (float(value), k) for k, (name, value) in enumerate(zip(parameters, theta, strict=True))}
    with np.errstate(all="ignore"):
        value, slope = _walk(expression, columns, numbers, {})
    values = np.array(np.broadcast_to(value, (rows,)))
    if slope is None:
        return values, np.zeros((rows, len(parameters)))
    return values, np.array(np.broadcast_to(slope, (len(parameters), rows))).T


def _walk(
    node: sympy.Basic,
    columns: Mapping[str, Array],
    parameters: Mapping[str, tuple[float, int]],
    memo: dict[sympy.Basic, Dual],
) -> Dual:
    known = memo.get(node)
    if known is not None:
        return known
    if node.is_Symbol:
        result: Dual = _symbol(node.name, columns, parameters)
    elif node.is_Number or node.is_NumberSymbol:
        result = (np.asarray(float(node)), None)
    elif isinstance(node, _NOT_REAL):
        result = (np.asarray(np.nan), None)
    else:
        parts = [_walk(argument, columns, parameters, memo) for argument in node.args]
        result = _combine(node, parts)
    memo[node] = result
    return result


def _symbol(name: str, columns: Mapping[str, Array], parameters: Mapping[str, tuple[float, int]]) -> Dual:
    if name not in parameters:
        return columns[name], None
    value, position = parameters[name]
    slope = np.zeros((len(parameters), 1))
    slope[position] = 1.0
    return np.asarray(value), slope


def _combine(node: sympy.Basic, parts: list[Dual]) -> Dual:
    if node.is_Add:
        value = sum((v for v, _ in parts[1:]), parts[0][0])
        slopes = [s for _, s in parts if s is not None]
        return value, (sum(slopes[1:], slopes[0]) if slopes else None)
    if node.is_Mul:
        result = parts[0]
        for part in parts[1:]:
            result = _product(result, part)
        return result
    if node.is_Pow:
        return _power(node, *parts)
    functions = _FUNCTIONS.get(node.func)
    if functions is None:
        raise UnsupportedExpressionError(str(node.func))
    u, slope = parts[0]
    f = functions[0](u)
    return f, None if slope is None else functions[1](u, f) * slope


def _product(first: Dual, second: Dual) -> Dual:
    (u, du), (v, dv) = first, second
    if du is None:
        return u * v, None if dv is None else u * dv
    return u * v, v * du if dv is None else u * dv + v * du


def _power(node: sympy.Pow, base: Dual, exponent: Dual) -> Dual:
    (u, du), (n, dn) = base, exponent
    if node.exp == sympy.Rational(1, 2):
        f = np.sqrt(u)
    elif node.exp.is_Integer:
        f = _integer_power(u, int(node.exp))
    else:
        f = np.power(u, n)
    slope = None if du is None else n * np.power(u, n - 1) * du
    if dn is not None:
        # The logarithm of zero meets a power that is zero as well.
        logarithm = f * np.log(np.where(u > 0, u, 1.0)) * dn
        slope = logarithm if slope is None else slope + logarithm
    return f, slope


def _integer_power(u: Array, n: int) -> Array:
    if n < 0:
        return np.asarray(1.0 / _integer_power(u, -n))
    return np.asarray(u * u if n == 2 else u * u * u if n == 3 else np.power(u, n))
