"""Scores of found equations against true ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from fepysr_dyn.expressions import canonical, constants_for, equivalent, free_constants, same_structure
from fepysr_dyn.expressions.equivalence import Box
from fepysr_dyn.system import OdeSystem


@dataclass(frozen=True)
class StructureScore:
    """One equation against the truth.

    Parameters
    ----------
    recovered : bool
        Equal to the truth as a function.
    same_structure : bool
        Equal for some values of the found constants.
    precision, recall : float
        Shares of the found terms that the truth has, and of the true terms that were found, coefficients
        aside.
    constants_error : float or None
        Largest relative error of a constant; None where the structure differs.
    """

    recovered: bool
    same_structure: bool
    precision: float
    recall: float
    constants_error: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        return dict(vars(self))


#: Relative difference up to which two functions are equal near the data, and far from them.
_EQUAL = 1e-7
_EQUAL_FAR = 1e-5


def equal_beyond(
    found: sympy.Expr, truth: sympy.Expr, box: Box, far: Box | None, *, rtol: float = _EQUAL
) -> bool:
    """Return whether two functions are equal on a box and, where one is given, on a far box as well.

    Along a short trajectory a polynomial of degree five follows a logistic function to rounding, and to nine
    digits on a box twice as wide. Far away no series follows another function.
    """
    if not equivalent(found, truth, box, rtol=rtol):
        return False
    return far is None or equivalent(found, truth, far, rtol=_EQUAL_FAR)


def structure_scores(
    found: OdeSystem, truth: OdeSystem, box: Box, far: Box | None = None
) -> dict[str, StructureScore]:
    """Compare each equation of a system with the truth."""
    found_rates, true_rates = found.explicit_rates(), truth.explicit_rates()
    return {
        state: structure_score(found_rates[state], true_rates[state], box, far)
        for state in truth.states
        if state in found_rates
    }


def structure_score(found: sympy.Expr, truth: sympy.Expr, box: Box, far: Box | None = None) -> StructureScore:
    """Compare one right-hand side with the true one on a box and far beyond it."""
    found_terms, true_terms = _terms(found), _terms(truth)
    common = found_terms & true_terms
    recovered = equal_beyond(found, truth, box, far)
    return StructureScore(
        recovered,
        recovered or same_structure(found, truth, far or box),
        1.0 if recovered else len(common) / max(1, len(found_terms)),
        1.0 if recovered else len(common) / max(1, len(true_terms)),
        _constants_error(found, truth, far or box),
    )


def _constants_error(found: sympy.Expr, truth: sympy.Expr, box: Box) -> float | None:
    """Return the largest relative error of a constant against the values that make the equations equal."""
    values = constants_for(found, truth, box)
    if values is None:
        # Without constants there is nothing to be wrong about.
        return 0.0 if equivalent(found, truth, box) else None
    own, right = values
    return float(np.max(np.abs(own - right) / np.abs(right)))


def _terms(expression: sympy.Expr) -> set[sympy.Expr]:
    """Return the terms of the expanded expression without their coefficients."""
    expanded = canonical(sympy.nsimplify(expression, rational=False) if expression.is_number else expression)
    terms = set()
    for term in sympy.Add.make_args(expanded):
        _, rest = term.as_coeff_Mul()
        terms.add(free_constants(rest, prefix="constant_").expression)
    return terms
