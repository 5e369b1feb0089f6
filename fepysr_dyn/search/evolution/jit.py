"""The one way kernels are compiled here: on first use, kept on disk, without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba import types

Function = TypeVar("Function", bound=Callable[..., object])

#: Sums may be reordered so that they vectorise; NaN and infinity keep their meaning, as they decide validity.
_SAFE_FAST = {"reassoc", "nsz", "contract"}


def kernel(function: Function) -> Function:
    """Compile a function when it is first called."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_SAFE_FAST)(function)
    find = compiled.get_call_template

    def find_general(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return find(tuple(_general(argument) for argument in arguments), keywords)

    # Without this, numba compiles one version per literal argument and width of integer.
    compiled.get_call_template = find_general
    return cast("Function", compiled)


def _general(argument: Any) -> Any:
    """Return the type of a number without its value and width."""
    plain = types.unliteral(argument)
    return types.int64 if isinstance(plain, types.Integer) and plain.signed else plain
