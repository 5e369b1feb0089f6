"""Other methods, answering in the same types and scored by the same validation."""

from fepysr_dyn.baselines.base import Baseline, BaselineResult, GridPoint
from fepysr_dyn.baselines.registry import BASELINES, make_baseline
from fepysr_dyn.baselines.splitting import Split, split_off

__all__ = [
    "BASELINES",
    "Baseline",
    "BaselineResult",
    "GridPoint",
    "Split",
    "make_baseline",
    "split_off",
]
