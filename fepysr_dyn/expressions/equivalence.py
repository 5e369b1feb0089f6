"""Whether two expressions are the same function, or the same structure with other constants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.expressions.canonical import canonical
from fepysr_dyn.expressions.compiling import compile_expression, free_constants

Box = Mapping[str, tuple[float, float]]
Array = NDArray[np.float64]

#: Points drawn for a numerical comparison, and the least number on which both sides must be finite.
_POINTS = 600
_LEAST_FINITE = 30
#: Constants that a refit multiplies by more than this were not estimates of what they become.
_RUNAWAY = 30.0


def equivalent(
    first: sympy.Expr, second: sympy.Expr, box: Box | None = None, *, rtol: float = 1e-5, seed: int = 0
) -> bool:
    """Return whether two expressions are equal as functions on a box.

    Compared symbolically first, then at random points. Points where either side is not finite are left
    out, and the largest 2 % of the differences are ignored, so that poles do not decide; `rtol` absorbs
    constants that differ in their last digits.

    Parameters
    ----------
    box : mapping of str to (low, high), optional
        Range of each variable, (-2, 2) where none is given.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> equivalent(sympy.sin(x) ** 2 + sympy.cos(x) ** 2, sympy.Integer(1))
    True
    """
    if canonical(first) == canonical(second):
        return True
    names, columns = _sample(first, second, box or {}, seed)
    left = compile_expression(first, names)(*columns)
    right = compile_expression(second, names)(*columns)
    return _agree(left, right, rtol, _rounding(first, names, columns) + _rounding(second, names, columns))


def same_structure(
    found: sympy.Expr, truth: sympy.Expr, box: Box | None = None, *, rtol: float = 1e-5, seed: int = 0
) -> bool:
    """Return whether `found` equals `truth` for some values of its floating-point constants.

    The constants of `found` are refitted to `truth` on the box. A term whose constant vanishes in that
    refit is one the truth does not have, so it counts against the structure, and so does one that would have
    to grow beyond all bounds.
    """
    if equivalent(found, truth, box, rtol=rtol, seed=seed):
        return True
    return constants_for(found, truth, box, rtol=rtol, seed=seed) is not None


def constants_for(
    found: sympy.Expr, truth: sympy.Expr, box: Box | None = None, *, rtol: float = 1e-5, seed: int = 0
) -> tuple[Array, Array] | None:
    """Return the floating-point constants of `found`, and the values with which it equals `truth`.

    None if there are no such values near its own, or no constants.
    """
    template = free_constants(found)
    if not template.values:
        return None
    from scipy.optimize import least_squares

    names, columns = _sample(found, truth, box or {}, seed)
    target = compile_expression(truth, names)(*columns)
    value, jacobian = template.functions(names)
    start = np.array(template.values)
    usable = np.isfinite(target) & np.isfinite(value(start, *columns))
    if usable.sum() < _LEAST_FINITE:
        return None
    rows = [column[usable] for column in columns]
    goal = target[usable]
    # Poles would dominate the fit: each point counts relative to its own size.
    size = np.abs(goal) + np.median(np.abs(goal)) + 1e-300

    def residual(theta: Array) -> Array:
        scaled = (value(theta, *rows) - goal) / size
        return np.where(np.isfinite(scaled), scaled, 1e6)

    def slope(theta: Array) -> Array:
        scaled = jacobian(theta, *rows) / size[:, None]
        return np.where(np.isfinite(scaled), scaled, 0.0)

    fit = least_squares(residual, start, jac=slope, method="trf", x_scale="jac", max_nfev=200)
    vanished = np.abs(fit.x) < 1e-6 * np.maximum(np.abs(start), 1e-6)
    # Where a term cannot vanish because its coefficient is one, all others grow instead.
    ran_away = np.abs(fit.x) > _RUNAWAY * np.maximum(np.abs(start), 1e-6)
    if np.any(vanished | ran_away):
        return None
    return (start, fit.x) if _agree(value(fit.x, *columns), target, rtol) else None


def _sample(first: sympy.Expr, second: sympy.Expr, box: Box, seed: int) -> tuple[list[str], list[Array]]:
    names = sorted(str(symbol) for symbol in first.free_symbols | second.free_symbols)
    random = np.random.default_rng(seed)
    columns = [random.uniform(*box.get(name, (-2.0, 2.0)), _POINTS) for name in names]
    return (names, columns) if names else (["_"], [np.zeros(_POINTS)])


def _rounding(expression: sympy.Expr, names: list[str], columns: list[Array]) -> Array | float:
    """Return how much cancellation between the terms of a sum may leave behind."""
    if not expression.is_Add:
        return 0.0
    sizes = [np.abs(compile_expression(term, names)(*columns)) for term in expression.args]
    return np.asarray(1e-12 * np.max(sizes, axis=0))


def _agree(left: Array, right: Array, rtol: float, rounding: Array | float = 0.0) -> bool:
    finite = np.isfinite(left) & np.isfinite(right)
    one_sided = np.isfinite(left) != np.isfinite(right)
    if finite.sum() < _LEAST_FINITE or one_sided.sum() > 0.02 * _POINTS:
        return False
    noise = np.broadcast_to(rounding, left.shape)[finite]
    left, right = left[finite], right[finite]
    scale = np.median(np.abs(right)) or np.median(np.abs(left))
    # What is left after subtracting the rounding of cancelled terms, such as sin² + cos² − 1.
    excess = np.maximum(np.abs(left - right) - noise, 0.0)
    difference = excess / (np.abs(right) + scale + 1e-300)
    return bool(np.quantile(difference, 0.98) <= rtol)
