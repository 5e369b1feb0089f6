"""Stage 1: the feature mapping network, and the ranked library of what its units stand for."""

import importlib
from typing import Any

from fepysr_dyn.features.config import PRESETS, FmnConfig
from fepysr_dyn.features.library import FeatureLibrary, TrainingReport

_LAZY = {
    "FeatureMapper": "transformer",
    "extract_features": "extract",
    "is_valid": "validity",
    "score_ranking": "metrics",
}

__all__ = [
    "PRESETS",
    "FeatureLibrary",
    "FeatureMapper",
    "FmnConfig",
    "TrainingReport",
    "extract_features",
    "is_valid",
    "score_ranking",
]


def __getattr__(name: str) -> Any:
    """Import what needs torch or scikit-learn only when it is asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"fepysr_dyn.features.{_LAZY[name]}"), name)
