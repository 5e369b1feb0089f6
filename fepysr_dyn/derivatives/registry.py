"""Estimators by name; each lives in a module of its own that is imported when asked for."""

from __future__ import annotations

import importlib

from fepysr_dyn.derivatives.base import DerivativeEstimator
from fepysr_dyn.errors import OptionError, did_you_mean

_HOME = {
    "auto": ("auto", "Auto"),
    "finite_differences": ("finite_differences", "FiniteDifferences"),
    "local_polynomial": ("local_polynomial", "LocalPolynomial"),
    "total_variation": ("total_variation", "TotalVariation"),
    "smoothing_spline": ("smoothing_spline", "SmoothingSpline"),
    "gaussian_process": ("gaussian_process", "GaussianProcess"),
}


def estimator_names() -> list[str]:
    """Return the registered names, "auto" first."""
    return list(_HOME)


def make_estimator(method: str | DerivativeEstimator) -> DerivativeEstimator:
    """Return the estimator of that name with its default settings; an estimator is returned as it is.

    Raises
    ------
    OptionError
        If there is no estimator of that name.
    """
    if not isinstance(method, str):
        if isinstance(method, DerivativeEstimator):
            return method
        raise OptionError(f"expected the name of a derivative estimator or an estimator, found {method!r}")
    if method not in _HOME:
        names = ", ".join(_HOME)
        hint = did_you_mean(method, _HOME)
        raise OptionError(f"expected a derivative estimator out of {names}, found '{method}'{hint}")
    module, attribute = _HOME[method]
    found: DerivativeEstimator = getattr(
        importlib.import_module(f"fepysr_dyn.derivatives.{module}"), attribute
    )()
    return found
