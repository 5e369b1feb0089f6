"""Figures of the FePySR paper that do not belong to a single equation."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def paper_figures() -> dict[str, Any]:
    """Return the tables `features`, `noise` and `tyson` of the paper.

    Examples
    --------
    >>> paper_figures()["tyson"]["fepysr"]["recovered"]
    24
    """
    text = resources.files("fepysr_dyn.benchmarks").joinpath("paper.json").read_text(encoding="utf-8")
    figures: dict[str, Any] = json.loads(text)
    return figures
