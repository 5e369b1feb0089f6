"""Stage 1 as a scikit-learn transformer that appends its features to the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fepysr_dyn.features.config import FmnConfig
from fepysr_dyn.features.extract import extract_features
from fepysr_dyn.features.library import FeatureLibrary

Array = NDArray[np.float64]


class FeatureMapper(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Append the best features of the feature mapping network to the columns.

    Parameters
    ----------
    n_features : int, optional
        Features to append, the number of the preset if not given (or all, if fewer are found).
    preset : {"default", "paper"}
        Settings of stage 1.
    config : FmnConfig, optional
        Settings instead of a preset.
    seed : int
        Decides everything random.

    Attributes
    ----------
    library_ : FeatureLibrary
        The features appended.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> mapper = FeatureMapper(n_features=3, config=FmnConfig(runs=4, epochs=5))
    >>> mapper.fit_transform(X, X[:, 0] * X[:, 1]).shape
    (60, 5)
    """

    def __init__(
        self,
        n_features: int | None = None,
        preset: str = "default",
        config: FmnConfig | None = None,
        seed: int = 0,
    ) -> None:
        self.n_features = n_features
        self.preset = preset
        self.config = config
        self.seed = seed

    def fit(self, X: Any, y: Any) -> FeatureMapper:
        """Find the features of a target."""
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        columns, target = validate_data(self, X, y, y_numeric=True, dtype=np.float64)
        library = extract_features(
            columns, target, names=names, preset=self.preset, config=self.config, seed=self.seed
        )
        self.library_: FeatureLibrary = library.top(self.n_features)
        return self

    def transform(self, X: Any) -> Array:
        """Return the columns with the features appended."""
        check_is_fitted(self)
        columns = validate_data(self, X, reset=False, dtype=np.float64)
        return np.hstack([columns, self.library_.evaluate(columns)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns and the features as text."""
        check_is_fitted(self)
        return np.array([*self.library_.variables, *self.library_.names], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
