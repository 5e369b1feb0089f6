"""Versions of what ran, kept in every line."""

from __future__ import annotations

import contextlib
import platform
from functools import cache
from importlib import metadata

import fepysr_dyn

_PACKAGES = ("numpy", "scipy", "sympy", "torch", "numba", "pysindy")


@cache
def versions() -> str:
    """Return the versions of this program and of what its results depend on."""
    named = {"fepysr-dyn": fepysr_dyn.__version__, "Python": platform.python_version()}
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            named[package] = metadata.version(package)
    return ", ".join(f"{name} {number}" for name, number in named.items())
