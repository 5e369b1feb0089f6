"""Algebra on programs: constants folded and moved outwards, a fixed order of operands, a hash."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.kernels import arity
from fepysr_dyn.search.evolution.randomness import mix

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

_SEED = np.uint64(0x243F6A8885A308D3)
_ONE = np.uint64(1)


@kernel
def scalar_unary(code: int, x: float) -> float:
    """Apply an operator to one number."""
    if code == op.NEG:
        return -x
    if code == op.SQUARE:
        return x * x
    if code == op.CUBE:
        return x * x * x
    if code == op.INV:
        return 1.0 / x
    if code == op.EXP:
        return math.exp(x)
    if code == op.LOG:
        return math.log(x) if x > 0.0 else np.nan
    if code == op.SQRT:
        return math.sqrt(x) if x >= 0.0 else np.nan
    if code == op.ABS:
        return abs(x)
    if code == op.SIGN:
        return float(np.sign(x))
    if code == op.SIN:
        return math.sin(x)
    if code == op.COS:
        return math.cos(x)
    if code == op.TAN:
        return math.tan(x)
    if code == op.TANH:
        return math.tanh(x)
    if code == op.SINH:
        return math.sinh(x)
    if code == op.COSH:
        return math.cosh(x)
    return math.atan(x)


@kernel
def scalar_binary(code: int, x: float, y: float) -> float:
    """Apply an operator to two numbers."""
    if code == op.ADD:
        return x + y
    if code == op.SUB:
        return x - y
    if code == op.MUL:
        return x * y
    if code == op.DIV:
        return x / y
    return float(x**y)


@kernel
def structure_hash(codes: Codes, first: int, last: int) -> np.uint64:
    """Hash the nodes from `first` to before `last`, whatever the values of the constants."""
    state = _SEED
    for i in range(first, last):
        state = mix(state ^ (np.uint64(codes[i]) + _ONE))
    return state


@kernel
def _comes_later(codes: Codes, first: int, middle: int, last: int) -> bool:
    """Return whether the left operand belongs behind the right one in the fixed order: constants last."""
    if codes[last - 1] == op.CONSTANT:
        return False
    if codes[middle - 1] == op.CONSTANT and middle - first == 1:
        return True
    left, right = middle - first, last - middle
    if left != right:
        return left > right
    for i in range(left):
        if codes[first + i] != codes[middle + i]:
            return bool(codes[first + i] > codes[middle + i])
    return False


@kernel
def _exchange(codes: Codes, values: Floats, first: int, middle: int, last: int) -> None:
    """Swap two neighbouring stretches by three reversals."""
    for low, high in ((first, middle), (middle, last), (first, last)):
        i, j = low, high - 1
        while i < j:
            codes[i], codes[j] = codes[j], codes[i]
            values[i], values[j] = values[j], values[i]
            i += 1
            j -= 1


@kernel
def _same(codes: Codes, values: Floats, first: int, middle: int, last: int) -> bool:
    if middle - first != last - middle:
        return False
    for i in range(last - middle):
        if codes[first + i] != codes[middle + i]:
            return False
        if codes[first + i] == op.CONSTANT and values[first + i] != values[middle + i]:
            return False
    return True


@kernel
def _push(codes: Codes, values: Floats, end: int, code: int, value: float) -> int:
    codes[end] = code
    values[end] = value
    return end + 1


@kernel
def _close_unary(codes: Codes, values: Floats, first: int, end: int, code: int, allowed: Integers) -> int:
    """Put an operator on top of the finished operand that ends at `end`; return the new end."""
    inner = codes[end - 1]
    if inner == op.CONSTANT and end - first == 1:
        values[first] = scalar_unary(code, values[first])
        return end
    if (code == op.NEG and inner == op.NEG) or (code == op.INV and inner == op.INV):
        return end - 1
    if (
        (code == op.EXP and inner == op.LOG)
        or (code == op.LOG and inner == op.EXP)
        or (code == op.SQUARE and inner == op.SQRT)
    ):
        return end - 1
    if code == op.SQRT and inner == op.SQUARE and allowed[op.ABS]:
        codes[end - 1] = op.ABS
        return end
    if (code == op.SQUARE or code == op.ABS or code == op.COS or code == op.COSH) and (
        inner == op.NEG or inner == op.ABS
    ):
        codes[end - 1] = code
        return end
    has_factor = inner == op.MUL and codes[end - 2] == op.CONSTANT
    if has_factor:
        factor = values[end - 2]
        if code == op.NEG:
            values[end - 2] = -factor
            return end
        if code in (op.SQUARE, op.CUBE, op.INV, op.ABS) or (code == op.SQRT and factor > 0.0):
            codes[end - 2] = code
            end = _push(codes, values, end - 1, op.CONSTANT, scalar_unary(code, factor))
            return _push(codes, values, end, op.MUL, 0.0)
        if code == op.LOG and factor > 0.0 and allowed[op.ADD]:
            codes[end - 2] = op.LOG
            end = _push(codes, values, end - 1, op.CONSTANT, math.log(factor))
            return _push(codes, values, end, op.ADD, 0.0)
    if code == op.EXP and inner == op.ADD and codes[end - 2] == op.CONSTANT and allowed[op.MUL]:
        factor = math.exp(values[end - 2])
        codes[end - 2] = op.EXP
        end = _push(codes, values, end - 1, op.CONSTANT, factor)
        return _push(codes, values, end, op.MUL, 0.0)
    return _push(codes, values, end, code, 0.0)


@kernel
def _close_with_constant(
    codes: Codes, values: Floats, first: int, end: int, code: int, allowed: Integers
) -> int:
    """Close an operator whose right operand is the constant at ``end - 1``."""
    value = values[end - 1]
    if code == op.SUB and allowed[op.ADD]:
        code, value = op.ADD, -value
    elif code == op.DIV and allowed[op.MUL]:
        code, value = op.MUL, 1.0 / value
    if ((code == op.ADD or code == op.SUB) and value == 0.0) or (
        (code == op.MUL or code == op.DIV) and value == 1.0
    ):
        return end - 1
    if code == op.MUL and value == 0.0:
        codes[first] = op.CONSTANT
        values[first] = 0.0
        return first + 1
    if code == op.POW:
        if value == 1.0:
            return end - 1
        if value == 2.0 and allowed[op.SQUARE]:
            return _close_unary(codes, values, first, end - 1, op.SQUARE, allowed)
        if value == 0.5 and allowed[op.SQRT]:
            return _close_unary(codes, values, first, end - 1, op.SQRT, allowed)
    if (code == op.ADD or code == op.MUL) and codes[end - 2] == code and codes[end - 3] == op.CONSTANT:
        values[end - 3] = scalar_binary(code, values[end - 3], value)
        return end - 1
    values[end - 1] = value
    return _push(codes, values, end, code, 0.0)


@kernel
def _close_binary(
    codes: Codes, values: Floats, first: int, middle: int, end: int, code: int, allowed: Integers
) -> int:
    """Put an operator on top of two finished operands; return the new end."""
    if (code == op.ADD or code == op.MUL) and _comes_later(codes, first, middle, end):
        _exchange(codes, values, first, middle, end)
        middle = first + end - middle
    is_left_constant = codes[middle - 1] == op.CONSTANT and middle - first == 1
    is_right_constant = codes[end - 1] == op.CONSTANT and end - middle == 1
    if is_right_constant:
        if is_left_constant:
            values[first] = scalar_binary(code, values[first], values[middle])
            return first + 1
        return _close_with_constant(codes, values, first, end, code, allowed)
    if _same(codes, values, first, middle, end):
        if code == op.SUB or code == op.DIV:
            codes[first] = op.CONSTANT
            values[first] = 0.0 if code == op.SUB else 1.0
            return first + 1
        if code == op.ADD and allowed[op.MUL]:
            end = _push(codes, values, middle, op.CONSTANT, 2.0)
            return _push(codes, values, end, op.MUL, 0.0)
        if code == op.MUL and allowed[op.SQUARE]:
            return _close_unary(codes, values, first, middle, op.SQUARE, allowed)
    outer = op.MUL if code == op.DIV else code
    if code == op.ADD or code == op.MUL or code == op.DIV:
        # A constant next to the operator moves outwards, to meet the linear coefficients at the top.
        if codes[end - 1] == outer and codes[end - 2] == op.CONSTANT and end - middle > 2:
            value = values[end - 2] if code != op.DIV else 1.0 / values[end - 2]
            end = _push(codes, values, end - 2, code, 0.0)
            return _close_with_constant(
                codes, values, first, _push(codes, values, end, op.CONSTANT, value), outer, allowed
            )
        if codes[middle - 1] == outer and codes[middle - 2] == op.CONSTANT and middle - first > 2:
            value = values[middle - 2]
            for i in range(middle, end):
                codes[i - 2] = codes[i]
                values[i - 2] = values[i]
            end = _push(codes, values, end - 2, code, 0.0)
            return _close_with_constant(
                codes, values, first, _push(codes, values, end, op.CONSTANT, value), outer, allowed
            )
    return _push(codes, values, end, code, 0.0)


@kernel
def simplify(codes: Codes, values: Floats, length: int, allowed: Integers, starts: Integers) -> int:
    """Simplify a program in place; return its new length.

    Rewrites never lengthen a finished operand beyond the nodes read so far, so one buffer is enough.
    """
    end, depth = 0, 0
    for i in range(length):
        code = codes[i]
        operands = arity(code)
        if operands == 0:
            starts[depth] = end
            depth += 1
            end = _push(codes, values, end, code, values[i])
        elif operands == 1:
            end = _close_unary(codes, values, starts[depth - 1], end, code, allowed)
        else:
            depth -= 1
            end = _close_binary(codes, values, starts[depth - 1], starts[depth], end, code, allowed)
    return end
