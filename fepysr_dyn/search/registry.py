"""Engines by name, imported when asked for."""

from __future__ import annotations

import importlib

from fepysr_dyn.errors import OptionError, did_you_mean
from fepysr_dyn.search.problem import SearchEngine

#: name -> (module below fepysr_dyn.search, class)
ENGINES: dict[str, tuple[str, str]] = {
    "portfolio": ("portfolio", "Portfolio"),
    "sparse": ("sparse", "SparseEngine"),
    "rational": ("rational", "RationalEngine"),
    "parametric": ("parametric", "ParametricEngine"),
    "kinetic": ("kinetic", "KineticEngine"),
    "evolution": ("evolution", "EvolutionEngine"),
    "pysr": ("pysr_engine", "PySREngine"),
    "operon": ("operon_engine", "OperonEngine"),
}


def make_engine(name: str) -> SearchEngine:
    """Return an engine with its default options.

    Examples
    --------
    >>> make_engine("sparse").name
    'sparse'
    """
    if name not in ENGINES:
        hint = did_you_mean(name, ENGINES) or f"; choose among {', '.join(ENGINES)}"
        raise OptionError(f"unknown engine '{name}'{hint}")
    module, attribute = ENGINES[name]
    engine: SearchEngine = getattr(importlib.import_module(f"fepysr_dyn.search.{module}"), attribute)()
    return engine
