"""Trajectories in, a validated system of equations out."""

from fepysr_dyn.discovery.config import DiscoveryConfig, EquationPrior
from fepysr_dyn.discovery.files import load_result, save_result
from fepysr_dyn.discovery.pipeline import discover
from fepysr_dyn.discovery.result import Discovery
from fepysr_dyn.discovery.workers import WorkerPool

__all__ = [
    "Discovery",
    "DiscoveryConfig",
    "EquationPrior",
    "WorkerPool",
    "discover",
    "load_result",
    "save_result",
]
