"""The one way kernels are compiled here: on first use, kept on disk, without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])

#: Sums may be reordered so that they vectorise; NaN and infinity keep their meaning, as they decide validity.
_SAFE_FAST = {"reassoc", "nsz", "contract"}


def kernel(function: Function) -> Function:
    """Compile a function when it is first called."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_SAFE_FAST)(function)
    return cast("Function", compiled)
