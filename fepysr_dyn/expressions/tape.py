"""Several expressions as one flat list of operations, for compiled loops that call them millions of times.

A tape is data: it is made in microseconds and run by one kernel that is compiled once, where generated code
would be compiled anew for every system. Common subexpressions are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import ExpressionError

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

ADD, MULTIPLY, DIVIDE, POWER, INTEGER_POWER = range(5)
EXP, LOG, SQRT, SIN, COS, TAN, TANH, SINH, COSH, ATAN, ABS, SIGN = range(10, 22)
MINIMUM, MAXIMUM, LESS, LESS_EQUAL, BOTH, EITHER, CHOOSE = range(30, 37)

_UNARY = {
    sympy.exp: EXP,
    sympy.log: LOG,
    sympy.sin: SIN,
    sympy.cos: COS,
    sympy.tan: TAN,
    sympy.tanh: TANH,
    sympy.sinh: SINH,
    sympy.cosh: COSH,
    sympy.atan: ATAN,
    sympy.Abs: ABS,
    sympy.sign: SIGN,
}
_MANY = {sympy.Min: MINIMUM, sympy.Max: MAXIMUM, sympy.And: BOTH, sympy.Or: EITHER}


@dataclass(frozen=True)
class Tape:
    """Operations on a row of registers: the variables, then the constants, then results in order.

    Parameters
    ----------
    operations : array of int, shape (length, 4)
        Code and up to three register numbers; operation i writes register ``first_result + i``.
    constants : array
        Values of the registers after the variables.
    outputs : array of int
        Registers that hold the expressions' values.
    """

    variables: tuple[str, ...]
    operations: Codes
    constants: Array
    outputs: Codes

    @property
    def first_result(self) -> int:
        """Number of the first register that an operation writes."""
        return len(self.variables) + len(self.constants)

    @property
    def registers(self) -> int:
        """Number of registers needed."""
        return self.first_result + len(self.operations)


def record(expressions: Sequence[sympy.Expr], variables: Sequence[str]) -> Tape:
    """Write expressions down as a tape.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> len(record([x**2 + 1, sympy.exp(x**2)], ["x"]).operations)
    3
    """
    recorder = _Recorder(variables)
    outputs = [recorder.visit(sympy.sympify(expression)) for expression in expressions]
    return recorder.tape(outputs)


class _Recorder:
    """Registers handed out so far; constants are numbered from -1 downwards until their count is known."""

    def __init__(self, variables: Sequence[str]) -> None:
        self._variables = tuple(variables)
        self._known: dict[sympy.Basic, int] = {sympy.Symbol(name): i for i, name in enumerate(variables)}
        self._constants: list[float] = []
        self._operations: list[tuple[int, int, int, int]] = []

    def tape(self, outputs: list[int]) -> Tape:
        n, k = len(self._variables), len(self._constants)

        def place(register: int) -> int:
            if register < 0:
                return n - register - 1
            return register if register < n else register + k

        rows = [(code, *(place(register) for register in used)) for code, *used in self._operations]
        return Tape(
            self._variables,
            np.array(rows, dtype=np.int64).reshape(len(rows), 4),
            np.array(self._constants, dtype=float),
            np.array([place(register) for register in outputs], dtype=np.int64),
        )

    def visit(self, node: sympy.Basic) -> int:
        if node not in self._known:
            self._known[node] = self._record(node)
        return self._known[node]

    def _record(self, node: sympy.Basic) -> int:
        if node in (sympy.true, sympy.false):
            return self._constant(float(node == sympy.true))
        if isinstance(node, sympy.Symbol):
            raise ExpressionError(f"'{node}' is not among the variables {list(self._variables)}")
        if node.is_number and isinstance(node, sympy.Expr):
            return self._constant(float(node))
        if node.is_Add:
            return self._chain(ADD, [self.visit(term) for term in node.args])
        if node.is_Mul:
            return self._product(node)
        if node.is_Pow:
            return self._power(node)
        if node.func in _UNARY:
            return self._write(_UNARY[node.func], self.visit(node.args[0]))
        if node.func in _MANY:
            return self._chain(_MANY[node.func], [self.visit(argument) for argument in node.args])
        if isinstance(node, sympy.Piecewise):
            return self._piecewise(node)
        if isinstance(node, sympy.core.relational.Relational):
            return self._comparison(node)
        raise ExpressionError(f"'{node.func.__name__}' cannot be evaluated numerically")

    def _constant(self, value: float) -> int:
        self._constants.append(value)
        return -len(self._constants)

    def _write(self, code: int, first: int, second: int = 0, third: int = 0) -> int:
        self._operations.append((code, first, second, third))
        return len(self._variables) + len(self._operations) - 1

    def _chain(self, code: int, registers: list[int]) -> int:
        return reduce(lambda left, right: self._write(code, left, right), registers)

    def _product(self, node: sympy.Mul) -> int:
        numerator: list[sympy.Expr] = []
        denominator: list[sympy.Expr] = []
        for factor in node.args:
            inverse = factor.is_Pow and factor.exp.is_number and factor.exp.is_negative
            (denominator if inverse else numerator).append(1 / factor if inverse else factor)
        top = self._chain(MULTIPLY, [self.visit(factor) for factor in numerator or [sympy.Integer(1)]])
        if not denominator:
            return top
        return self._write(DIVIDE, top, self._chain(MULTIPLY, [self.visit(factor) for factor in denominator]))

    def _power(self, node: sympy.Pow) -> int:
        base, exponent = node.base, node.exp
        if exponent == sympy.Rational(1, 2):
            return self._write(SQRT, self.visit(base))
        if exponent.is_number and exponent.is_negative:
            return self._write(DIVIDE, self._constant(1.0), self.visit(1 / node))
        if exponent.is_Integer:
            return self._write(INTEGER_POWER, self.visit(base), self.visit(exponent))
        return self._write(POWER, self.visit(base), self.visit(exponent))

    def _piecewise(self, node: sympy.Piecewise) -> int:
        *branches, last = node.args
        result = self.visit(last[0])
        for value, condition in reversed(branches):
            result = self._write(CHOOSE, self.visit(condition), self.visit(value), result)
        return result

    def _comparison(self, node: sympy.Basic) -> int:
        left, right = self.visit(node.lhs), self.visit(node.rhs)
        if isinstance(node, sympy.Gt | sympy.Ge):
            left, right = right, left
        strict = isinstance(node, sympy.Gt | sympy.Lt)
        return self._write(LESS if strict else LESS_EQUAL, left, right)
