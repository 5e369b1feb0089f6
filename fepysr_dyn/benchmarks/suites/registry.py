"""Suites by name, imported when asked for."""

from __future__ import annotations

import importlib

from fepysr_dyn.benchmarks.suites.base import Suite
from fepysr_dyn.errors import OptionError, did_you_mean

#: name -> (module beside this one, its attribute)
SUITES: dict[str, tuple[str, str]] = {
    "standard": ("recovery", "STANDARD"),
    "recover": ("recovery", "RECOVER"),
    "unrecover": ("unrecover", "SUITE"),
    "tyson": ("tyson", "SUITE"),
    "noise": ("noise", "SUITE"),
    "features": ("features", "SUITE"),
    "ablation": ("ablation", "SUITE"),
    "odes": ("odes", "SUITE"),
    "derivatives": ("derivatives", "SUITE"),
    "stage1-quality": ("stage1_quality", "SUITE"),
    "stage1-speed": ("stage1_speed", "SUITE"),
    "engine-speed": ("engine_speed", "SUITE"),
    "ingest": ("ingest", "SUITE"),
}


def load_suite(name: str) -> Suite:
    """Return a suite.

    Examples
    --------
    >>> load_suite("recover").cap
    60.0
    """
    if name not in SUITES:
        hint = did_you_mean(name, SUITES) or f"; choose among {', '.join(SUITES)}"
        raise OptionError(f"unknown suite '{name}'{hint}")
    module, attribute = SUITES[name]
    suite: Suite = getattr(importlib.import_module(f"fepysr_dyn.benchmarks.suites.{module}"), attribute)
    return suite
