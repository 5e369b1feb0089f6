"""Smoothed states and their derivatives, with standard errors; one estimator a file, an automatic choice."""

from __future__ import annotations

from fepysr_dyn.derivatives.base import DerivativeEstimator, Estimate, Series
from fepysr_dyn.derivatives.estimation import estimate_derivatives
from fepysr_dyn.derivatives.registry import estimator_names, make_estimator
from fepysr_dyn.derivatives.result import Choice, Derivatives
from fepysr_dyn.derivatives.weak_form import WeakForm, weak_form

__all__ = [
    "Choice",
    "DerivativeEstimator",
    "Derivatives",
    "Estimate",
    "Series",
    "WeakForm",
    "estimate_derivatives",
    "estimator_names",
    "make_estimator",
    "weak_form",
]
