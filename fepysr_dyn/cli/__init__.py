"""The command line: one command a file.

A command module imports nothing heavy at its top, so that ``fepysr-dyn --help`` answers at once; what it
needs, it imports when it runs.
"""

from __future__ import annotations

from fepysr_dyn.cli.app import app, main

__all__ = ["app", "main"]
