"""Which combination of few columns lies in the span of many: linear algebra on exact data."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.rows import column_arrays, row_weights

Exponents = tuple[int, ...]

#: Misfits up to so many times the stated error of the target count as none, and so do those at rounding.
_SLACK = 3.0
_ROUNDING = 1e-11
#: A target with a larger stated error, relative to its size, is not almost free of noise.
_ALMOST_EXACT = 1e-6
_COLUMNS_PER_ROW = 0.4
#: Larger columns, or smaller ones, have powers that floats cannot hold.
_LARGEST = 1e30
#: Directions of a library that are smaller than this share of the largest are rounding.
_INDEPENDENT = 1e-11


@dataclass(frozen=True)
class Combination:
    """Columns that remain, their coefficients (the largest is one), and how far they are from the span."""

    columns: tuple[int, ...]
    numbers: Array
    misfit: float


class ExactColumns:
    """The columns of a problem at unit size, and how exact its target is.

    Parameters
    ----------
    problem : RegressionProblem
        Without a measurement operator.
    """

    def __init__(self, problem: RegressionProblem) -> None:
        columns = column_arrays(problem)
        sizes = {name: float(np.max(np.abs(values))) for name, values in columns.items()}
        # A column that never changes, such as a stimulus that is off, is no variable here.
        self.scales = {
            name: size
            for name, size in sizes.items()
            if 1 / _LARGEST < size < _LARGEST and np.ptp(columns[name]) > 0
        }
        self.values = {name: columns[name] / size for name, size in self.scales.items()}
        self.weights = row_weights(problem)[:, None]
        self.size = float(np.sqrt(np.mean((problem.target * self.weights[:, 0]) ** 2))) or 1.0
        self.target = problem.target / self.size
        self.rows = len(self.target)
        stated = (problem.noise or 0.0) / self.size
        #: Relative misfit that counts as none; None for a target that is too noisy, or nothing but zero.
        self.tolerance = (
            max(_ROUNDING, _SLACK * stated) if stated < _ALMOST_EXACT and np.any(self.target) else None
        )

    @property
    def room(self) -> float:
        """How many columns a library may have before it fits anything."""
        return _COLUMNS_PER_ROW * self.rows

    def thinned(self, most: int) -> ExactColumns:
        """Return the same with at most so many rows, spread evenly: enough to see that there is nothing."""
        if self.rows <= most:
            return self
        rows = np.unique(np.linspace(0, self.rows - 1, most).astype(int))
        few = copy.copy(self)
        few.values = {name: values[rows] for name, values in self.values.items()}
        few.weights, few.target, few.rows = self.weights[rows], self.target[rows], len(rows)
        return few

    def monomials(self, names: Sequence[str], exponents: Sequence[Exponents]) -> Array:
        """Return weighted monomials of some columns, shape (rows, monomials)."""
        columns = [self.values[name] for name in names]
        products = [np.prod([c**k for c, k in zip(columns, e, strict=True)], axis=0) for e in exponents]
        return np.asarray(self.weights * np.column_stack(products))


def all_exponents(variables: int, degree: int) -> list[Exponents]:
    """Return the exponents of all monomials up to a total degree, low degrees first.

    Examples
    --------
    >>> all_exponents(2, 1)
    [(0, 0), (0, 1), (1, 0)]
    """
    every = itertools.product(range(degree + 1), repeat=variables)
    return sorted((e for e in every if sum(e) <= degree), key=lambda e: (sum(e), e))


def span(columns: Array) -> Array:
    """Return an orthonormal basis of the columns, directions at rounding left out."""
    left, sizes, _ = np.linalg.svd(columns / np.linalg.norm(columns, axis=0), full_matrices=False)
    return np.asarray(left[:, sizes > _INDEPENDENT * sizes[0]])


def nearest(above: Array, columns: Array, factor: Array | None = None) -> Combination:
    """Return the combination of columns that is nearest to a span.

    Parameters
    ----------
    above : array
        An orthonormal basis of the span.
    columns : array
        What is combined; the combination has the norm one, so that nothing is no answer.
    factor : array, optional
        Rows are multiplied by this before they are compared with the span.
    """
    norms = np.linalg.norm(columns, axis=0)
    left, sizes, right = np.linalg.svd(columns / norms, full_matrices=False)
    rank = int(np.sum(sizes > _INDEPENDENT * sizes[0]))
    image = left[:, :rank] if factor is None else factor[:, None] * left[:, :rank]
    singular, vectors = np.linalg.svd(image - above @ (above.T @ image), full_matrices=False)[1:]
    numbers = (right[:rank].T @ (vectors[-1] / sizes[:rank])) / norms
    return Combination(tuple(range(columns.shape[1])), numbers / np.max(np.abs(numbers)), float(singular[-1]))


def sparsest(
    above: Array, columns: Array, tolerance: float, factor: Array | None = None
) -> Combination | None:
    """Return a combination within a tolerance of a span from which no column can go, if there is one."""
    best = nearest(above, columns, factor)
    if best.misfit > tolerance:
        return None
    kept = list(best.columns)
    while len(kept) > 1:
        trials = []
        for left_out in kept:
            others = [k for k in kept if k != left_out]
            trials.append((nearest(above, columns[:, others], factor).misfit, left_out))
        misfit, left_out = min(trials)
        if misfit > tolerance:
            break
        kept.remove(left_out)
    final = nearest(above, columns[:, kept], factor)
    return Combination(tuple(kept), final.numbers, final.misfit)
