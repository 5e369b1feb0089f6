"""Evaluation of programs, block by block of rows so that all intermediate values stay in cache."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.elementary import cos_of, exp_of, sin_of
from fepysr_dyn.search.evolution.jit import kernel

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

_ARITY = op.ARITY
_FIRST_INPUT = op.FIRST_INPUT


@kernel
def arity(code: int) -> int:
    """Return the number of operands of a node."""
    return 0 if code >= _FIRST_INPUT else int(_ARITY[code])


@kernel
def subtree_sizes(codes: Codes, length: int, sizes: Integers) -> None:
    """Fill the number of nodes of the subtree that ends at each position."""
    for i in range(length):
        operands = arity(codes[i])
        if operands == 0:
            sizes[i] = 1
        elif operands == 1:
            sizes[i] = 1 + sizes[i - 1]
        else:
            right = sizes[i - 1]
            sizes[i] = 1 + right + sizes[i - 1 - right]


@kernel
def apply_unary(code: int, a: Floats, out: Floats) -> None:
    """Write an operator of one block of operands."""
    n = out.shape[0]
    if code == 6:
        for r in range(n):
            out[r] = -a[r]
    elif code == 7:
        for r in range(n):
            out[r] = a[r] * a[r]
    elif code == 8:
        for r in range(n):
            out[r] = a[r] * a[r] * a[r]
    elif code == 9:
        for r in range(n):
            out[r] = 1.0 / a[r]
    elif code == 10:
        exp_of(a, out)
    elif code == 11:
        for r in range(n):
            out[r] = math.log(a[r])
    elif code == 12:
        for r in range(n):
            out[r] = math.sqrt(a[r])
    elif code == 13:
        for r in range(n):
            out[r] = abs(a[r])
    elif code == 14:
        for r in range(n):
            out[r] = np.sign(a[r])
    elif code == 15:
        sin_of(a, out)
    elif code == 16:
        cos_of(a, out)
    elif code == 17:
        for r in range(n):
            out[r] = math.tan(a[r])
    elif code == 18:
        for r in range(n):
            out[r] = math.tanh(a[r])
    elif code == 19:
        for r in range(n):
            out[r] = math.sinh(a[r])
    elif code == 20:
        for r in range(n):
            out[r] = math.cosh(a[r])
    else:
        for r in range(n):
            out[r] = math.atan(a[r])


@kernel
def apply_binary(code: int, a: Floats, b: Floats, out: Floats) -> None:
    """Write an operator of two blocks of operands."""
    n = out.shape[0]
    if code == 1:
        for r in range(n):
            out[r] = a[r] + b[r]
    elif code == 2:
        for r in range(n):
            out[r] = a[r] - b[r]
    elif code == 3:
        for r in range(n):
            out[r] = a[r] * b[r]
    elif code == 4:
        for r in range(n):
            out[r] = a[r] / b[r]
    else:
        for r in range(n):
            out[r] = a[r] ** b[r]


@kernel
def forward(
    codes: Codes, values: Floats, sizes: Integers, span: tuple[int, int], X: Floats, low: int, tape: Floats
) -> int:
    """Fill the tape, one row a node, with the values of the nodes `span` on the data rows from `low` on."""
    m: int = min(tape.shape[1], X.shape[1] - low)
    for i in range(span[0], span[1]):
        code = codes[i]
        out = tape[i][:m]
        if code >= _FIRST_INPUT:
            column = X[code - _FIRST_INPUT]
            for r in range(m):
                out[r] = column[low + r]
        elif code == 0:
            value = values[i]
            for r in range(m):
                out[r] = value
        elif code <= 5:
            right = i - 1
            apply_binary(code, tape[right - sizes[right]][:m], tape[right][:m], out)
        else:
            apply_unary(code, tape[i - 1][:m], out)
    return m
