"""A random stream that lives in one integer, so that an island carries its own."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution.jit import kernel

Stream = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@kernel
def mix(z: np.uint64) -> np.uint64:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@kernel
def uniform(stream: Stream) -> float:
    """Draw from [0, 1)."""
    stream[0] += _STEP
    return float(mix(stream[0]) >> _11) * 1.1102230246251565e-16


@kernel
def below(stream: Stream, count: int) -> int:
    """Draw an integer from [0, count)."""
    return int(uniform(stream) * count)


@kernel
def normal(stream: Stream) -> float:
    """Draw from the standard normal distribution."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(stream)))
    return radius * math.cos(6.283185307179586 * uniform(stream))
