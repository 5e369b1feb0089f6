"""Sympy expressions to programs and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import ExpressionError
from fepysr_dyn.expressions import to_text
from fepysr_dyn.search.evolution import opcodes as op

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]

_FUNCTIONS: dict[type[sympy.Basic], int] = {
    **{sympy.exp: op.EXP, sympy.log: op.LOG, sympy.Abs: op.ABS, sympy.sign: op.SIGN, sympy.sin: op.SIN},
    **{sympy.cos: op.COS, sympy.tan: op.TAN, sympy.tanh: op.TANH, sympy.sinh: op.SINH, sympy.cosh: op.COSH},
    **{sympy.atan: op.ATAN},
}
_UNARY: dict[int, Callable[[sympy.Expr], sympy.Expr]] = {
    **{code: function for function, code in _FUNCTIONS.items()},
    **{op.NEG: lambda a: -a, op.SQUARE: lambda a: a**2, op.CUBE: lambda a: a**3, op.INV: lambda a: 1 / a},
    **{op.SQRT: sympy.sqrt},
}
_BINARY: dict[int, Callable[[sympy.Expr, sympy.Expr], sympy.Expr]] = {
    **{op.ADD: lambda a, b: a + b, op.SUB: lambda a, b: a - b, op.MUL: lambda a, b: a * b},
    **{op.DIV: lambda a, b: a / b, op.POW: lambda a, b: a**b},
}
#: Integer powers up to this are written as products.
_LARGEST_PRODUCT = 12


@dataclass(frozen=True)
class Program:
    """An expression in postfix order: one code per node, values where the code is a constant."""

    codes: Codes
    values: Floats

    def __len__(self) -> int:
        return len(self.codes)


def encode(expression: sympy.Expr, inputs: Sequence[sympy.Expr], operators: Sequence[str]) -> Program:
    """Write an expression over some inputs as a program of allowed operators.

    Parameters
    ----------
    inputs : sequence of sympy expressions
        What the input columns hold: symbols, or features, which are recognised where they stand as a whole.

    Raises
    ------
    ExpressionError
        If the expression needs an operator that is not allowed.
    """
    allowed = frozenset(op.CODES[name] for name in operators)
    writer = _Writer({value: i for i, value in reversed(list(enumerate(inputs)))}, allowed)
    writer.write(sympy.sympify(expression))
    return Program(np.array(writer.codes, dtype=np.int16), np.array(writer.values))


def decode(codes: Codes, values: Floats, inputs: Sequence[sympy.Expr]) -> sympy.Expr:
    """Read a program as an expression in the user's variables.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> decode(np.array([32, 15, 0, 3], dtype=np.int16), np.array([0, 0, 2.5, 0]), [x])
    2.5*sin(x)
    """
    stack: list[sympy.Expr] = []
    for code, value in zip(codes.tolist(), values.tolist(), strict=True):
        if code >= op.FIRST_INPUT:
            stack.append(inputs[code - op.FIRST_INPUT])
        elif code == op.CONSTANT:
            stack.append(number(value))
        elif op.ARITY[code] == 1:
            stack.append(_UNARY[code](stack.pop()))
        else:
            right = stack.pop()
            stack.append(_BINARY[code](stack.pop(), right))
    return stack.pop()


def number(value: float) -> sympy.Expr:
    """Return an integer where the value is one, else a float."""
    if value == round(value) and abs(value) < 1e9:
        return sympy.Integer(round(value))
    return sympy.Float(value)


@dataclass
class _Writer:
    """Collects the nodes of a program."""

    inputs: dict[sympy.Expr, int]
    allowed: frozenset[int]
    codes: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def write(self, node: sympy.Expr) -> None:
        """Append a whole expression."""
        if node in self.inputs:
            self.put(op.FIRST_INPUT + self.inputs[node])
        elif node.is_number:
            self.constant(node)
        elif node.is_Add:
            self.sum(node)
        elif node.is_Mul:
            self.product(node)
        elif node.is_Pow:
            self.power(node.base, node.exp)
        elif type(node) in _FUNCTIONS:
            self.write(node.args[0])
            self.operator(_FUNCTIONS[type(node)], node)
        else:
            raise ExpressionError(f"expected operators and inputs of the search, found '{to_text(node)}'")

    def put(self, code: int, value: float = 0.0) -> None:
        """Append one node."""
        self.codes.append(code)
        self.values.append(value)

    def constant(self, node: sympy.Expr) -> None:
        """Append a number."""
        value = complex(node)
        if value.imag != 0.0 or not np.isfinite(value.real):
            raise ExpressionError(f"expected a real number, found '{to_text(node)}'")
        self.put(op.CONSTANT, value.real)

    def operator(self, code: int, node: sympy.Expr) -> None:
        """Append an operator, if it is allowed."""
        if code not in self.allowed:
            raise ExpressionError(
                f"operator '{op.NAMES[code]}' is not allowed but '{to_text(node)}' needs it"
            )
        self.put(code)

    def sum(self, node: sympy.Expr) -> None:
        """Append a sum, with differences where they are allowed."""
        terms = sorted(node.args, key=lambda term: (term.could_extract_minus_sign(), to_text(term)))
        self.write(terms[0])
        for term in terms[1:]:
            if term.could_extract_minus_sign() and op.SUB in self.allowed:
                self.write(-term)
                self.operator(op.SUB, node)
            else:
                self.write(term)
                self.operator(op.ADD, node)

    def product(self, node: sympy.Expr) -> None:
        """Append a product, with divisions where they are allowed."""
        factor, rest = node.as_coeff_Mul()
        if factor == -1 and op.NEG in self.allowed:
            self.write(rest)
            self.operator(op.NEG, node)
            return
        below = [f for f in node.args if f.is_Pow and f.exp.could_extract_minus_sign()]
        if op.DIV not in self.allowed:
            below = []
        above = [f for f in node.args if f not in below]
        for i, part in enumerate(above or [sympy.S.One]):
            self.write(part)
            if i > 0:
                self.operator(op.MUL, node)
        for part in below:
            self.power(part.base, -part.exp)
            self.operator(op.DIV, node)

    def power(self, base: sympy.Expr, exponent: sympy.Expr) -> None:
        """Append a power by the shortest allowed way."""
        node = base**exponent
        if exponent.is_Float and float(2 * exponent).is_integer():
            exponent = sympy.Rational(int(2 * exponent), 2)
        if exponent == 1:
            self.write(base)
        elif exponent in _POWERS and _POWERS[exponent] in self.allowed:
            self.write(base)
            self.operator(_POWERS[exponent], node)
        elif exponent.is_Integer and exponent < 0 and op.DIV in self.allowed:
            self.put(op.CONSTANT, 1.0)
            self.power(base, -exponent)
            self.operator(op.DIV, node)
        elif exponent.is_Integer and exponent < 0 and op.INV in self.allowed:
            self.power(base, -exponent)
            self.operator(op.INV, node)
        elif exponent.is_Integer and 0 < exponent <= _LARGEST_PRODUCT and op.POW not in self.allowed:
            self.integer_power(base, int(exponent), node)
        elif exponent.is_Rational and exponent.q == 2 and {op.SQRT, op.MUL} <= self.allowed and exponent > 0:
            self.power(sympy.sqrt(base), sympy.Integer(exponent.p))
        else:
            self.write(base)
            self.write(exponent)
            self.operator(op.POW, node)

    def integer_power(self, base: sympy.Expr, exponent: int, node: sympy.Expr) -> None:
        """Append an integer power by squares and products."""
        half, odd = divmod(exponent, 2)
        self.power(base, sympy.Integer(half))
        if op.SQUARE in self.allowed:
            self.operator(op.SQUARE, node)
        else:
            self.power(base, sympy.Integer(half))
            self.operator(op.MUL, node)
        if odd:
            self.write(base)
            self.operator(op.MUL, node)


_POWERS = {
    sympy.Integer(2): op.SQUARE,
    sympy.Integer(3): op.CUBE,
    sympy.Integer(-1): op.INV,
    sympy.Rational(1, 2): op.SQRT,
}
