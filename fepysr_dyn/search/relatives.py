"""Formulas near a given one, with a term less or another one, ranked by how well they fit for their length.

A search that builds formulas from nothing may come close to a law and stop there: with a factor missing, with
one state in place of another that moves alike, or with two terms where one would do. From there the law is
one exchange away.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import sympy

from fepysr_dyn.expressions import complexity
from fepysr_dyn.expressions.canonical import NODE_COST
from fepysr_dyn.search.evaluation import UnsupportedExpressionError, tree_values
from fepysr_dyn.search.least_squares import number, refit_expression
from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.rows import column_arrays, row_weights

#: Terms of longer formulas are not exchanged one by one.
_MOST_TERMS = 8
#: Formulas that are refitted for each one that is returned.
_REFITTED = 2
_STEPS = 15
#: Formulas whose losses agree to so many digits are one formula.
_SAME_DIGITS = 6
#: Misfits below this share of the target are rounding.
_ROUNDING = 1e-12


def best_relatives(law: sympy.Expr, problem: RegressionProblem, count: int) -> list[sympy.Expr]:
    """Return formulas near a law, best first: without one of its terms, with another one, or both.

    Coefficients are fitted first for all of them, and then all constants of the best.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> x, y = np.random.default_rng(0).uniform(1.0, 2.0, (2, 50))
    >>> problem = RegressionProblem({"x": x, "y": y}, 3.5 * x * y - 0.5 * y, noise=1e-3)
    >>> [str(law) for law in best_relatives(parse("2.0*x - 1.5*y"), problem, 1)]
    ['3.5*x*y - 0.5*y']
    """
    terms = [term.as_coeff_Mul()[1] for term in sympy.Add.make_args(sympy.expand_mul(law))]
    if len(terms) > _MOST_TERMS:
        return []
    columns = column_arrays(problem)
    others = itertools.chain(*(_others(term, columns) for term in terms))
    further = [*others, *_further(columns), *problem.features]
    new = [
        term for term in dict.fromkeys(further) if term not in terms and uses_only(term, problem.operators)
    ]
    # A term that is exchanged for a relative of another one is as good: it is one less and one more.
    fitted = _Fits([*terms, *new], problem)
    fewer = [tuple(i for i in range(len(terms)) if i not in out) for out in _left_out(len(terms))]
    trials = [
        (*kept, *more)
        for kept in fewer
        for more in ((), *((len(terms) + i,) for i in range(len(new))))
        if kept or more
    ]
    own = tuple(range(len(terms)))
    lengths = {trial: fitted.length(trial) for trial in trials if trial != own}
    usable = [trial for trial, length in lengths.items() if np.isfinite(length)]
    ranked = sorted(usable, key=lambda trial: lengths[trial])[: _REFITTED * count]
    best: dict[float, tuple[float, sympy.Expr]] = {}
    for trial in ranked:
        relative, loss = refit_expression(fitted.formula(trial), problem, max_steps=_STEPS)
        if complexity(relative) > problem.max_complexity or not np.isfinite(loss):
            continue
        if crosses_pole(relative, columns):
            continue
        length = fitted.description(loss * fitted.rows * problem.scale**2, complexity(relative))
        # Terms whose constants run away are the same thing written in several ways: one of them is enough.
        same = float(f"{loss:.{_SAME_DIGITS}g}")
        if same not in best or length < best[same][0]:
            best[same] = length, relative
    return [relative for _, relative in sorted(best.values(), key=lambda pair: pair[0])][:count]


def crosses_pole(formula: sympy.Expr, columns: dict[str, Array]) -> bool:
    """Return whether something below a line changes its sign on the rows: between two of them is a pole.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> rows = {"x": np.array([-0.5, 0.7]), "y": np.array([1.0, 2.0])}
    >>> [crosses_pole(parse(text), rows) for text in ("y/x", "x/y", "x/(y - 1.5)")]
    [True, False, True]
    """
    powers = (node for node in sympy.preorder_traversal(formula) if node.is_Pow and node.exp.is_negative)
    below = (_values(power.base, columns) for power in powers)
    return any(not (np.all(values > 0) or np.all(values < 0)) for values in below)


class _Fits:
    """Least-squares fits of many small sets out of the same terms."""

    def __init__(self, terms: Sequence[sympy.Expr], problem: RegressionProblem) -> None:
        self._terms = terms
        self._sizes = [complexity(term) + 2 for term in terms]
        columns, weights = column_arrays(problem), row_weights(problem)
        with np.errstate(all="ignore"):
            measured = problem.measure(np.column_stack([_values(term, columns) for term in terms]))
            weighed = measured * weights[:, None]
            norms = np.linalg.norm(weighed, axis=0)
        self._usable = np.isfinite(norms) & (norms > 0)
        self._norms = np.where(self._usable, norms, 1.0)
        scaled = np.where(self._usable, weighed, 0.0) / self._norms
        target = problem.target * weights
        self._products, self._along = scaled.T @ scaled, scaled.T @ target
        self._whole, self.rows = float(target @ target), len(target)
        # What is nearer than its error is as good as exact: the rest is for the length to decide.
        self._least = max((problem.noise or 0.0) ** 2 * self.rows, _ROUNDING * self._whole)

    def length(self, chosen: tuple[int, ...]) -> float:
        """Return the description length of the target and the formula that some terms make."""
        rows = list(chosen)
        if not np.all(self._usable[rows]):
            return float("inf")
        misfit = self._whole - float(self._along[rows] @ self._solution(rows))
        size = sum(self._sizes[i] for i in rows)
        return self.description(misfit, size)

    def description(self, misfit: float, size: int) -> float:
        """Return the description length of a sum of squares and a formula with so many nodes, in nats."""
        return 0.5 * self.rows * float(np.log(max(misfit, self._least))) + NODE_COST * size

    def formula(self, chosen: tuple[int, ...]) -> sympy.Expr:
        """Return the formula that some terms make."""
        coefficients = self._solution(list(chosen)) / self._norms[list(chosen)]
        return sympy.Add(*(number(c) * self._terms[i] for c, i in zip(coefficients, chosen, strict=True)))

    def _solution(self, rows: list[int]) -> Array:
        products = self._products[np.ix_(rows, rows)]
        return np.asarray(np.linalg.lstsq(products, self._along[rows], rcond=1e-12)[0], dtype=np.float64)


def _left_out(count: int) -> Iterator[tuple[int, ...]]:
    """Yield the positions that are left out: none, one or two of them."""
    for size in range(3):
        yield from itertools.combinations(range(count), size)


def _others(term: sympy.Expr, columns: dict[str, Array]) -> Iterator[sympy.Expr]:
    """Yield what a term becomes with a factor more or less, or with one column in place of another."""
    present = sorted(term.free_symbols, key=str)
    for name, values in columns.items():
        column = sympy.Symbol(name)
        yield term * column
        if (term / column).is_polynomial(*present):
            yield term / column
        if np.min(values) >= 0 < np.max(values):
            level = sympy.Float(0.3 * np.quantile(values, 0.98))
            yield term * column / (column + level)
            yield term / (column + level)
        yield from (term.xreplace({own: column}) for own in present if own != column)


def _further(columns: dict[str, Array]) -> Iterator[sympy.Expr]:
    """Yield the terms that a law may lack: a constant, columns and their products."""
    yield sympy.Integer(1)
    symbols = [sympy.Symbol(name) for name in columns]
    for position, first in enumerate(symbols):
        yield first
        yield from (first * second for second in symbols[position:])


def _values(term: sympy.Expr, columns: dict[str, Array]) -> Array:
    try:
        return tree_values(term, columns)
    except UnsupportedExpressionError:
        return np.full(len(next(iter(columns.values()))), np.nan)
