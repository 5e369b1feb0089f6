"""Real units of work for the tests of the runner."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def small_units(monkeypatch):
    """Let the processes of units find the module `small_units`."""
    folder = str(Path(__file__).parent / "tasks")
    path = os.pathsep.join(part for part in (folder, os.environ.get("PYTHONPATH", "")) if part)
    monkeypatch.setenv("PYTHONPATH", path)
