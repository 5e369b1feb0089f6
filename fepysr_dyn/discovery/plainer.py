"""Plainer formulas near a given one: without one of its terms, or without one of its functions."""

from __future__ import annotations

from collections.abc import Iterator

import sympy


def plainer_rates(rate: sympy.Expr) -> Iterator[sympy.Expr]:
    """Yield what a rate becomes without one of its terms, and with a function replaced by its argument.

    A search that fits noisy rates may add a term that does nearly nothing, or bend a line that the data
    leave straight; a trajectory tells whether the formula needs it.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> [str(plainer) for plainer in plainer_rates(parse("x*(0.3*y + 0.1*z)"))]
    ['0.3*x*y', '0.1*x*z']
    >>> [str(plainer) for plainer in plainer_rates(parse("0.5*tanh(x - y)"))]
    ['0.5*x - 0.5*y']
    """
    # Sorted, because sympy's own order may differ from process to process.
    for factor in sorted(sympy.Mul.make_args(rate), key=str):
        terms = sorted(sympy.Add.make_args(factor), key=str)
        if len(terms) > 1:
            yield from (rate.xreplace({factor: factor - term}) for term in terms)
    for call in sorted(rate.atoms(sympy.sin, sympy.tanh, sympy.Abs), key=str):
        yield rate.xreplace({call: call.args[0]})
        if isinstance(call, sympy.Abs):
            yield rate.xreplace({call: -call.args[0]})
