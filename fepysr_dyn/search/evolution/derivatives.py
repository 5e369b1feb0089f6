"""Reverse-mode derivatives of programs, block by block like their evaluation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution.elementary import cos_of, sin_of
from fepysr_dyn.search.evolution.jit import kernel

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]


@kernel
def backward_unary(code: int, a: Floats, value: Floats, up: Floats, down: Floats) -> None:
    """Pass the derivative of a block through an operator of one operand."""
    n = a.shape[0]
    if code == 15 or code == 16:
        if code == 15:
            cos_of(a, down)
        else:
            sin_of(a, down)
        sign = 1.0 if code == 15 else -1.0
        for r in range(n):
            down[r] *= sign * up[r]
        return
    for r in range(n):
        x = a[r]
        if code == 6:
            slope = -1.0
        elif code == 7:
            slope = 2.0 * x
        elif code == 8:
            slope = 3.0 * x * x
        elif code == 9:
            slope = -value[r] * value[r]
        elif code == 10:
            slope = value[r]
        elif code == 11:
            slope = 1.0 / x
        elif code == 12:
            slope = 0.5 / value[r]
        elif code == 13:
            slope = np.sign(x)
        elif code == 14:
            slope = 0.0
        elif code == 17:
            slope = 1.0 + value[r] * value[r]
        elif code == 18:
            slope = 1.0 - value[r] * value[r]
        elif code == 19:
            slope = math.cosh(x)
        elif code == 20:
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
        if code == 1:
            left[r] = up[r]
            right[r] = up[r]
        elif code == 2:
            left[r] = up[r]
            right[r] = -up[r]
        elif code == 3:
            left[r] = up[r] * b[r]
            right[r] = up[r] * a[r]
        elif code == 4:
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
        if code == 0 or code >= 32:
            continue
        right = i - 1
        if code >= 6:
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
