"""The ranked features of a problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import OptionError
from fepysr_dyn.expressions import compile_expression, to_text

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TrainingReport:
    """What happened in training.

    Parameters
    ----------
    runs : int
        Runs started.
    dropped : tuple of int
        Runs that left the finite numbers; their features are not counted.
    unit_outputs : int
        Units in all runs that were counted: the denominator of frequencies.
    errors : tuple of float
        Mean squared error of each run's last epoch, on the scale trained on.
    """

    runs: int
    dropped: tuple[int, ...]
    unit_outputs: int
    errors: tuple[float, ...]

    def __str__(self) -> str:
        kept = self.runs - len(self.dropped)
        text = f"{kept} of {self.runs} runs counted"
        if self.dropped:
            shown = ", ".join(map(str, self.dropped[:10])) + (" …" if len(self.dropped) > 10 else "")
            text += f"; dropped for leaving the finite numbers: {shown}"
        return text


@dataclass(frozen=True)
class FeatureLibrary:
    """Ranked features, best first.

    Parameters
    ----------
    variables : tuple of str
        Names of the columns the features are made of.
    expressions : tuple of sympy expressions
        In the variables.
    counts : tuple of int
        Occurrences in all runs, up to sign and constant factor; 0 for a product of features that a model
        of the target uses and no unit stands for.
    values : array, shape (rows, features)
        On the data they were extracted from.
    scores : tuple of float
        What the ranking sorts by; the count itself if ranked by count.
    variants : tuple of tuple of (sympy expression, int)
        For every feature, what was counted together, most frequent first (at most 8 of them).
    default_top : int
        How many `top` selects if not told.
    report : TrainingReport
        Runs started and dropped.
    """

    variables: tuple[str, ...]
    expressions: tuple[sympy.Expr, ...]
    counts: tuple[int, ...]
    values: Array
    scores: tuple[float, ...]
    variants: tuple[tuple[tuple[sympy.Expr, int], ...], ...]
    report: TrainingReport
    default_top: int = field(default=10)

    def __post_init__(self) -> None:
        """Check that every feature has all its parts."""
        n = len(self.expressions)
        if not (n == len(self.counts) == len(self.scores) == len(self.variants) == self.values.shape[1]):
            raise ValueError("counts, scores, variants and values must have one entry per feature")

    def __len__(self) -> int:
        return len(self.expressions)

    @property
    def names(self) -> tuple[str, ...]:
        """Features as text."""
        return tuple(to_text(expression) for expression in self.expressions)

    def top(self, k: int | None = None) -> FeatureLibrary:
        """Return the library cut to its best `k` features (by default the number of its preset).

        Raises
        ------
        OptionError
            If there are fewer than `k`.
        """
        if k is None:
            if not self.expressions:
                return self
            k = min(self.default_top, len(self))
        if k < 1:
            raise OptionError(f"the number of features must be at least 1, got {k}")
        if k > len(self):
            raise OptionError(
                f"{k} features were asked for, only {len(self)} were found; ask for fewer or train more runs"
            )
        return FeatureLibrary(
            variables=self.variables,
            expressions=self.expressions[:k],
            counts=self.counts[:k],
            values=self.values[:, :k],
            scores=self.scores[:k],
            variants=self.variants[:k],
            report=self.report,
            default_top=self.default_top,
        )

    def evaluate(self, X: Array) -> Array:
        """Return the features on other rows, shape (rows, features)."""
        columns = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if columns.shape[1] != len(self.variables):
            raise OptionError(f"the features need {len(self.variables)} columns, got {columns.shape[1]}")
        return evaluate(self.expressions, self.variables, columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return a table with one row per feature."""
        import pandas as pd

        return pd.DataFrame(
            {
                "rank": np.arange(1, len(self) + 1),
                "feature": self.names,
                "count": self.counts,
                "share": np.array(self.counts, dtype=np.float64) / max(1, self.report.unit_outputs),
                "score": self.scores,
                "variants": [
                    ", ".join(f"{to_text(expression)} ({count})" for expression, count in variants)
                    for variants in self.variants
                ],
            }
        )


def evaluate(expressions: tuple[sympy.Expr, ...], variables: tuple[str, ...], X: Array) -> Array:
    """Return expressions on the rows of a table, shape (rows, expressions)."""
    columns = [compile_expression(expression, variables)(*X.T) for expression in expressions]
    return np.stack(columns, axis=1) if columns else np.zeros((len(X), 0))
