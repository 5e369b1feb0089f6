"""The regression problem that every engine solves, and the engine protocol itself.

The weak form belongs to the problem: with a measurement operator ``L`` an engine compares ``L @ f(columns)``
with the target; without one it compares ``f(columns)`` itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError, OptionError, did_you_mean

if TYPE_CHECKING:
    import sympy

    from fepysr_dyn.search.front import ParetoFront

Array = NDArray[np.float64]

#: A measurement operator with a larger share of entries is applied as it is.
_DENSE = 0.2

BINARY_OPERATORS = ("+", "-", "*", "/", "**")
UNARY_OPERATORS = (
    *("neg", "square", "cube", "inv", "exp", "log", "sqrt", "abs", "sign"),
    *("sin", "cos", "tan", "tanh", "sinh", "cosh", "atan"),
)
DEFAULT_OPERATORS = ("+", "-", "*", "/", "neg", "square", "exp", "log", "sqrt", "abs", "sin", "cos", "tanh")


@dataclass(frozen=True)
class Progress:
    """One report of a running search."""

    engine: str
    fraction: float
    message: str
    best_loss: float = float("inf")


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True)
class Budget:
    """How much work a search may do.

    Parameters
    ----------
    evaluations : int
        Work in expression evaluations (one expression on all rows is one). This is what makes a result
        repeatable on machines of any speed.
    seconds : float
        A time limit that only cuts short; a front that was cut short says so.
    """

    evaluations: int = 5_000_000
    seconds: float = float("inf")

    def __post_init__(self) -> None:
        """Refuse a budget that allows no work."""
        if self.evaluations < 1:
            raise OptionError(f"a budget needs at least 1 evaluation, got {self.evaluations}")
        if not self.seconds > 0:
            raise OptionError(f"a time limit must be positive seconds, got {self.seconds}")


@dataclass(frozen=True)
class Runtime:
    """What surrounds a search and does not change its answer: reports, cancellation, workers.

    Parameters
    ----------
    deadline : float
        Time (``time.monotonic``) at which the search has to end.
    found : callable, optional
        Called with the front so far, for whoever interrupts a search that has not ended.
    """

    progress: ProgressCallback | None = None
    cancelled: threading.Event | None = None
    executor: Executor | None = None
    workers: int = 1
    deadline: float = float("inf")
    found: Callable[[ParetoFront], None] | None = None

    def report(self, engine: str, fraction: float, message: str, best_loss: float = float("inf")) -> None:
        """Pass a report on to whoever listens."""
        if self.progress is not None:
            self.progress(Progress(engine, fraction, message, best_loss))

    def show(self, front: ParetoFront) -> None:
        """Pass the front so far on to whoever listens."""
        if self.found is not None:
            self.found(front)

    def must_stop(self) -> bool:
        """Return whether the user cancelled or the time (``time.monotonic``) is up."""
        return time.monotonic() > self.deadline or (self.cancelled is not None and self.cancelled.is_set())


@dataclass(frozen=True)
class RegressionProblem:
    """Named columns and a target, with all that decides the answer.

    Parameters
    ----------
    columns : mapping of str to array
        The user's variables, one value per row.
    target : array
        One value per row, or one per row of `measurement` if that is given.
    features : tuple of sympy expressions
        Stage 1's proposals in the user's variables, best first. Engines may use them as extra columns;
        every answer is given in the user's variables.
    weights : array, optional
        Positive weights of the squared residuals (for example 1 / standard error squared).
    measurement : array, optional
        Linear measurement operator (weak form), shape (len(target), rows).
    nuisance : array, optional
        Orthonormal directions of the target, shape (len(target), count), that other unknowns account for:
        what a prediction does along them does not count. Only engines that measure by `measure` know of them.
    noise : float, optional
        Standard deviation of the target's error if known; estimated by the selection otherwise.
    column_errors : mapping of str to array
        Standard errors of columns, row by row. Only the kinetic engine takes them into account.
    """

    columns: Mapping[str, Array]
    target: Array
    features: tuple[sympy.Expr, ...] = ()
    weights: Array | None = None
    measurement: Array | None = None
    nuisance: Array | None = None
    noise: float | None = None
    column_errors: Mapping[str, Array] = field(default_factory=dict)
    operators: tuple[str, ...] = DEFAULT_OPERATORS
    max_complexity: int = 40
    budget: Budget = field(default_factory=Budget)
    seed: int = 0

    def __post_init__(self) -> None:
        """Check shapes and names once, so that engines need not."""
        if not self.columns:
            raise DataError("a regression needs at least one column, got none")
        rows = {name: len(values) for name, values in self.columns.items()}
        if len(set(rows.values())) > 1:
            raise DataError(f"all columns need the same number of rows, got {rows}")
        n_rows = next(iter(rows.values()))
        expected = n_rows if self.measurement is None else self.measurement.shape[0]
        if self.measurement is not None and self.measurement.shape[1] != n_rows:
            found = self.measurement.shape[1]
            raise DataError(f"the measurement operator needs {n_rows} columns, got {found}")
        if len(self.target) != expected:
            raise DataError(f"the target needs {expected} values, got {len(self.target)}")
        for name, values in {**self.columns, "the target": self.target}.items():
            if not np.all(np.isfinite(values)):
                raise DataError(f"column '{name}' holds values that are not finite")
        if self.nuisance is not None and len(self.nuisance) != expected:
            raise DataError(f"nuisance directions need {expected} rows, got {len(self.nuisance)}")
        if self.weights is not None and (len(self.weights) != expected or not np.all(self.weights > 0)):
            raise DataError(f"weights must be {expected} positive numbers")
        for name, errors in self.column_errors.items():
            if name not in self.columns or len(errors) != n_rows or not np.all(errors >= 0.0):
                raise DataError(f"the errors of column '{name}' must be {n_rows} numbers of at least 0")
        for name in self.operators:
            if name not in BINARY_OPERATORS + UNARY_OPERATORS:
                hint = did_you_mean(name, BINARY_OPERATORS + UNARY_OPERATORS)
                raise OptionError(f"unknown operator '{name}'{hint}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the user's variables, in column order."""
        return tuple(self.columns)

    @cached_property
    def matrix(self) -> Array:
        """Columns as one contiguous array of shape (variables, rows)."""
        return np.vstack([np.asarray(values, dtype=np.float64) for values in self.columns.values()])

    @cached_property
    def scale(self) -> float:
        """Standard deviation of the target (its size if constant); losses are relative to its square."""
        spread = float(np.std(self.target))
        return spread or float(np.max(np.abs(self.target))) or 1.0

    @cached_property
    def _operator(self) -> Any:
        """The measurement as it is applied fastest: a row that sees a short time only is mostly zeros."""
        if self.measurement is None or np.count_nonzero(self.measurement) > _DENSE * self.measurement.size:
            return self.measurement
        from scipy.sparse import csr_array

        return csr_array(self.measurement)

    def measure(self, prediction: Array) -> Array:
        """Apply the measurement operator to a prediction on the rows, or to several side by side."""
        operator = self._operator if prediction.ndim <= 2 else self.measurement
        measured: Array = prediction if operator is None else operator @ prediction
        return measured if self.nuisance is None else measured - self.nuisance @ (self.nuisance.T @ measured)

    def loss(self, prediction: Array) -> float:
        """Weighted mean squared error of a prediction on the rows, relative to the target's scale squared."""
        residual = (self.measure(prediction) - self.target) / self.scale
        with np.errstate(all="ignore"):
            value = float(np.average(residual**2, weights=self.weights))
        return value if np.isfinite(value) else float("inf")


class SearchEngine(Protocol):
    """Anything that turns a problem into a front; engines compose."""

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        ...

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Return the best expressions found, each with constants refitted in float64."""
        ...
