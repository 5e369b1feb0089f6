"""Smoothed states and their derivatives, with standard errors; one estimator a file, an automatic choice."""

from __future__ import annotations

from fepysr_dyn.derivatives.base import DerivativeEstimator, Estimate, Series
from fepysr_dyn.derivatives.estimation import estimate_derivatives
from fepysr_dyn.derivatives.registry import estimator_names, make_estimator
from fepysr_dyn.derivatives.result import Choice, Derivatives

__all__ = [
    "Choice",
    "DerivativeEstimator",
    "Derivatives",
    "Estimate",
    "Series",
    "estimate_derivatives",
    "estimator_names",
    "make_estimator",
]
