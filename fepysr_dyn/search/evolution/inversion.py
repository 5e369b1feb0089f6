"""What a subtree would have to be for the whole to fit."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.jit import kernel

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

_TWO_PI = 2.0 * math.pi


@kernel
def _nearest_turn(angle: float, current: float) -> float:
    return angle + _TWO_PI * math.floor((current - angle) / _TWO_PI + 0.5)


@kernel
def invert_unary(code: int, t: float, current: float) -> float:
    """Return the operand that gives `t` on the branch nearest to the current one; NaN if there is none."""
    if code == op.NEG:
        return -t
    if code == op.SQUARE:
        return math.copysign(math.sqrt(t), current) if t >= 0.0 else np.nan
    if code == op.CUBE:
        return math.copysign(abs(t) ** (1.0 / 3.0), t)
    if code == op.INV:
        return 1.0 / t
    if code == op.EXP:
        return math.log(t) if t > 0.0 else np.nan
    if code == op.LOG:
        return math.exp(t)
    if code == op.SQRT:
        return t * t if t >= 0.0 else np.nan
    if code == op.ABS:
        return math.copysign(t, current) if t >= 0.0 else np.nan
    if code == op.SIN or code == op.COS:
        if abs(t) > 1.0:
            return np.nan
        if code == op.SIN:
            angle = math.asin(t)
            first, second = _nearest_turn(angle, current), _nearest_turn(math.pi - angle, current)
        else:
            angle = math.acos(t)
            first, second = _nearest_turn(angle, current), _nearest_turn(-angle, current)
        return first if abs(first - current) <= abs(second - current) else second
    if code == op.TAN:
        angle = math.atan(t)
        return angle + math.pi * math.floor((current - angle) / math.pi + 0.5)
    if code == op.TANH:
        return math.atanh(t) if abs(t) < 1.0 else np.nan
    if code == op.SINH:
        return math.asinh(t)
    if code == op.COSH:
        return math.copysign(math.acosh(t), current) if t >= 1.0 else np.nan
    if code == op.ATAN:
        return math.tan(t) if abs(t) < 1.57 else np.nan
    return np.nan


@kernel
def slope_unary(code: int, x: float) -> float:
    """Return the derivative of an operator at one number."""
    if code == op.NEG:
        return -1.0
    if code == op.SQUARE:
        return 2.0 * x
    if code == op.CUBE:
        return 3.0 * x * x
    if code == op.INV:
        return -1.0 / (x * x)
    if code == op.EXP:
        return math.exp(x)
    if code == op.LOG:
        return 1.0 / x
    if code == op.SQRT:
        return 0.5 / math.sqrt(x) if x > 0.0 else 0.0
    if code == op.ABS:
        return 1.0
    if code == op.SIN:
        return math.cos(x)
    if code == op.COS:
        return math.sin(x)
    if code == op.TAN:
        return 1.0 / math.cos(x) ** 2
    if code == op.TANH:
        return 1.0 / math.cosh(x) ** 2
    if code == op.SINH:
        return math.cosh(x)
    if code == op.COSH:
        return math.sinh(x)
    if code == op.ATAN:
        return 1.0 / (1.0 + x * x)
    return 0.0


@kernel
def invert_binary(code: int, is_left: bool, t: float, other: float) -> float:
    """Return the operand on one side that gives `t` with the other operand; NaN if there is none."""
    if code == op.ADD:
        return t - other
    if code == op.SUB:
        return t + other if is_left else other - t
    if code == op.MUL:
        return t / other
    if code == op.DIV:
        return t * other if is_left else other / t
    if is_left:
        return float(t ** (1.0 / other)) if t > 0.0 else np.nan
    return math.log(t) / math.log(other) if t > 0.0 and other > 0.0 else np.nan


@kernel
def slope_binary(code: int, is_left: bool, x: float, other: float) -> float:
    """Return the derivative by the operand `x` on one side."""
    if code == op.ADD or code == op.SUB:
        return 1.0
    if code == op.MUL:
        return other
    if code == op.DIV:
        return 1.0 / other if is_left else other / (x * x)
    if is_left:
        return float(other * x ** (other - 1.0))
    return float(other**x * math.log(other))


@kernel
def invert_path(
    codes: Codes, sizes: Integers, root: int, node: int, tape: Floats, wanted: Floats, weights: Floats
) -> int:
    """Carry the wanted values from a root down to a node, in place; return the rows where that was possible.

    The weights become the influence of the node on the whole, taken at the wanted values.
    """
    rows = wanted.shape[0]
    place = root
    while place != node:
        code = codes[place]
        right = place - 1
        if code >= op.NEG:
            for r in range(rows):
                wanted[r] = invert_unary(code, wanted[r], tape[right, r])
                weights[r] *= abs(slope_unary(code, wanted[r]))
            place = right
            continue
        left = right - sizes[right]
        is_left = node <= left
        other = right if is_left else left
        for r in range(rows):
            wanted[r] = invert_binary(code, is_left, wanted[r], tape[other, r])
            weights[r] *= abs(slope_binary(code, is_left, wanted[r], tape[other, r]))
        place = left if is_left else right
    usable = 0
    for r in range(rows):
        if abs(wanted[r]) < 1e100 and 0.0 < weights[r] < 1e100:
            usable += 1
        else:
            wanted[r] = 0.0
            weights[r] = 0.0
    return usable
