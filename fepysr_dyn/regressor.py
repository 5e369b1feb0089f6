"""FePySR: both stages as one scikit-learn regressor."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fepysr_dyn.errors import DataError, InputError, OptionError
from fepysr_dyn.expressions import compile_expression, parse
from fepysr_dyn.interruption import interruptible
from fepysr_dyn.search.baseline import baseline
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.problem import (
    DEFAULT_OPERATORS,
    Budget,
    ProgressCallback,
    RegressionProblem,
    Runtime,
    SearchEngine,
)
from fepysr_dyn.search.registry import make_engine
from fepysr_dyn.search.selection import Choice, choose
from fepysr_dyn.tables import LEAST_ROWS, checked_table, checked_training, named_columns

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from fepysr_dyn.features import FeatureLibrary, FmnConfig

Array = NDArray[np.float64]


class SearchCutShortWarning(UserWarning):
    """A search that returned its best front so far before it was done."""


class StageOneWarning(UserWarning):
    """Stage 1 could not be run on the data; the search went on without features."""


class FePySR(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Find a formula for a target: features first, then a search over variables and features.

    Parameters
    ----------
    engine : str or SearchEngine
        ``"portfolio"``, ``"sparse"``, ``"rational"``, ``"parametric"``, ``"evolution"``, ``"pysr"``,
        ``"operon"``, or an engine with its own options.
    features : "fmn", FmnConfig, sequence of formulas, or None
        Stage 1: the feature mapping network, its settings, features of your own, or none.
    operators : sequence of str
        What a formula may be made of.
    max_complexity : int
        Largest number of nodes of a formula.
    evaluations : int
        Work in expression evaluations; the same answer on a machine of any speed.
    time_limit : float, optional
        Seconds after which the best front so far is returned, with a warning.
    noise : float, optional
        Standard deviation of the target's error, if known.
    seed : int
        Decides everything random.
    workers : int
        Processes or threads an engine may use; does not change the answer.
    progress : callable, optional
        Called with a `Progress`.

    Attributes
    ----------
    expression_ : sympy expression
        The chosen formula.
    front_ : ParetoFront
        All formulas no other beats in loss and complexity.
    choice_ : Choice
        Why that one, its constants before they were simplified, and the alternatives.
    features_ : tuple of sympy expressions
        What stage 1 proposed.
    variables_ : tuple of str
        Names of the columns.
    interrupted_ : bool
        Whether a time limit or Ctrl-C cut the search short.
    seconds_ : float
        Duration of the fit.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(-2, 2, size=(60, 2))
    >>> model = FePySR(engine="sparse", features=None).fit(x, x[:, 0] ** 2 - 3 * x[:, 0] * x[:, 1])
    >>> model.expression_
    x0*(x0 - 3*x1)
    """

    def __init__(
        self,
        *,
        engine: str | SearchEngine = "portfolio",
        features: str | FmnConfig | Sequence[str | sympy.Expr] | None = "fmn",
        operators: Sequence[str] = DEFAULT_OPERATORS,
        max_complexity: int = 40,
        evaluations: int = 5_000_000,
        time_limit: float | None = None,
        noise: float | None = None,
        seed: int = 0,
        workers: int = 1,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.engine = engine
        self.features = features
        self.operators = operators
        self.max_complexity = max_complexity
        self.evaluations = evaluations
        self.time_limit = time_limit
        self.noise = noise
        self.seed = seed
        self.workers = workers
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        executor: Executor | None = None,
    ) -> FePySR:
        """Search a formula.

        Parameters
        ----------
        X : array-like, pandas DataFrame, xarray Dataset or DataArray; shape (rows, variables)
            A frame or a dataset gives the names of the variables; otherwise they are x0, x1, ...
        y : array-like, shape (rows,)
            The target.
        sample_weight : array-like, optional
            Positive weights of the squared residuals.
        executor : concurrent.futures.Executor, optional
            Where the evolutionary search runs its islands: processes, or a Dask cluster
            (``client.get_executor()``). It does not change the answer.
        """
        started = time.monotonic()
        engine = make_engine(self.engine) if isinstance(self.engine, str) else self.engine
        table, names = named_columns(X)
        matrix, target, weights = checked_training(self, table, y, sample_weight)
        self.variables_: tuple[str, ...] = names or tuple(f"x{i}" for i in range(matrix.shape[1]))
        if self.time_limit is not None and not self.time_limit > 0:
            raise OptionError(f"a time limit must be positive seconds, got {self.time_limit}")
        deadline = started + (self.time_limit or float("inf"))
        self.feature_library_: FeatureLibrary | None = None
        with interruptible() as cancelled:
            runtime = Runtime(self.progress, cancelled, executor, self.workers, deadline)
            problem = RegressionProblem(
                columns=dict(zip(self.variables_, matrix.T.copy(), strict=True)),
                target=target,
                weights=weights,
                noise=self.noise,
                operators=tuple(self.operators),
                max_complexity=self.max_complexity,
                budget=Budget(self.evaluations),
                seed=int(self.seed),
            )
            self.features_: tuple[sympy.Expr, ...] = self._stage_one(matrix, target, runtime)
            problem = replace(problem, features=self.features_)
            self.front_: ParetoFront = engine.search(problem, runtime)
            if not len(self.front_):
                # Cut short before the engine had anything: a straight line is better than nothing.
                self.front_ = baseline(problem).merge(self.front_)
            self.interrupted_: bool = not self.front_.complete or cancelled.is_set()
        self.choice_: Choice = choose(self.front_, problem)
        self.expression_: sympy.Expr = self.choice_.candidate.expression
        self.seconds_: float = time.monotonic() - started
        if self.interrupted_ and not self.choice_.exact:
            message = "the search was cut short; this is the best front so far"
            warnings.warn(SearchCutShortWarning(message), stacklevel=2)
        return self

    def predict(self, X: Any) -> Array:
        """Return the values of the chosen formula."""
        check_is_fitted(self, "expression_")
        table, _ = named_columns(X)
        matrix = checked_table(self, table)
        return compile_expression(self.expression_, self.variables_)(*matrix.T)

    def latex(self, precision: int = 4) -> str:
        """Return the chosen formula as LaTeX, its constants with so many digits."""
        check_is_fitted(self, "expression_")
        rounded = {c: sympy.Float(c, precision) for c in self.expression_.atoms(sympy.Float)}
        return str(sympy.latex(self.expression_.xreplace(rounded)))

    def to_callable(self) -> Callable[..., Array]:
        """Return a numpy function of the variables, in the order of `variables_`."""
        check_is_fitted(self, "expression_")
        return compile_expression(self.expression_, self.variables_)

    def save(self, path: str | Path) -> None:
        """Write the fitted model as JSON; see `load`."""
        from fepysr_dyn.fit_files import save_fit

        check_is_fitted(self, "expression_")
        save_fit(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> FePySR:
        """Read a model written by `save`; no code is run."""
        from fepysr_dyn.fit_files import load_fit

        return load_fit(cls, Path(path))

    def _stage_one(self, matrix: Array, target: Array, runtime: Runtime) -> tuple[sympy.Expr, ...]:
        """Return the features: none, given ones, or those of the network."""
        if self.features is None:
            return ()
        if isinstance(self.features, str) and self.features != "fmn":
            raise OptionError(f"features must be 'fmn', formulas or None, got '{self.features}'")
        if isinstance(self.features, Sequence) and not isinstance(self.features, str):
            return tuple(_as_expression(feature, self.variables_) for feature in self.features)
        if len(target) < LEAST_ROWS or np.ptp(target) == 0:
            return ()
        from fepysr_dyn.stage_one import run_stage_one

        config = None if isinstance(self.features, str) else self.features
        try:
            library = run_stage_one(matrix, target, self.variables_, config, int(self.seed), runtime)
        except DataError as error:
            # Stage 2 needs no features; the user should know that it went without.
            warnings.warn(StageOneWarning(f"stage 1 gave no features: {error}"), stacklevel=3)
            return ()
        self.feature_library_ = library
        return () if library is None else library.top().expressions

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn's checks may expect."""
        tags = super().__sklearn_tags__()
        # A search under a small budget promises no score on arbitrary data.
        tags.regressor_tags.poor_score = True
        return tags


def _as_expression(feature: str | sympy.Expr, variables: tuple[str, ...]) -> sympy.Expr:
    if isinstance(feature, str):
        return parse(feature, variables)
    unknown = sorted({str(symbol) for symbol in feature.free_symbols} - set(variables))
    if unknown:
        raise InputError(f"feature '{feature}' uses {', '.join(unknown)}, which is no column of X")
    return feature
