"""Reverse-mode derivatives of programs, block by block like their evaluation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.elementary import cos_of, sin_of
from fepysr_dyn.search.evolution.jit import kernel

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]


@kernel
def backward_unary(code: int, a: Floats, value: Floats, up: Floats, down: Floats) -> None:
    """Pass the derivative of a block through an operator of one operand."""
    n = a.shape[0]
    if code == op.SIN or code == op.COS:
        if code == op.SIN:
            cos_of(a, down)
        else:
            sin_of(a, down)
        sign = 1.0 if code == op.SIN else -1.0
        for r in range(n):
            down[r] *= sign * up[r]
        return
    for r in range(n):
        x = a[r]
        if code == op.NEG:
            slope = -1.0
        elif code == op.SQUARE:
            slope = 2.0 * x
        elif code == op.CUBE:
            slope = 3.0 * x * x
        elif code == op.INV:
            slope = -value[r] * value[r]
        elif code == op.EXP:
            slope = value[r]
        elif code == op.LOG:
            slope = 1.0 / x
        elif code == op.SQRT:
            slope = 0.5 / value[r]
        elif code == op.ABS:
            slope = np.sign(x)
        elif code == op.SIGN:
            slope = 0.0
        elif code == op.TAN:
            slope = 1.0 + value[r] * value[r]
        elif code == op.TANH:
            slope = 1.0 - value[r] * value[r]
        elif code == op.SINH:
            slope = math.cosh(x)
        elif code == op.COSH:
            slope = math.sinh(x)
        else:
            slope = 1.0 / (1.0 + x * x)
        down[r] = up[r] * slope


@kernel
def backward_binary(
    code: int, a: Floats, b: Floats, value: Floats, up: Floats, left: Floats, right: Floats
) -> None:
    """Pass the derivative of a block through an operator of two operands."""
    for r in range(a.shape[0]):
        if code == op.ADD:
            left[r] = up[r]
            right[r] = up[r]
        elif code == op.SUB:
            left[r] = up[r]
            right[r] = -up[r]
        elif code == op.MUL:
            left[r] = up[r] * b[r]
            right[r] = up[r] * a[r]
        elif code == op.DIV:
            left[r] = up[r] / b[r]
            right[r] = -up[r] * value[r] / b[r]
        else:
            left[r] = up[r] * b[r] * a[r] ** (b[r] - 1.0)
            # At a base of zero the limit is zero for positive exponents.
            right[r] = up[r] * value[r] * math.log(a[r]) if a[r] != 0.0 else 0.0


@kernel
def backward(codes: Codes, sizes: Integers, root: int, tape: Floats, adjoint: Floats, m: int) -> int:
    """Fill the derivatives of a root by all nodes under it from the values on the tape."""
    for r in range(m):
        adjoint[root, r] = 1.0
    for i in range(root, root - sizes[root], -1):
        code = codes[i]
        if code == op.CONSTANT or code >= op.FIRST_INPUT:
            continue
        right = i - 1
        if code >= op.NEG:
            backward_unary(code, tape[right][:m], tape[i][:m], adjoint[i][:m], adjoint[right][:m])
        else:
            left = right - sizes[right]
            backward_binary(
                code,
                tape[left][:m],
                tape[right][:m],
                tape[i][:m],
                adjoint[i][:m],
                adjoint[left][:m],
                adjoint[right][:m],
            )
    return m
