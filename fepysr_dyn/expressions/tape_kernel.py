"""The compiled loop over a tape; importing this module loads numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from fepysr_dyn.expressions import tape as codes
from fepysr_dyn.expressions.tape import Array, Codes

ADD, MULTIPLY, DIVIDE = codes.ADD, codes.MULTIPLY, codes.DIVIDE
POWER, INTEGER_POWER = codes.POWER, codes.INTEGER_POWER
EXP, LOG, SQRT, SIN, COS, TAN = codes.EXP, codes.LOG, codes.SQRT, codes.SIN, codes.COS, codes.TAN
TANH, SINH, COSH, ATAN, ABS, SIGN = codes.TANH, codes.SINH, codes.COSH, codes.ATAN, codes.ABS, codes.SIGN
MINIMUM, MAXIMUM, LESS, LESS_EQUAL = codes.MINIMUM, codes.MAXIMUM, codes.LESS, codes.LESS_EQUAL
BOTH, EITHER, CHOOSE = codes.BOTH, codes.EITHER, codes.CHOOSE


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _unary(code: int, x: float) -> float:
    if code == EXP:
        return math.exp(x) if x < 709.0 else np.inf
    if code == LOG:
        return math.log(x) if x > 0.0 else (-np.inf if x == 0.0 else np.nan)
    if code == SQRT:
        return math.sqrt(x) if x >= 0.0 else np.nan
    if code == SIN:
        return math.sin(x) if abs(x) < np.inf else np.nan
    if code == COS:
        return math.cos(x) if abs(x) < np.inf else np.nan
    if code == TAN:
        return math.tan(x) if abs(x) < np.inf else np.nan
    if code == TANH:
        return math.tanh(x)
    if code == SINH:
        return math.sinh(x) if abs(x) < 709.0 else np.nan
    if code == COSH:
        return math.cosh(x) if abs(x) < 709.0 else np.inf
    if code == ATAN:
        return math.atan(x)
    if code == ABS:
        return abs(x)
    if code == SIGN:
        return (1.0 if x > 0.0 else 0.0) - (1.0 if x < 0.0 else 0.0)
    return np.nan


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _integer_power(x: float, exponent: int) -> float:
    result, factor = 1.0, x
    while exponent > 0:
        if exponent & 1:
            result *= factor
        factor *= factor
        exponent >>= 1
    return result


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _operation(code: int, x: float, y: float, z: float) -> float:
    if code == ADD:
        value = x + y
    elif code == MULTIPLY:
        value = x * y
    elif code == DIVIDE:
        value = x / y
    elif code == INTEGER_POWER:
        value = _integer_power(x, int(y))
    elif code == POWER:
        value = x**y if x >= 0.0 or y == math.floor(y) else np.nan
    elif code < MINIMUM:
        value = _unary(code, x)
    elif code == MINIMUM:
        value = min(x, y)
    elif code in (MAXIMUM, EITHER):
        value = max(x, y)
    elif code == LESS:
        value = 1.0 if x < y else 0.0
    elif code == LESS_EQUAL:
        value = 1.0 if x <= y else 0.0
    elif code == BOTH:
        value = x * y
    else:
        value = y if x > 0.0 else z
    return value


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def run_tape(operations: Codes, first_result: int, registers: Array) -> None:
    """Carry out all operations on registers whose variables and constants are filled in."""
    for i in range(operations.shape[0]):
        operation = operations[i]
        registers[first_result + i] = _operation(
            operation[0], registers[operation[1]], registers[operation[2]], registers[operation[3]]
        )


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def run_tape_on_lanes(operations: Codes, first_result: int, registers: Array) -> None:
    """Carry out all operations on many rows of numbers at once, registers of shape (registers, lanes).

    Each operation is looked up once for all lanes, and the common ones are loops that a processor does
    several lanes at a time.
    """
    lanes = registers.shape[1]
    for i in range(operations.shape[0]):
        code = operations[i, 0]
        x = registers[operations[i, 1]]
        y = registers[operations[i, 2]]
        value = registers[first_result + i]
        if code == ADD:
            for lane in range(lanes):
                value[lane] = x[lane] + y[lane]
        elif code == MULTIPLY:
            for lane in range(lanes):
                value[lane] = x[lane] * y[lane]
        elif code == DIVIDE:
            for lane in range(lanes):
                value[lane] = x[lane] / y[lane]
        elif code == INTEGER_POWER and y[0] == 2.0:
            for lane in range(lanes):
                value[lane] = x[lane] * x[lane]
        else:
            z = registers[operations[i, 3]]
            for lane in range(lanes):
                value[lane] = _operation(code, x[lane], y[lane], z[lane])
