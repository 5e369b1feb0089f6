"""Tables of any kind to columns with names, checked with scikit-learn's own rules."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight, validate_data

from fepysr_dyn.errors import InputError
from fepysr_dyn.expressions import is_name

Array = NDArray[np.float64]
#: Fewer rows than this cannot tell features apart.
LEAST_ROWS = 10


def named_columns(X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Return a table scikit-learn can check, and the names of its columns if it has any.

    Examples
    --------
    >>> import pandas as pd
    >>> named_columns(pd.DataFrame({"a": [1.0], "b": [2.0]}))[1]
    ('a', 'b')
    """
    kind = type(X).__module__.split(".")[0]
    if kind == "xarray":
        X = _from_xarray(X)
    columns = getattr(X, "columns", None)
    if columns is None:
        return X, None
    names = tuple(str(name) for name in columns)
    if not all(isinstance(name, str) for name in columns):
        return X, None
    for name in names:
        if not is_name(name):
            raise InputError(f"column '{name}' cannot be a variable of a formula; rename it, {_hint(name)}")
    if len(set(names)) < len(names):
        raise InputError(f"names of columns must differ, got {', '.join(names)}")
    return X, names


def checked_training(
    estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array | None]:
    """Return matrix, target and weights as float64, or say in one line what is wrong."""
    try:
        matrix, target = validate_data(
            estimator, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2
        )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
    except ValueError as error:
        raise InputError(_one_line(error)) from None
    if weights is None:
        return matrix, np.asarray(target, dtype=np.float64), None
    # A row without weight is a row that is not there.
    used = weights > 0
    return matrix[used], np.asarray(target, dtype=np.float64)[used], weights[used]


def checked_table(estimator: Any, X: Any) -> Array:
    """Return the matrix of a table to predict on."""
    try:
        matrix: Array = validate_data(estimator, X, dtype=np.float64, reset=False)
    except ValueError as error:
        raise InputError(_one_line(error)) from None
    return matrix


def _from_xarray(X: Any) -> Any:
    """Turn a Dataset, or a DataArray of rows and variables, into a frame."""
    import pandas as pd

    if hasattr(X, "data_vars"):
        flat = {str(name): np.ravel(X[name].to_numpy()) for name in X.data_vars}
        lengths = {name: len(values) for name, values in flat.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"all variables of a dataset need the same number of values, got {lengths}")
        return pd.DataFrame(flat)
    values = X.to_numpy()
    if values.ndim == 1:
        return pd.DataFrame({str(X.name or "x0"): values})
    if values.ndim != 2:
        raise InputError(f"a DataArray must have rows and variables, got {values.ndim} dimensions")
    second = X.dims[1]
    labels = X.coords[second].to_numpy() if second in X.coords else range(values.shape[1])
    names = [str(label) if isinstance(label, str) else f"x{i}" for i, label in enumerate(labels)]
    return pd.DataFrame(values, columns=names)


def _one_line(error: ValueError) -> str:
    return " ".join(str(error).split())


def _hint(name: str) -> str:
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "x"
    plain = plain if is_name(plain) else f"x_{plain}"
    return f"for example to '{plain}'"
