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
    if code == op.NEG:
        for r in range(n):
            out[r] = -a[r]
    elif code == op.SQUARE:
        for r in range(n):
            out[r] = a[r] * a[r]
    elif code == op.CUBE:
        for r in range(n):
            out[r] = a[r] * a[r] * a[r]
    elif code == op.INV:
        for r in range(n):
            out[r] = 1.0 / a[r]
    elif code == op.EXP:
        exp_of(a, out)
    elif code == op.LOG:
        for r in range(n):
            out[r] = math.log(a[r])
    elif code == op.SQRT:
        for r in range(n):
            out[r] = math.sqrt(a[r])
    elif code == op.ABS:
        for r in range(n):
            out[r] = abs(a[r])
    elif code == op.SIGN:
        for r in range(n):
            out[r] = np.sign(a[r])
    elif code == op.SIN:
        sin_of(a, out)
    elif code == op.COS:
        cos_of(a, out)
    elif code == op.TAN:
        for r in range(n):
            out[r] = math.tan(a[r])
    elif code == op.TANH:
        for r in range(n):
            out[r] = math.tanh(a[r])
    elif code == op.SINH:
        for r in range(n):
            out[r] = math.sinh(a[r])
    elif code == op.COSH:
        for r in range(n):
            out[r] = math.cosh(a[r])
    else:
        for r in range(n):
            out[r] = math.atan(a[r])


@kernel
def apply_binary(code: int, a: Floats, b: Floats, out: Floats) -> None:
    """Write an operator of two blocks of operands."""
    n = out.shape[0]
    if code == op.ADD:
        for r in range(n):
            out[r] = a[r] + b[r]
    elif code == op.SUB:
        for r in range(n):
            out[r] = a[r] - b[r]
    elif code == op.MUL:
        for r in range(n):
            out[r] = a[r] * b[r]
    elif code == op.DIV:
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
        elif code == op.CONSTANT:
            value = values[i]
            for r in range(m):
                out[r] = value
        elif code <= op.POW:
            right = i - 1
            apply_binary(code, tape[right - sizes[right]][:m], tape[right][:m], out)
        else:
            apply_unary(code, tape[i - 1][:m], out)
    return m
