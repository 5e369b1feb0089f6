"""Whether a formula holds beyond the rows its constants were fitted on.

A series reaches any accuracy where it was fitted and leaves the truth just outside. So each variable has its
largest and its smallest values kept out of the fit in turn, and the formula must foretell them. Where the
variables move so little that a polynomial does as well, nothing can be told in this way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.expressions import free_constants
from fepysr_dyn.search.library import largest_degree
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.refit import ConstantFitter
from fepysr_dyn.search.rows import row_weights
from fepysr_dyn.search.spans import all_exponents

#: Share of a variable's range that is foretold, and how much worse than the resolution that may be: constants
#: from fewer rows are less certain, too.
_OUTSIDE = 0.25
_WORSE = 30.0
#: The polynomial that must do worse, and by how much.
_SERIES_TERMS = 80
_SERIES_DEGREE = 8
_SERIES_WORSE = 100.0
#: A variable with fewer levels than this, as a stimulus may have, has its outermost ones kept out;
_LEVELS = 12
#: with fewer than this, what is left would say nothing.
_FEWEST_LEVELS = 4
#: Constants are moved before each fit, by this share or by so many times the resolution if that is more:
#: those that the inner rows leave open do not return.
_MOVED = 1e-6
_MOVED_RESOLUTIONS = 1e3


def foretells(expression: sympy.Expr, problem: RegressionProblem, resolution: float) -> bool:
    """Return whether constants from inner rows give the outer ones to about the resolution.

    Parameters
    ----------
    resolution : float
        Error of the target relative to its scale.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> x = np.linspace(0, 1, 40)
    >>> problem = RegressionProblem({"x": x}, 2.5 * x / (0.3 + x))
    >>> foretells(parse("2.5*x/(0.3 + x)"), problem, 1e-11)
    True
    >>> foretells(parse("8.0*x - 20.0*x**2 + 24.0*x**3 - 10.0*x**4"), problem, 1e-2)
    False
    """
    if problem.measurement is not None:
        return False
    template = free_constants(expression)
    used = [name for name in problem.names if sympy.Symbol(name) in expression.free_symbols]
    splits = [split for name in used for split in _outer_rows(np.asarray(problem.columns[name]))]
    if not splits or _is_series(problem, used, resolution):
        return False
    share = max(_MOVED, _MOVED_RESOLUTIONS * resolution)
    for outside in splits:
        inner, outer = _rows(problem, ~outside), _rows(problem, outside)
        if len(template.values) >= len(inner.target):
            return False
        values = np.array(template.values)
        if len(values):
            moved = values * (1 + share * (-1.0) ** np.arange(len(values)))
            values = ConstantFitter(template, inner).fit(moved).values
        # Losses are relative to the scale of their own rows.
        error = np.sqrt(ConstantFitter(template, outer).loss(values)) * outer.scale / problem.scale
        if not error <= _WORSE * resolution:
            return False
    return True


def _is_series(problem: RegressionProblem, used: list[str], resolution: float) -> bool:
    """Return whether a whole polynomial follows the target about as well as its resolution."""
    columns = [np.asarray(problem.columns[name]) for name in used]
    scaled = [(c - np.mean(c)) / (float(np.max(np.abs(c - np.mean(c)))) or 1.0) for c in columns]
    degree = largest_degree(len(used), min(_SERIES_TERMS, len(problem.target) // 3), _SERIES_DEGREE)
    terms = np.column_stack(
        [
            np.prod([c**k for c, k in zip(scaled, e, strict=True)], axis=0)
            for e in all_exponents(len(used), degree)
        ]
    )
    weights = row_weights(problem)[:, None]
    left = (
        problem.target
        - terms @ np.linalg.lstsq(terms * weights, problem.target * weights[:, 0], rcond=None)[0]
    )
    reached = float(np.sqrt(np.mean((left * weights[:, 0]) ** 2))) / problem.scale
    return reached <= _SERIES_WORSE * resolution


def _outer_rows(values: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    """Return the rows with the largest and those with the smallest values of a variable."""
    levels = np.unique(values)
    if len(levels) < _FEWEST_LEVELS:
        return []
    if len(levels) < _LEVELS:
        return [values == levels[-1], values == levels[0]]
    # By range and not by rows: a trajectory may rest most of the time, and then hardly anything is outside.
    low, high = levels[0] + np.array([_OUTSIDE, 1 - _OUTSIDE]) * (levels[-1] - levels[0])
    return [values > high, values < low]


def _rows(problem: RegressionProblem, chosen: NDArray[np.bool_]) -> RegressionProblem:
    return replace(
        problem,
        columns={name: np.asarray(values)[chosen] for name, values in problem.columns.items()},
        target=problem.target[chosen],
        weights=None if problem.weights is None else problem.weights[chosen],
    )
