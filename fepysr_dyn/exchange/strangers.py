"""SBML and Antimony files to plain data, through a process that can do nothing else."""

from __future__ import annotations

import json
from typing import Any

from fepysr_dyn.confined.running import answer_of
from fepysr_dyn.errors import MissingDependencyError, ModelError

SECONDS = 60.0
_PACKAGES = {"libsbml": "python-libsbml", "antimony": "antimony"}
_LABELS = {"sbml": "SBML", "antimony": "Antimony"}


def read_confined(kind: str, content: bytes) -> dict[str, Any]:
    """Return the model in a file as plain data.

    Parameters
    ----------
    kind : str
        "sbml" or "antimony".
    content : bytes
        The whole file.

    Raises
    ------
    MissingDependencyError
        If the library that reads it is not installed.
    ModelError
        For a file that is refused, or that made the reader crash or take too long.
    """
    label = _LABELS[kind]
    try:
        answer: dict[str, Any] = json.loads(answer_of("sbml", kind, content, seconds=SECONDS))
    except (ValueError, RecursionError):
        raise ModelError(f"the {label} reader broke down over this file, or came to no end") from None
    if "missing" in answer:
        package = _PACKAGES.get(answer["missing"], answer["missing"])
        raise MissingDependencyError(
            f"reading {label} needs {package}; install it with: pip install 'fepysr-dyn[sbml]'"
        )
    if "refused" in answer:
        raise ModelError(answer["refused"])
    model: dict[str, Any] = answer["model"]
    return model
