"""Stage 1 from data to a ranked library."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fepysr_dyn.errors import DataError, OptionError
from fepysr_dyn.expressions import is_name
from fepysr_dyn.features.config import FmnConfig, resolve_config
from fepysr_dyn.features.extraction import Feature, count_nodes, merge, primitive
from fepysr_dyn.features.library import FeatureLibrary, TrainingReport, evaluate
from fepysr_dyn.features.nodes import FeatureGraph
from fepysr_dyn.features.ranking import rank_by_contribution
from fepysr_dyn.features.training import ProgressCallback, TrainedRuns, train

Array = NDArray[np.float64]
#: Fewer rows than this cannot tell one feature from another.
LEAST_ROWS = 10
#: Forms of a feature that are reported.
_MOST_VARIANTS = 8


def extract_features(
    X: ArrayLike,
    y: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    preset: str = "default",
    config: FmnConfig | None = None,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> FeatureLibrary:
    """Train the feature mapping network and rank what its units stand for.

    Parameters
    ----------
    X : array-like, shape (rows, variables)
        A pandas DataFrame gives the names as well.
    y : array-like, shape (rows,)
        The target.
    names : sequence of str, optional
        Names of the columns, ``x0, x1, ...`` if there are none.
    preset : {"default", "paper"}
        The settings; `config` replaces them.
    seed : int
        Decides everything random.
    progress : callable, optional
        Called with the fraction done and a message.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> library = extract_features(X, X[:, 0] * X[:, 1], names=["x", "y"])
    >>> len(library.top(4))
    4
    """
    settings = resolve_config(preset, config)
    columns, variables = _checked_columns(X, names)
    target = _checked_target(y, len(columns))
    rows = _rows(len(target), settings.max_rows)
    scaled_X, scaled_y = _scaled(columns[rows], target[rows], settings)
    trained = train(scaled_X, scaled_y, settings, seed, progress)
    if not trained.alive.any():
        raise DataError(
            f"all {settings.runs} runs left the finite numbers; scale the columns or lower learning_rate"
        )
    graph = FeatureGraph(columns[rows], variables)
    counted = merge(graph, count_nodes(graph, trained))
    ranked, scores = _ranked(graph, counted, target[rows], settings)
    return _library(graph, ranked[: settings.keep], scores[: settings.keep], trained, settings, columns)


def _ranked(
    graph: FeatureGraph, counted: list[Feature], target: Array, settings: FmnConfig
) -> tuple[list[Feature], list[float]]:
    if settings.ranking == "contribution" and counted:
        return rank_by_contribution(graph, counted, target)
    return counted, [float(feature.count) for feature in counted]


def _library(
    graph: FeatureGraph,
    features: list[Feature],
    scores: list[float],
    trained: TrainedRuns,
    settings: FmnConfig,
    columns: Array,
) -> FeatureLibrary:
    units = sum(len(shape.units) for shape in trained.shapes)
    dropped = tuple(int(run) for run in np.flatnonzero(~trained.alive))
    report = TrainingReport(
        runs=settings.runs,
        dropped=dropped,
        unit_outputs=units * (settings.runs - len(dropped)),
        errors=tuple(float(error) for error in trained.errors),
    )
    expressions = tuple(primitive(graph.formula(feature.node)) for feature in features)
    return FeatureLibrary(
        variables=graph.names,
        expressions=expressions,
        counts=tuple(feature.count for feature in features),
        values=evaluate(expressions, graph.names, columns),
        scores=tuple(scores),
        variants=tuple(
            tuple((graph.formula(node), count) for node, count in feature.variants[:_MOST_VARIANTS])
            for feature in features
        ),
        report=report,
        default_top=settings.top,
    )


def _rows(rows: int, most: int) -> slice | NDArray[np.int64]:
    """Return the rows to work on: all of them, or as many as allowed, evenly spread."""
    return slice(None) if rows <= most else np.linspace(0, rows - 1, most).astype(np.int64)


def _checked_columns(X: ArrayLike, names: Sequence[str] | None) -> tuple[Array, tuple[str, ...]]:
    if names is None and hasattr(X, "columns"):
        names = [str(name) for name in X.columns]
    try:
        columns = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("X must hold numbers only, got something else") from None
    if columns.ndim == 1:
        columns = columns[:, None]
    if columns.ndim != 2 or columns.shape[1] == 0:
        raise DataError(f"X must be a table of rows and variables, got shape {columns.shape}")
    if len(columns) < LEAST_ROWS:
        raise DataError(f"feature extraction needs at least {LEAST_ROWS} rows, got {len(columns)}")
    found = tuple(names) if names is not None else tuple(f"x{i}" for i in range(columns.shape[1]))
    if len(found) != columns.shape[1]:
        raise OptionError(f"names must hold {columns.shape[1]} names, one per column, got {len(found)}")
    if len(set(found)) < len(found):
        raise OptionError(f"names of columns must differ, got {', '.join(found)}")
    for name, column in zip(found, columns.T, strict=True):
        if not is_name(name):
            raise OptionError(
                f"'{name}' cannot be the name of a variable; use letters, digits and underscores"
            )
        if not np.all(np.isfinite(column)):
            raise DataError(
                f"column '{name}' holds {np.sum(~np.isfinite(column))} values that are not finite"
            )
    return columns, found


def _checked_target(y: ArrayLike, rows: int) -> Array:
    try:
        target = np.asarray(y, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise DataError("the target must hold numbers only, got something else") from None
    if len(target) != rows:
        raise DataError(f"the target needs {rows} values, one per row, got {len(target)}")
    if not np.all(np.isfinite(target)):
        raise DataError(f"the target holds {np.sum(~np.isfinite(target))} values that are not finite")
    if np.ptp(target) <= 1e-12 * np.max(np.abs(target)):
        raise DataError(f"the target is constant ({target[0]:g}); there is nothing to find")
    return target


def _scaled(X: Array, y: Array, settings: FmnConfig) -> tuple[Array, Array]:
    """Divide by the spread, without shifting, so that formulas of the columns stay what they are."""
    if not settings.standardise:
        return X, y
    spread = np.sqrt(np.mean(X**2, axis=0))
    return X / np.where(spread > 0, spread, 1.0), (y - y.mean()) / y.std()
