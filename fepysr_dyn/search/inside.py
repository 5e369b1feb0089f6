"""Functions of one inner expression: where a formula has the inside right, the outside has one variable.

A search often finds what a law depends on long before it finds the law, and writes a long series in the right
inner expression instead. With that expression as the only column, what is outside is an easy problem.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import sympy

from fepysr_dyn.expressions import compile_expression, complexity, free_constants
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.peeling import Rest, rests, without
from fepysr_dyn.search.problem import Array, RegressionProblem

#: Formulas of the front that are looked into, and sizes of inner expressions.
_FORMULAS = 6
_SIZES = (2, 14)
#: Parts of formulas that are taken away to see whether what is left is a function of an inner expression.
_RESTS = 24
#: A target is a function of a column if neighbours along it differ by less than this share of its variance.
_SMOOTH = 0.1
#: Rows whose factor is smaller than this share of the typical one say little about the quotient.
_SMALL = 0.1
#: A coefficient this close to a multiple of one half is taken for it.
_NEAR = 0.02


def inner_rests(front: ParetoFront, problem: RegressionProblem) -> Iterator[Rest]:
    """Yield problems of one column.

    Those come first whose other parts have the fewest fitted constants, and then those whose target is the
    smoothest function of the column.

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
    formulas = [candidate.expression for candidate in list(reversed(front.candidates))[:_FORMULAS]]
    inners = {inner: None for formula in formulas for inner in _inner_expressions(formula)}
    found = list(_of_splits(formulas, problem, column))
    if len(problem.names) > 1:
        alone = {sympy.Symbol(name): None for name in problem.names}
        for rest in itertools.islice(rests(front, problem), _RESTS):
            found += _along_each(rest, [*alone, *inners], problem, column)
    seen: set[tuple[str, sympy.Expr]] = set()
    for _, rest in sorted(found, key=lambda pair: (_odd_constants(pair[1].part), pair[0])):
        if rest.key not in seen:
            seen.add(rest.key)
            yield rest


def _of_splits(
    formulas: list[sympy.Expr], problem: RegressionProblem, column: sympy.Symbol
) -> Iterator[tuple[float, Rest]]:
    """Take away what a formula has outside of an inner expression; what is left may be a function of it."""
    for formula in formulas:
        for inner in _inner_expressions(formula):
            for outside, factor in _splits(formula.xreplace({inner: column}), column):
                rest = without(problem, outside, factor)
                if rest is not None:
                    yield from _along_each(rest, [inner], problem, column)


def _odd_constants(part: sympy.Expr) -> int:
    """Return how many fitted constants a part has: one that approximates has many, a true one has few."""
    return len(free_constants(part).values)


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


def _along_each(
    rest: Rest, inners: list[sympy.Expr], problem: RegressionProblem, column: sympy.Symbol
) -> Iterator[tuple[float, Rest]]:
    """Yield a rest as a problem of one column for every inner expression that it is a smooth function of."""
    smaller = rest.problem
    sizes = np.ones_like(smaller.target) if smaller.weights is None else np.sqrt(smaller.weights)
    telling = sizes >= _SMALL * np.median(sizes)
    orders: list[np.ndarray] = []
    for inner in sorted(inners, key=complexity):
        along = _values(inner, problem)
        if not np.all(np.isfinite(along)):
            continue
        roughness = _roughness(along[telling], smaller.target[telling])
        if roughness > _SMOOTH:
            continue
        order = np.argsort(along, kind="stable")
        # A function of a monotone function of an expression is a function of the expression.
        if any(np.array_equal(order, other) or np.array_equal(order[::-1], other) for other in orders):
            continue
        orders.append(order)
        one_column = replace(smaller, columns={column.name: along}, features=())
        yield (
            roughness,
            Rest(one_column, "inside", rest.wrap(inner), partial(_whole, column, inner, rest.wrap)),
        )


def _whole(
    column: sympy.Symbol,
    inner: sympy.Expr,
    wrap: Callable[[sympy.Expr], sympy.Expr],
    found: sympy.Expr,
) -> sympy.Expr:
    return wrap(found.xreplace({column: inner}))


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
