"""The formats that are one text each, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fepysr_dyn.errors import OptionError, did_you_mean
from fepysr_dyn.exchange.antimony_writing import to_antimony
from fepysr_dyn.exchange.latex import to_latex
from fepysr_dyn.exchange.python_writing import to_python
from fepysr_dyn.exchange.sbml_writing import conditions, to_sbml
from fepysr_dyn.system import OdeSystem

#: Formats and the endings of their files; PEtab is a folder.
FORMATS = {
    "sbml": (".xml", ".sbml"),
    "antimony": (".ant", ".antimony"),
    "latex": (".tex",),
    "python": (".py",),
    "petab": (),
}


def exported(system: OdeSystem, name: str, experiment: str | None = None) -> str:
    """Return a system in one of the formats that are a single text.

    Parameters
    ----------
    name : str
        "sbml", "antimony", "latex" or "python".
    experiment : str, optional
        Take the initial values and inputs of this experiment of the protocol; the system's own if not given.
    """
    writers: dict[str, Callable[[OdeSystem, str | None], str]] = {
        "sbml": to_sbml,
        "antimony": to_antimony,
        "latex": _latex,
        "python": to_python,
    }
    return writers[format_named(name)](system, experiment)


def format_named(name: str) -> str:
    """Return the name of a format if there is one of that name."""
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS)
        raise OptionError(f"the format must be one of {', '.join(FORMATS)}, got '{name}'{hint}")
    return name


def format_of(path: Path) -> str | None:
    """Return the format that files of that ending have."""
    return next((name for name, endings in FORMATS.items() if path.suffix.lower() in endings), None)


def _latex(system: OdeSystem, experiment: str | None) -> str:
    from dataclasses import replace

    initial, inputs = conditions(system, experiment)
    return to_latex(replace(system, initial=initial, inputs=inputs))
