"""Stage 1: the feature mapping network, and the ranked library of what its units stand for."""

from fepysr_dyn.features.config import PRESETS, FmnConfig
from fepysr_dyn.features.library import FeatureLibrary, TrainingReport

__all__ = ["PRESETS", "FeatureLibrary", "FmnConfig", "TrainingReport", "extract_features"]


def __getattr__(name: str) -> object:
    """Import what needs torch only when it is asked for."""
    if name == "extract_features":
        from fepysr_dyn.features.extract import extract_features

        return extract_features
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
