"""Kernels called through pointers, so that each is compiled once.

A compiled function contains a copy of every function it calls by name. The loop of an epoch calls all the
others; through pointers it stays small and compiles in a fraction of the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import typeof, types


class Pointer(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A compiled kernel as a value with a known signature."""

    def __init__(self, function: Any, *examples: object) -> None:
        arguments = tuple(typeof(example) for example in examples)
        function.compile(arguments)
        self._compiled = function.overloads[arguments]

    def __wrapper_address__(self) -> int:
        name = self._compiled.fndesc.llvm_cfunc_wrapper_name
        return int(self._compiled.library.get_pointer_to_function(name))

    def signature(self) -> Any:
        """Return the types of the arguments and the result."""
        return self._compiled.signature


class Kernels(NamedTuple):
    """What the loop of an epoch calls."""

    fit: Any
    propose: Any
    mutate: Any
    normalise: Any
