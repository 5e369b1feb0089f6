"""Functions of one inner expression: where a formula has the inside right, the outside has one variable.

A search often finds what a law depends on long before it finds the law, and writes a long series in the right
inner expression instead. With that expression as the only column, what is outside is an easy problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import sympy

from fepysr_dyn.expressions import compile_expression, complexity
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.peeling import Rest
from fepysr_dyn.search.problem import Array, RegressionProblem

#: Formulas of the front that are looked into, and sizes of inner expressions.
_FORMULAS = 6
_SIZES = (2, 14)
#: A target is a function of a column if neighbours along it differ by less than this share of its variance.
_SMOOTH = 0.1
#: Rows whose factor is smaller than this share of the typical one say little about the quotient.
_SMALL = 0.1
#: A coefficient this close to a multiple of one half is taken for it.
_NEAR = 0.02


def inner_rests(front: ParetoFront, problem: RegressionProblem) -> Iterator[Rest]:
    """Yield problems of one column, those whose target is the smoothest function of it first.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> from fepysr_dyn.search.front import evaluate_candidate
    >>> x, y = np.random.default_rng(0).normal(size=(2, 80))
    >>> problem = RegressionProblem({"x": x, "y": y}, np.sqrt(1 + np.abs(x * y)) + np.sin(x))
    >>> series = parse("sin(x) + 1.01 + 0.3*abs(x*y) - 0.01*abs(x*y)**2")
    >>> front = ParetoFront.of([evaluate_candidate(series, problem, "example")])
    >>> next(inner_rests(front, problem)).part
    sin(x) + Abs(x*y)
    """
    if problem.measurement is not None:
        return
    column = _free_name(problem.names)
    found: dict[tuple[sympy.Expr, sympy.Expr, sympy.Expr], tuple[float, Rest]] = {}
    for candidate in list(reversed(front.candidates))[:_FORMULAS]:
        for inner in _inner_expressions(candidate.expression):
            for outside, factor in _splits(candidate.expression.xreplace({inner: column}), column):
                key = (inner, outside, factor)
                if key not in found:
                    ranked = _rest(problem, column, *key)
                    if ranked is not None:
                        found[key] = ranked
    for _, rest in sorted(found.values(), key=lambda pair: pair[0]):
        yield rest


def _free_name(names: tuple[str, ...]) -> sympy.Symbol:
    name = "inner"
    while name in names:
        name += "_"
    return sympy.Symbol(name)


def _inner_expressions(expression: sympy.Expr) -> list[sympy.Expr]:
    low, high = _SIZES
    nodes = {
        node
        for node in sympy.preorder_traversal(expression)
        if isinstance(node, sympy.Expr) and node.free_symbols and node != expression
    }
    sized = [node for node in nodes if low <= complexity(node) <= high]
    return sorted(sized, key=sympy.default_sort_key)


def _splits(expression: sympy.Expr, column: sympy.Symbol) -> Iterator[tuple[sympy.Expr, sympy.Expr]]:
    """Yield sums and factors without the column such that the formula is sum + factor * g(column)."""
    terms = sympy.Add.make_args(expression)
    own = [term for term in terms if column in term.free_symbols]
    others = [term for term in terms if column not in term.free_symbols and term.free_symbols]
    if not own:
        return
    factors = {_other_factors(term, column) for term in own}
    # A straight line in the column is no series for anything.
    if len(factors) != 1 or all(term.as_independent(column)[1] == column for term in own):
        return
    (factor,) = factors
    if column in factor.free_symbols:
        return
    outside = sympy.Add(*others)
    yield from dict.fromkeys([(_rounded(outside), factor), (outside, factor)])


def _other_factors(term: sympy.Expr, column: sympy.Symbol) -> sympy.Expr:
    """Return the factors of a term that are no functions of the column alone."""
    return sympy.Mul(*(f for f in sympy.Mul.make_args(term) if f.free_symbols and f.free_symbols != {column}))


def _rounded(outside: sympy.Expr) -> sympy.Expr:
    """Return a sum with coefficients that are almost multiples of one half made so."""
    terms = []
    for term in sympy.Add.make_args(outside):
        number, shape = term.as_coeff_Mul()
        half = sympy.Rational(round(2 * float(number)), 2)
        terms.append((half if half and abs(float(number - half)) <= _NEAR else number) * shape)
    return sympy.Add(*terms)


def _rest(
    problem: RegressionProblem,
    column: sympy.Symbol,
    inner: sympy.Expr,
    outside: sympy.Expr,
    factor: sympy.Expr,
) -> tuple[float, Rest] | None:
    along, sums, factors = (_values(part, problem) for part in (inner, outside, factor))
    with np.errstate(all="ignore"):
        target = (problem.target - sums) / factors
    weights = factors**2 if problem.weights is None else problem.weights * factors**2
    if not all(np.all(np.isfinite(values)) for values in (along, target, weights)) or np.min(weights) <= 0:
        return None
    telling = np.abs(factors) >= _SMALL * np.median(np.abs(factors))
    roughness = _roughness(along[telling], target[telling])
    if roughness > _SMOOTH:
        return None
    plain = factor == 1
    room = max(3, problem.max_complexity - complexity(outside) - complexity(factor))
    smaller = replace(
        problem,
        columns={column.name: along},
        target=target,
        features=(),
        weights=problem.weights if plain else weights,
        noise=problem.noise if plain else None,
        max_complexity=room,
    )
    return roughness, Rest(
        smaller, "inside", outside + factor * inner, partial(_whole, column, inner, outside, factor)
    )


def _whole(
    column: sympy.Symbol, inner: sympy.Expr, outside: sympy.Expr, factor: sympy.Expr, found: sympy.Expr
) -> sympy.Expr:
    return outside + factor * found.xreplace({column: inner})


def _values(expression: sympy.Expr, problem: RegressionProblem) -> Array:
    function: Callable[..., Array] = compile_expression(expression, problem.names)
    with np.errstate(all="ignore"):
        return np.broadcast_to(function(*problem.columns.values()), problem.target.shape).astype(np.float64)


def _roughness(along: Array, target: Array) -> float:
    """Return the mean squared difference of neighbours relative to that of any two rows."""
    spread = float(np.var(target))
    if len(target) < 10 or spread == 0.0 or np.ptp(along) == 0.0:
        return float("inf")
    steps = np.diff(target[np.argsort(along, kind="stable")])
    return float(np.mean(steps**2)) / (2 * spread)
