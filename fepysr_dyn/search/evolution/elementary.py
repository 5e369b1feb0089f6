"""Exponential, sine and cosine of whole blocks, written so that they compile to vector instructions.

The C library takes one number at a time. These take four or more, to within an ulp or two: argument reduction
by Cody and Waite, minimax polynomials as in fdlibm. Blocks with arguments that are huge or not finite go to
the C library.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from fepysr_dyn.search.evolution.jit import kernel

Floats = NDArray[np.float64]

#: Adding this rounds to an integer and leaves it in the low bits of the sum.
_MAGIC = 6755399441055744.0
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_TWO_OVER_PI = 0.6366197723675814
_PI2_1, _PI2_2, _PI2_3 = 1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21
_LARGEST_ANGLE, _LARGEST_EXPONENT = 1e5, 700.0


@intrinsic  # type: ignore[untyped-decorator]
def _bits(context: Any, value: Any) -> Any:
    """Read the bits of a float as an integer."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _float(context: Any, value: Any) -> Any:
    """Read an integer as the bits of a float."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


# Rounding by a magic number must not be reordered away.
_exact = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@kernel
def _is_within(a: Floats, limit: float) -> bool:
    """Return whether all are at most `limit` in size; NaN is not."""
    outside = 0
    for r in range(a.shape[0]):
        outside += 0 if abs(a[r]) <= limit else 1
    return outside == 0


@_exact  # type: ignore[untyped-decorator]
def _exp_block(a: Floats, out: Floats) -> None:
    for r in range(a.shape[0]):
        shifted = a[r] * _LOG2_E + _MAGIC
        k = shifted - _MAGIC
        x = (a[r] - k * _LN2_HIGH) - k * _LN2_LOW
        p = 1.0 / 6227020800.0
        p = p * x + 1.0 / 479001600.0
        p = p * x + 1.0 / 39916800.0
        p = p * x + 1.0 / 3628800.0
        p = p * x + 1.0 / 362880.0
        p = p * x + 1.0 / 40320.0
        p = p * x + 1.0 / 5040.0
        p = p * x + 1.0 / 720.0
        p = p * x + 1.0 / 120.0
        p = p * x + 1.0 / 24.0
        p = p * x + 1.0 / 6.0
        p = p * x + 0.5
        p = p * x + 1.0
        p = p * x + 1.0
        out[r] = p * _float((_bits(shifted) + 1023) << 52)


@_exact  # type: ignore[untyped-decorator]
def _wave_block(a: Floats, out: Floats, turn: int) -> None:
    """Write the sine of an angle plus `turn` quarter turns."""
    for r in range(a.shape[0]):
        shifted = a[r] * _TWO_OVER_PI + _MAGIC
        q = shifted - _MAGIC
        quarter = _bits(shifted) + turn
        x = ((a[r] - q * _PI2_1) - q * _PI2_2) - q * _PI2_3
        z = x * x
        s = 1.58969099521155010221e-10
        s = s * z - 2.50507602534068634195e-08
        s = s * z + 2.75573137070700676789e-06
        s = s * z - 1.98412698298579493134e-04
        s = s * z + 8.33333333332248946124e-03
        s = s * z - 1.66666666666666324348e-01
        s = x + x * z * s
        c = -1.13596475577881948265e-11
        c = c * z + 2.08757232129817482790e-09
        c = c * z - 2.75573143513906633035e-07
        c = c * z + 2.48015872894767294178e-05
        c = c * z - 1.38888888888741095749e-03
        c = c * z + 4.16666666666666019037e-02
        c = 1.0 - 0.5 * z + z * z * c
        value = c if quarter & 1 else s
        out[r] = -value if quarter & 2 else value


@kernel
def exp_of(a: Floats, out: Floats) -> None:
    """Write the exponential of a block."""
    if _is_within(a, _LARGEST_EXPONENT):
        _exp_block(a, out)
    else:
        for r in range(a.shape[0]):
            out[r] = math.exp(a[r])


@kernel
def sin_of(a: Floats, out: Floats) -> None:
    """Write the sine of a block."""
    if _is_within(a, _LARGEST_ANGLE):
        _wave_block(a, out, 0)
    else:
        for r in range(a.shape[0]):
            out[r] = math.sin(a[r])


@kernel
def cos_of(a: Floats, out: Floats) -> None:
    """Write the cosine of a block."""
    if _is_within(a, _LARGEST_ANGLE):
        _wave_block(a, out, 1)
    else:
        for r in range(a.shape[0]):
            out[r] = math.cos(a[r])
