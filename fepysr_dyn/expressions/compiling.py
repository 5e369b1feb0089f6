"""Expressions to fast functions, and numbers in them to free parameters.

Code is generated from sympy objects only, with all names replaced by our own: no text of the user reaches it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import ExpressionError
from fepysr_dyn.expressions.reals import (
    RealBuilder,
    function_nesting,
    real_symbol,
    rebuilt,
    renamed,
    substitute,
)

Array = NDArray[np.float64]
ArrayFunction = Callable[..., Array]

#: Functions nested deeper than this are compiled one by one.
_MOST_NESTED = 3


def compile_expression(expression: sympy.Expr, variables: Sequence[str]) -> ArrayFunction:
    """Return a numpy function of the variables in the given order; compiled once per expression.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> compile_expression(x**2 + 1, ["x"])(np.array([1.0, 2.0]))
    array([2., 5.])
    """
    return _compiled(expression, tuple(variables))


@lru_cache(maxsize=4_096)
def _compiled(expression: sympy.Expr, variables: tuple[str, ...]) -> ArrayFunction:
    function = _lambdified((expression,), variables, "numpy")

    def evaluate(*columns: Array) -> Array:
        shape = np.broadcast_shapes(*(np.shape(column) for column in columns))
        with np.errstate(all="ignore"):
            values = _real(function(*columns)[0])
        return values if values.shape == shape else np.broadcast_to(values, shape).copy()

    return evaluate


def compile_scalar(
    expressions: Sequence[sympy.Expr], variables: Sequence[str]
) -> Callable[..., Sequence[float]]:
    """Return a function of plain floats giving all expressions at once.

    For one point at a time this is several times as fast as numpy. It raises OverflowError,
    ZeroDivisionError or ValueError where numpy would return a non-finite number.
    """
    function: Callable[..., Sequence[float]] = _lambdified(tuple(expressions), tuple(variables), "math")
    return function


@lru_cache(maxsize=512)
def _lambdified(
    expressions: tuple[sympy.Expr, ...], variables: tuple[str, ...], module: str
) -> Callable[..., Sequence[float]]:
    # Real dummies: derivatives and printing of abs and sign are then real as well.
    twins = {sympy.Symbol(name): sympy.Symbol(f"v{i}", real=True) for i, name in enumerate(variables)}
    unknown = set().union(*(expression.free_symbols for expression in expressions)) - set(twins)
    if unknown:
        raise ExpressionError(
            f"the expression uses {sorted(map(str, unknown))}, expected only {list(variables)}"
        )
    bodies = [
        # re and im come from sympy's own rewriting and vanish for real symbols.
        expression.xreplace(twins) if expression.has(sympy.re, sympy.im) else renamed(expression, twins)
        for expression in map(_with_small_integers, expressions)
    ]
    # sympy's search for common subexpressions evaluates what it rebuilds, at times for minutes.
    deep = any(function_nesting(body) > _MOST_NESTED or body.has(sympy.Min, sympy.Max) for body in bodies)
    extra = [{"sign": np.sign}] if module == "math" else []
    function: Callable[..., Sequence[float]] = sympy.lambdify(
        list(twins.values()),
        bodies,
        modules=[*extra, module],
        cse=_shared if deep else True,
        docstring_limit=0,
    )
    return function


def _real(values: Any) -> Array:
    """Make what is not a real number not a number: a root of a negative constant comes out complex."""
    found = np.asarray(values)
    if np.iscomplexobj(found):
        return np.where(found.imag == 0.0, found.real, np.nan)
    return found.astype(np.float64, copy=False)


def _with_small_integers(expression: sympy.Expr) -> sympy.Expr:
    """Make floats of integers that numpy has no type for."""
    expression = sympy.sympify(expression)
    large = [number for number in expression.atoms(sympy.Integer) if abs(number) > 2**53]
    return expression.xreplace({number: sympy.Float(number) for number in large})


def _shared(
    bodies: Sequence[sympy.Expr],
) -> tuple[list[tuple[sympy.Symbol, sympy.Expr]], list[sympy.Expr]]:
    """Take each function as a common subexpression, without evaluating anything."""
    builder = RealBuilder()
    hidden = [builder.rebuild(body) for body in bodies]
    parts, names = builder.parts("part")
    return parts, [renamed(body, names) for body in hidden]


@dataclass(frozen=True)
class Template:
    """An expression whose free constants are parameters.

    Parameters
    ----------
    expression : sympy expression
        In the variables and the parameter symbols.
    parameters : tuple of str
        Names of the parameters, in order.
    values : tuple of float
        The constants that stood there.
    """

    expression: sympy.Expr
    parameters: tuple[str, ...]
    values: tuple[float, ...]

    def with_values(self, values: Sequence[float]) -> sympy.Expr:
        """Put numbers back in the places of the parameters."""
        numbers = {
            name: sympy.Float(float(value)) for name, value in zip(self.parameters, values, strict=True)
        }
        return substitute(self.expression, numbers)

    def functions(self, variables: Sequence[str]) -> tuple[ArrayFunction, ArrayFunction]:
        """Return value and Jacobian as functions of ``(parameter values, *columns)``.

        The Jacobian has shape (rows, parameters).
        """
        return _template_functions(self.expression, self.parameters, tuple(variables))


@lru_cache(maxsize=2_048)
def _template_functions(
    expression: sympy.Expr, parameters: tuple[str, ...], variables: tuple[str, ...]
) -> tuple[ArrayFunction, ArrayFunction]:
    body = renamed(expression, {symbol: real_symbol(symbol.name) for symbol in expression.free_symbols})
    slopes = [renamed(sympy.diff(body, real_symbol(name)), {}) for name in parameters]
    value = _lambdified((expression,), (*parameters, *variables), "numpy")
    jacobian = _lambdified(tuple(slopes), (*parameters, *variables), "numpy") if slopes else None

    def evaluate(theta: Array, *columns: Array) -> Array:
        with np.errstate(all="ignore"):
            result = _real(value(*theta, *columns)[0])
        return np.broadcast_to(result, np.shape(columns[0])).copy()

    def differentiate(theta: Array, *columns: Array) -> Array:
        rows = np.shape(columns[0])
        if jacobian is None:
            return np.zeros((*rows, 0))
        with np.errstate(all="ignore"):
            parts = [_real(part) for part in jacobian(*theta, *columns)]
        return np.stack([np.broadcast_to(part, rows) for part in parts], axis=-1)

    return evaluate, differentiate


def free_constants(expression: sympy.Expr, *, rationals: bool = False, prefix: str = "c_") -> Template:
    """Turn the floating-point numbers of an expression into parameters.

    Parameters
    ----------
    rationals : bool
        Also free integers and fractions, except exponents and the signs -1.
    prefix : str
        Parameters are called prefix0, prefix1 ... in order of appearance; the prefix is made longer if a
        variable begins with it.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> free_constants(2 * x + 0.5)
    Template(expression=c_0 + 2*x, parameters=('c_0',), values=(0.5,))
    """
    while any(symbol.name.startswith(prefix) for symbol in expression.free_symbols):
        prefix += "_"
    values: list[float] = []

    def visit(node: sympy.Basic, *, exponent: bool = False) -> sympy.Basic:
        is_free = node.is_Float or (rationals and node.is_Rational and node != -1 and not exponent)
        if is_free:
            values.append(float(node))
            return sympy.Symbol(f"{prefix}{len(values) - 1}")
        if not node.args:
            return node
        if node.is_Pow:
            return rebuilt(node, [visit(node.base), visit(node.exp, exponent=True)])
        return rebuilt(node, [visit(argument) for argument in node.args])

    template = visit(expression)
    return Template(template, tuple(f"{prefix}{i}" for i in range(len(values))), tuple(values))
