"""Sparse linear models over a dictionary of columns: forward steps with replacement, on the Gram matrix.

The columns are strongly correlated (x³ and sin(x), x² and cos(x)), so that forward steps alone go astray:
after each step every chosen column is tried against all others. All of it works on inner products, which
makes a step cheap and lets any column of the dictionary be the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: A relative residual below this counts as exact; the Gram matrix cannot tell smaller ones apart.
EXACT = 2e-13
#: Residuals are not told apart below this: rounding would decide between columns.
FINEST = 1e-12
#: The same for a residual computed from the columns themselves.
TRULY_EXACT = 1e-20
#: Columns that the chosen ones explain up to this share are not eligible.
_COLLINEAR = 1e-7


@dataclass(frozen=True)
class SparseModel:
    """Columns of a dictionary that explain a target.

    Parameters
    ----------
    columns : tuple of int
    residual : float
        Sum of squares left over, relative to the target's.
    objective : float
        Rows times the logarithm of the residual plus the price of the columns; smaller is better.
    """

    columns: tuple[int, ...]
    residual: float
    objective: float

    @property
    def exact(self) -> bool:
        """Whether nothing is left over."""
        return self.residual < EXACT


def true_residual(columns: Array, target: Array) -> float:
    """Return the relative sum of squares that the columns leave, computed without the Gram matrix."""
    if columns.shape[1] == 0:
        return 1.0
    basis = np.linalg.qr(columns)[0]
    rest = target - basis @ (basis.T @ target)
    rest -= basis @ (basis.T @ rest)
    return float(rest @ rest / (target @ target))


class GramProblem:
    """A target to be explained by columns, all given by their inner products.

    Parameters
    ----------
    gram : array
        Inner products of the centred, normalised columns.
    products : array
        Inner products of the columns with the centred, normalised target.
    prices : array
        What a column costs in the objective.
    rows : int
        Number of rows the inner products were taken over.
    floor : float
        Share of the target's square that is not worth explaining.
    """

    def __init__(self, gram: Array, products: Array, prices: Array, rows: int, floor: float = FINEST) -> None:
        self._floor = floor
        self._gram = gram
        self._products = products
        self._prices = prices
        self._rows = rows

    def search(self, start: Sequence[int] = (), most: int = 12, passes: int = 3) -> SparseModel:
        """Add, replace and remove columns until the objective no longer falls."""
        return self.path(start, most, passes)[-1]

    def path(self, start: Sequence[int] = (), most: int = 12, passes: int = 3) -> list[SparseModel]:
        """Return the models of a search, from the smallest to the last."""
        models = [self._model(list(start))]
        while len(models[-1].columns) < most and not models[-1].exact:
            best = models[-1]
            column, value = self._best_addition(list(best.columns))
            if column < 0:
                break
            grown = self._refine([*best.columns, column], value, passes)
            if grown.objective >= best.objective - 1e-9:
                break
            models.append(grown)
        return models

    def importance(self, model: SparseModel) -> list[float]:
        """Return what each column is worth, between 0 and 1.

        Half of it for being needed (the logarithm of the residual rises by 1 without it), half for the
        share of the target that is lost without it: weak terms are the first that noise takes away.
        """
        worth = []
        for column in model.columns:
            rest = self._model([other for other in model.columns if other != column])
            rise = np.log((rest.residual + self._floor) / (model.residual + self._floor))
            lost = np.sqrt(max(0.0, rest.residual - model.residual))
            worth.append(0.5 * min(1.0, max(0.0, float(rise))) + 0.5 * min(1.0, float(lost)))
        return worth

    def _refine(self, chosen: list[int], value: float, passes: int) -> SparseModel:
        for _ in range(passes):
            before = value
            for column in list(chosen):
                rest = [other for other in chosen if other != column]
                without = self._model(rest).objective
                other, replaced = self._best_addition(rest)
                if without <= min(replaced, value):
                    chosen, value = rest, without
                elif replaced < value - 1e-9:
                    chosen, value = [*rest, other], replaced
            if value >= before - 1e-9:
                break
        return self._model(chosen)

    def _best_addition(self, chosen: list[int]) -> tuple[int, float]:
        """Return the column that lowers the objective most, and the objective with it."""
        free, explained, residual = self._projected(chosen)
        eligible = free > _COLLINEAR
        eligible[chosen] = False
        if not eligible.any():
            return -1, np.inf
        gain = np.where(eligible, explained**2 / np.where(eligible, free, 1.0), 0.0)
        left = np.maximum(residual - gain, 0.0)
        objective = self._rows * np.log(left + self._floor) + self._prices
        objective[~eligible] = np.inf
        column = int(np.argmin(objective))
        return column, float(objective[column] + self._prices[chosen].sum())

    def _whitening(self, chosen: list[int]) -> Array:
        """Return the matrix that makes the chosen columns orthonormal."""
        inner = self._gram[np.ix_(chosen, chosen)]
        try:
            factor = np.linalg.cholesky(inner + 1e-14 * np.eye(len(chosen)))
        except np.linalg.LinAlgError:
            # Only possible for a given start: what the search adds is never collinear.
            factor = np.linalg.cholesky(inner + _COLLINEAR * np.eye(len(chosen)))
        inverse: Array = np.linalg.inv(factor)
        return inverse

    def _projected(self, chosen: list[int]) -> tuple[Array, Array, float]:
        """Return what is left of the columns' squares, their products with the target, and the target."""
        if not chosen:
            return np.diag(self._gram).copy(), self._products.copy(), 1.0
        inverse = self._whitening(chosen)
        reduced = inverse @ self._gram[chosen]
        target = inverse @ self._products[chosen]
        free = np.diag(self._gram) - np.einsum("ij,ij->j", reduced, reduced)
        return free, self._products - reduced.T @ target, max(0.0, 1.0 - float(target @ target))

    def _model(self, chosen: list[int]) -> SparseModel:
        residual = 1.0
        if chosen:
            inverse = self._whitening(chosen)
            residual = max(0.0, 1.0 - float(np.sum((inverse @ self._products[chosen]) ** 2)))
        objective = self._rows * float(np.log(residual + self._floor)) + float(self._prices[chosen].sum())
        return SparseModel(tuple(chosen), residual, objective)
