"""Genetic search over expression trees, compiled with numba when it first runs."""

from fepysr_dyn.search.evolution.config import EvolutionConfig
from fepysr_dyn.search.evolution.engine import EvolutionEngine

__all__ = ["EvolutionConfig", "EvolutionEngine"]
