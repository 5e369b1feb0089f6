"""Large expressions as functions of plain floats without generating code for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import sympy

from fepysr_dyn.expressions.tape import record


def compile_taped(
    expressions: Sequence[sympy.Expr], variables: Sequence[str]
) -> Callable[..., Sequence[float]]:
    """Return a function of plain floats giving all expressions at once, ready within milliseconds.

    For hundreds of terms, where printing and compiling Python code takes seconds; it loads numba. Where
    `compile_scalar` raises, this returns a number that is not finite.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> [float(value) for value in compile_taped([x**2, 1 / x], ["x"])(0.5)]
    [0.25, 2.0]
    """
    from fepysr_dyn.expressions.tape_kernel import run_tape

    tape = record(expressions, variables)
    count = len(tape.variables)
    blank = np.zeros(tape.registers)
    blank[count : tape.first_result] = tape.constants

    def evaluate(*values: float) -> Sequence[float]:
        registers = blank.copy()
        registers[:count] = values
        run_tape(tape.operations, tape.first_result, registers)
        results: Sequence[float] = registers[tape.outputs].tolist()
        return results

    return evaluate
