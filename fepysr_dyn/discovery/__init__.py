"""Trajectories in, a validated system of equations out."""

from fepysr_dyn.discovery.config import DiscoveryConfig, EquationPrior
from fepysr_dyn.discovery.files import load_result, save_result
from fepysr_dyn.discovery.pipeline import discover
from fepysr_dyn.discovery.result import Discovery

__all__ = ["Discovery", "DiscoveryConfig", "EquationPrior", "discover", "load_result", "save_result"]
