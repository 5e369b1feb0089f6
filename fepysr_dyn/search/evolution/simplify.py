"""Algebra on programs: constants folded and moved outwards, a fixed order of operands, a hash."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

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
    if code == 6:
        return -x
    if code == 7:
        return x * x
    if code == 8:
        return x * x * x
    if code == 9:
        return 1.0 / x
    if code == 10:
        return math.exp(x)
    if code == 11:
        return math.log(x) if x > 0.0 else np.nan
    if code == 12:
        return math.sqrt(x) if x >= 0.0 else np.nan
    if code == 13:
        return abs(x)
    if code == 14:
        return float(np.sign(x))
    if code == 15:
        return math.sin(x)
    if code == 16:
        return math.cos(x)
    if code == 17:
        return math.tan(x)
    if code == 18:
        return math.tanh(x)
    if code == 19:
        return math.sinh(x)
    if code == 20:
        return math.cosh(x)
    return math.atan(x)


@kernel
def scalar_binary(code: int, x: float, y: float) -> float:
    """Apply an operator to two numbers."""
    if code == 1:
        return x + y
    if code == 2:
        return x - y
    if code == 3:
        return x * y
    if code == 4:
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
    if codes[last - 1] == 0:
        return False
    if codes[middle - 1] == 0 and middle - first == 1:
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
        if codes[first + i] == 0 and values[first + i] != values[middle + i]:
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
    if inner == 0 and end - first == 1:
        values[first] = scalar_unary(code, values[first])
        return end
    if (code == 6 and inner == 6) or (code == 9 and inner == 9):
        return end - 1
    if (code == 10 and inner == 11) or (code == 11 and inner == 10) or (code == 7 and inner == 12):
        return end - 1
    if code == 12 and inner == 7 and allowed[13]:
        codes[end - 1] = 13
        return end
    if (code == 7 or code == 13 or code == 16 or code == 20) and (inner == 6 or inner == 13):
        codes[end - 1] = code
        return end
    has_factor = inner == 3 and codes[end - 2] == 0
    if has_factor:
        factor = values[end - 2]
        if code == 6:
            values[end - 2] = -factor
            return end
        if code in (7, 8, 9, 13) or (code == 12 and factor > 0.0):
            codes[end - 2] = code
            end = _push(codes, values, end - 1, 0, scalar_unary(code, factor))
            return _push(codes, values, end, 3, 0.0)
        if code == 11 and factor > 0.0 and allowed[1]:
            codes[end - 2] = 11
            end = _push(codes, values, end - 1, 0, math.log(factor))
            return _push(codes, values, end, 1, 0.0)
    if code == 10 and inner == 1 and codes[end - 2] == 0 and allowed[3]:
        factor = math.exp(values[end - 2])
        codes[end - 2] = 10
        end = _push(codes, values, end - 1, 0, factor)
        return _push(codes, values, end, 3, 0.0)
    return _push(codes, values, end, code, 0.0)


@kernel
def _close_with_constant(
    codes: Codes, values: Floats, first: int, end: int, code: int, allowed: Integers
) -> int:
    """Close an operator whose right operand is the constant at ``end - 1``."""
    value = values[end - 1]
    if code == 2 and allowed[1]:
        code, value = 1, -value
    elif code == 4 and allowed[3]:
        code, value = 3, 1.0 / value
    if ((code == 1 or code == 2) and value == 0.0) or ((code == 3 or code == 4) and value == 1.0):
        return end - 1
    if code == 3 and value == 0.0:
        codes[first] = 0
        values[first] = 0.0
        return first + 1
    if code == 5:
        if value == 1.0:
            return end - 1
        if value == 2.0 and allowed[7]:
            return _close_unary(codes, values, first, end - 1, 7, allowed)
        if value == 0.5 and allowed[12]:
            return _close_unary(codes, values, first, end - 1, 12, allowed)
    if (code == 1 or code == 3) and codes[end - 2] == code and codes[end - 3] == 0:
        values[end - 3] = scalar_binary(code, values[end - 3], value)
        return end - 1
    values[end - 1] = value
    return _push(codes, values, end, code, 0.0)


@kernel
def _close_binary(
    codes: Codes, values: Floats, first: int, middle: int, end: int, code: int, allowed: Integers
) -> int:
    """Put an operator on top of two finished operands; return the new end."""
    if (code == 1 or code == 3) and _comes_later(codes, first, middle, end):
        _exchange(codes, values, first, middle, end)
        middle = first + end - middle
    is_left_constant = codes[middle - 1] == 0 and middle - first == 1
    is_right_constant = codes[end - 1] == 0 and end - middle == 1
    if is_right_constant:
        if is_left_constant:
            values[first] = scalar_binary(code, values[first], values[middle])
            return first + 1
        return _close_with_constant(codes, values, first, end, code, allowed)
    if _same(codes, values, first, middle, end):
        if code == 2 or code == 4:
            codes[first] = 0
            values[first] = 0.0 if code == 2 else 1.0
            return first + 1
        if code == 1 and allowed[3]:
            end = _push(codes, values, middle, 0, 2.0)
            return _push(codes, values, end, 3, 0.0)
        if code == 3 and allowed[7]:
            return _close_unary(codes, values, first, middle, 7, allowed)
    outer = 3 if code == 4 else code
    if code == 1 or code == 3 or code == 4:
        # A constant next to the operator moves outwards, to meet the linear coefficients at the top.
        if codes[end - 1] == outer and codes[end - 2] == 0 and end - middle > 2:
            value = values[end - 2] if code != 4 else 1.0 / values[end - 2]
            end = _push(codes, values, end - 2, code, 0.0)
            return _close_with_constant(
                codes, values, first, _push(codes, values, end, 0, value), outer, allowed
            )
        if codes[middle - 1] == outer and codes[middle - 2] == 0 and middle - first > 2:
            value = values[middle - 2]
            for i in range(middle, end):
                codes[i - 2] = codes[i]
                values[i - 2] = values[i]
            end = _push(codes, values, end - 2, code, 0.0)
            return _close_with_constant(
                codes, values, first, _push(codes, values, end, 0, value), outer, allowed
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
