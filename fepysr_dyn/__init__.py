"""Find the differential equations behind time series.

The public names are imported when first used: ``import fepysr_dyn`` itself loads nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "OdeSystem": "system",
    "load_model": "model_files",
    "model_names": "model_files",
    "simulate": "simulation",
    "FeatureLibrary": "features",
    "FeatureMapper": "features",
    "extract_features": "features",
    "FePySR": "regressor",
    "Trajectories": "trajectories",
    "read_trajectories": "trajectories",
    "Derivatives": "derivatives",
    "estimate_derivatives": "derivatives",
    "Discovery": "discovery",
    "DiscoveryConfig": "discovery",
    "EquationPrior": "discovery",
    "WorkerPool": "discovery",
    "discover": "discovery",
    "load_result": "discovery",
    "Validation": "validation",
    "validate": "validation",
    "from_antimony": "exchange",
    "from_sbml": "exchange",
    "to_antimony": "exchange",
    "to_latex": "exchange",
    "to_python": "exchange",
    "to_sbml": "exchange",
    "write_petab": "exchange",
    "Comparison": "comparison",
    "compare": "comparison",
    "write_report": "report.page",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fepysr_dyn' has no attribute '{name}'")
    return getattr(importlib.import_module(f"fepysr_dyn.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
