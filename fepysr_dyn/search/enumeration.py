"""All short formulas, up to an outer function and a straight line: what a search by chance may pass by.

A function of one column that is worth writing down is often so short that all of its kind can be tried.
Formulas are grown size by size and compared by their values, so that each function is kept once. Then the
target, and the target behind the inverse of each outer function, is compared with a straight line in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import sympy

from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.problem import Array, RegressionProblem

#: Values of this many rows tell formulas apart.
_ROWS = 200
#: Sizes stop growing when there are more formulas than this.
_MOST = 20_000
_LARGEST = 6
#: Matches that are followed up, per outer function.
_KEPT = 2
_BLOCK = 4096

_UNARY: dict[str, tuple[Callable[[Array], Array], Callable[[sympy.Expr], sympy.Expr]]] = {
    "exp": (np.exp, sympy.exp),
    "log": (np.log, sympy.log),
    "sqrt": (np.sqrt, sympy.sqrt),
    "abs": (np.abs, sympy.Abs),
    "sin": (np.sin, sympy.sin),
    "cos": (np.cos, sympy.cos),
    "tan": (np.tan, sympy.tan),
    "tanh": (np.tanh, sympy.tanh),
    "atan": (np.arctan, sympy.atan),
}
_BINARY: dict[str, tuple[Callable[[Array, Array], Array], Callable[..., sympy.Expr]]] = {
    "+": (np.add, lambda a, b: a + b),
    "-": (np.subtract, lambda a, b: a - b),
    "*": (np.multiply, lambda a, b: a * b),
    "/": (np.divide, lambda a, b: a / b),
}
#: What undoes an outer function, and the function.
_OUTER: tuple[tuple[Callable[[Array], Array], Callable[[sympy.Expr], sympy.Expr]], ...] = (
    (lambda t: t, lambda f: f),
    (lambda t: 1 / t, lambda f: 1 / f),
    (np.log, sympy.exp),
    (np.exp, sympy.log),
    (lambda t: np.where(t >= 0, t, np.nan) ** 2, sympy.sqrt),
    (lambda t: np.where(t >= 0, t, np.nan) ** -2, lambda f: 1 / sympy.sqrt(f)),
    (np.sqrt, lambda f: f**2),
    (np.arctanh, sympy.tanh),
)


def short_formulas(problem: RegressionProblem) -> Iterator[sympy.Expr]:
    """Yield the short formulas that are nearest to the target, a few for each outer function.

    Examples
    --------
    >>> x = np.linspace(-2, 3, 50)
    >>> problem = RegressionProblem({"x": x}, 1 / (2 + np.sin(x) ** 2))
    >>> from fepysr_dyn.search.front import evaluate_candidate
    >>> min(evaluate_candidate(f, problem, "short").loss for f in short_formulas(problem)) < 1e-20
    True
    """
    if problem.measurement is not None:
        return
    rows = _telling_rows(problem)
    formulas = _grown(problem, rows)
    target = problem.target[rows]
    centred, sizes = _centred(formulas.values)
    for undo, outer in _OUTER:
        with np.errstate(all="ignore"):
            behind = undo(target)
        if not np.all(np.isfinite(behind)) or np.ptp(behind) == 0:
            continue
        behind_centred = behind - behind.mean()
        alike = np.abs(centred @ behind_centred) / sizes
        for index in np.argsort(-alike, kind="stable")[:_KEPT]:
            slope = float(centred[index] @ behind_centred / sizes[index] ** 2)
            offset = float(behind.mean() - slope * formulas.values[index].mean())
            formula = outer(sympy.Float(offset) + sympy.Float(slope) * formulas.expression(int(index)))
            if uses_only(formula, problem.operators):
                yield formula


def _telling_rows(problem: RegressionProblem) -> np.ndarray:
    """Return rows spread over all, without those that hardly count."""
    weights = problem.weights
    rows = np.arange(len(problem.target))
    if weights is not None:
        rows = rows[weights >= 0.01 * np.median(weights)]
    spread: np.ndarray = rows[np.linspace(0, len(rows) - 1, min(_ROWS, len(rows))).astype(int)]
    return spread


def _centred(values: Array) -> tuple[Array, Array]:
    centred = values - values.mean(axis=1, keepdims=True)
    sizes = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    # What does not vary explains nothing.
    varies = sizes > 1e-9 * np.sqrt(np.einsum("ij,ij->i", values, values))
    return centred, np.where(varies, sizes, np.inf)


@dataclass
class _Formulas:
    """Formulas with their values; each refers to those it is made of."""

    values: Array
    origins: list[tuple[str, int, int]]
    atoms: list[sympy.Expr]

    def expression(self, index: int) -> sympy.Expr:
        """Write one formula."""
        name, first, second = self.origins[index]
        if not name:
            return self.atoms[first]
        if name in _UNARY:
            return _UNARY[name][1](self.expression(first))
        return _BINARY[name][1](self.expression(first), self.expression(second))


def _grown(problem: RegressionProblem, rows: np.ndarray) -> _Formulas:
    """Return all different formulas, size by size, until they are too many."""
    atoms = [sympy.Symbol(name) for name in problem.names] + [sympy.Integer(1), sympy.Integer(2)]
    columns = [np.asarray(column, dtype=np.float64)[rows] for column in problem.columns.values()]
    start = np.array([*columns, np.full(len(rows), 1.0), np.full(len(rows), 2.0)])
    collection = _Collection(start)
    sizes = [range(len(start))]
    unary = [name for name in _UNARY if name in problem.operators]
    binary = [name for name in _BINARY if name in problem.operators]
    for size in range(2, _LARGEST + 1):
        before = len(collection.origins)
        for name in unary:
            collection.add_unary(name, sizes[size - 2])
        for name in binary:
            for left in range(1, size - 1):
                right = size - 1 - left
                # The other order of a sum or a product is the same formula.
                if name in "-/" or left <= right:
                    collection.add_binary(name, sizes[left - 1], sizes[right - 1])
        sizes.append(range(before, len(collection.origins)))
        if len(collection.origins) >= _MOST:
            break
    return _Formulas(np.concatenate(collection.blocks), collection.origins, atoms)


class _Collection:
    """Formulas found so far, told apart by two projections of their values."""

    def __init__(self, start: Array) -> None:
        self.blocks = [start]
        self.origins: list[tuple[str, int, int]] = [("", index, index) for index in range(len(start))]
        # Fixed directions: the same formulas are kept in every run.
        self._directions = np.random.default_rng(0).normal(size=(start.shape[1], 2))
        self._seen = set(self._keys(start))
        self._values = start

    def add_unary(self, name: str, of: range) -> None:
        """Apply a function to all formulas of a size."""
        for begin in range(of.start, of.stop, _BLOCK):
            first = np.arange(begin, min(begin + _BLOCK, of.stop))
            with np.errstate(all="ignore"):
                self._keep(name, _UNARY[name][0](self._matrix()[first]), first, first)

    def add_binary(self, name: str, of: range, others: range) -> None:
        """Combine all formulas of two sizes."""
        if not len(others):
            return
        step = max(1, _BLOCK // len(others))
        for begin in range(of.start, of.stop, step):
            few = np.arange(begin, min(begin + step, of.stop))
            first, second = np.repeat(few, len(others)), np.tile(np.array(others), len(few))
            matrix = self._matrix()
            with np.errstate(all="ignore"):
                self._keep(name, _BINARY[name][0](matrix[first], matrix[second]), first, second)

    def _matrix(self) -> Array:
        if len(self._values) < len(self.origins):
            self._values = np.concatenate(self.blocks)
            self.blocks = [self._values]
        return self._values

    def _keep(self, name: str, values: Array, first: np.ndarray, second: np.ndarray) -> None:
        if len(self.origins) >= _MOST:
            return
        with np.errstate(all="ignore"):
            largest = np.max(np.abs(values), axis=1)
            varies = np.ptp(values, axis=1) > 1e-9 * largest
        usable = np.flatnonzero(np.all(np.isfinite(values), axis=1) & varies & (largest < 1e9))
        chosen = []
        for row, key in zip(usable, self._keys(values[usable]), strict=True):
            if key not in self._seen:
                self._seen.add(key)
                chosen.append(row)
                self.origins.append((name, int(first[row]), int(second[row])))
        if chosen:
            self.blocks.append(values[chosen])

    def _keys(self, values: Array) -> list[tuple[float, ...]]:
        """Return ten digits of each projection, which survive another order of operations."""
        projected = values @ self._directions
        sizes = np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-300)
        digits = 10.0 ** (9 - np.ceil(np.log10(sizes)))
        rounded: list[list[float]] = (np.round(projected * digits) / digits).tolist()
        return [tuple(row) for row in rounded]
