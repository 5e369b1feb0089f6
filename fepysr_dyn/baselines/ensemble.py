"""SINDy over bootstrap samples of the rows; the median of each coefficient is the answer."""

from __future__ import annotations

from typing import Any

from fepysr_dyn.baselines.base import Settings
from fepysr_dyn.baselines.libraries import polynomial
from fepysr_dyn.baselines.regression import LibraryRegression

MODELS = 20


def make_ensemble() -> LibraryRegression:
    """Return the baseline; the degree is part of its grid."""
    libraries = {f"degree {degree}": polynomial(degree) for degree in (2, 3)}
    thresholds = (0.1, 0.03, 0.01, 0.003)
    return LibraryRegression("sindy-ensemble", libraries, _bagging, thresholds, repeats=MODELS)


def _bagging(ps: Any, settings: Settings) -> Any:
    return ps.EnsembleOptimizer(ps.STLSQ(threshold=settings["threshold"]), bagging=True, n_models=MODELS)
