"""What a formula may ask sympy to build: everything finite, real and of bounded size.

sympy evaluates while it builds, and what it tries is not bounded by itself: towers of powers, sums merged
one by one, nested radicals of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import sympy

from fepysr_dyn.expressions.reals import RealBuilder

MAX_EXPONENT = 64
#: Integers above this many bits are refused: no formula needs them and powers of them never end.
MAX_INTEGER_BITS = 256
#: Nodes of one expression, and how deep functions and fractional powers may be nested in it.
MAX_NODES = 2_000
MAX_FUNCTION_NESTING = 25
#: Numbers without a closed form (nested radicals, exp of sin ...) above this many nodes become floats.
_MAX_NUMBER_NODES = 30
#: exp of this is the largest that fits float64.
_MAX_EXP = 700

_SINGULAR = frozenset({sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I})
_ELEMENTARY = {
    **{"exp": sympy.exp, "log": sympy.log, "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan},
    **{"tanh": sympy.tanh, "sinh": sympy.sinh, "cosh": sympy.cosh, "atan": sympy.atan},
    **{"abs": sympy.Abs, "sign": sympy.sign, "Min": sympy.Min, "Max": sympy.Max},
}
#: name -> least and most number of arguments
FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(_ELEMENTARY, (1, 1)),
    **{"sqrt": (1, 1), "Min": (1, 20), "Max": (1, 20), "hill": (3, 3), "michaelis_menten": (2, 2)},
}


class Refused(Exception):  # noqa: N818
    """A node that must not be built; the message says why."""


class BoundedBuilder(RealBuilder):
    """Builds the nodes of one formula, or refuses them."""

    def add(self, terms: Sequence[sympy.Expr]) -> sympy.Expr:
        """Return a sum."""
        return _checked(super().add(terms)) if len(terms) > 1 else terms[0]

    def multiply(self, factors: Sequence[sympy.Expr]) -> sympy.Expr:
        """Return a product."""
        return _checked(super().multiply(factors)) if len(factors) > 1 else factors[0]

    def reciprocal(self, value: sympy.Expr) -> sympy.Expr:
        """Return one over a value."""
        if value.is_zero:
            raise Refused("division by zero")
        return self.power(value, sympy.Integer(-1))

    def power(self, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
        """Return a power with a bounded exponent."""
        if exponent.is_number:
            size = _value(exponent)
            if abs(size) > MAX_EXPONENT:
                raise Refused(f"exponents are limited to {MAX_EXPONENT}")
            if base.is_number:
                _check_number_power(_value(base), size, whole=bool(exponent.is_Integer))
        elif base.is_zero:
            raise Refused("zero to a variable power is not defined everywhere")
        return _checked(super().power(base, exponent))

    def call(self, name: str, arguments: Sequence[sympy.Expr]) -> sympy.Expr:
        """Return one of `FUNCTIONS` of its arguments."""
        if name == "sqrt":
            return self.power(arguments[0], sympy.Rational(1, 2))
        if name == "hill":
            x, half, n = arguments
            raised = self.power(x, n)
            return self.multiply([raised, self.reciprocal(self.add([self.power(half, n), raised]))])
        if name == "michaelis_menten":
            x, half = arguments
            return self.multiply([x, self.reciprocal(self.add([half, x]))])
        if name in ("exp", "sinh", "cosh") and arguments[0].is_number and _value(arguments[0]) > _MAX_EXP:
            raise Refused(f"the argument of {name} is too large")
        return _checked(self.function(_ELEMENTARY[name], arguments))

    def complete(self, expression: sympy.Expr, deepest: int) -> sympy.Expr:
        """Return the finished expression if its text will not be nested more than `deepest` deep."""
        result = self.finish(expression)
        nodes = sympy.preorder_traversal(result)
        if sum(1 for _ in zip(range(MAX_NODES + 1), nodes, strict=False)) > MAX_NODES:
            raise Refused(f"a formula may have at most {MAX_NODES} nodes")
        depth, functions = _depth(result)
        if depth > deepest or functions > MAX_FUNCTION_NESTING:
            raise Refused("the formula is nested too deeply")
        return result


def number(text: str) -> sympy.Expr:
    """Return an unsigned number."""
    if not text.isdigit():
        value = float(text)
        if math.isinf(value):
            raise Refused("this number is too large for float64")
        return sympy.Float(value)
    if len(text) > MAX_INTEGER_BITS // 3:
        raise Refused("this integer is too large")
    return _checked(sympy.Integer(int(text)))


def _checked(result: sympy.Expr) -> sympy.Expr:
    """Return a node if everything in it is finite, real and of bounded size."""
    nodes = 0
    for node in sympy.preorder_traversal(result):
        nodes += 1
        if nodes > MAX_NODES:
            raise Refused(f"a formula may have at most {MAX_NODES} nodes")
        if node in _SINGULAR:
            raise Refused("this gives no finite real value")
        if node.is_Number:
            _check_number(node)
        elif node.is_Pow and node.exp.is_Number and abs(node.exp) > MAX_EXPONENT:
            raise Refused(f"exponents are limited to {MAX_EXPONENT}")
    if result.is_number and not result.is_Number:
        value = _value(result)
        if nodes > _MAX_NUMBER_NODES:
            return sympy.Float(value)
    return result


def _depth(node: sympy.Basic) -> tuple[int, int]:
    if not node.args:
        return 0, 0
    inner = [_depth(argument) for argument in node.args]
    is_function = isinstance(node, sympy.Function) or (node.is_Pow and not node.exp.is_Integer)
    return 1 + max(deep for deep, _ in inner), int(is_function) + max(functions for _, functions in inner)


def _check_number(number: sympy.Number) -> None:
    if number.is_Rational:
        if max(abs(number.p), number.q).bit_length() > MAX_INTEGER_BITS:
            raise Refused("this gives a number that is too large")
        return
    value = float(number)
    if not math.isfinite(value) or (value == 0.0 and not number.is_zero):
        raise Refused("this gives a number outside the range of float64")


def _check_number_power(base: float, exponent: float, *, whole: bool) -> None:
    if base < 0 and not whole:
        raise Refused("a negative number to a fractional power is not real")
    if base == 0 and exponent < 0:
        raise Refused("division by zero")
    if base and abs(math.log2(abs(base)) * exponent) > 1023:
        raise Refused("this power is too large")


def _value(number: sympy.Expr) -> float:
    try:
        value = float(number)
    except (ArithmeticError, TypeError, ValueError):
        raise Refused("this gives no finite real value") from None
    if not math.isfinite(value):
        raise Refused("this gives a number outside the range of float64")
    return value
