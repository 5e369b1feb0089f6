"""Where a result came from, for the report, and how to repeat it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fepysr_dyn.discovery import Discovery

_DEFAULT_ENGINE = "portfolio"
_LONGEST = 4000


@dataclass(frozen=True)
class Origin:
    """Versions, seed, data and the command to repeat it.

    Parameters
    ----------
    command : str
        As it was typed; empty if the discovery was not made from the command line.
    repeat : str
        A command that works in the result's folder; empty if the data were not kept.
    """

    facts: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    derivatives: tuple[str, ...]
    config: str
    command: str
    repeat: str


def origin(found: Discovery) -> Origin:
    """Return the provenance of a discovery in the words of the report."""
    provenance = found.provenance
    seed = provenance.get("seed")
    config = provenance.get("config")
    facts = [
        ("seed", str(seed)),
        ("time", f"{found.seconds:.1f} s"),
        ("search", "complete" if found.complete else "cut short by a time limit or the user"),
        ("data, SHA-256", str(provenance.get("data_sha256", "not recorded"))),
    ]
    versions = provenance.get("versions")
    derivatives = provenance.get("derivatives")
    return Origin(
        tuple(facts),
        tuple((str(key), str(value)) for key, value in versions.items())
        if isinstance(versions, Mapping)
        else (),
        tuple(map(str, derivatives)) if isinstance(derivatives, list | tuple) else (),
        json.dumps(config, indent=2, default=str)[:_LONGEST] if config else "",
        str(provenance.get("command", "")),
        _repeat(found, seed, config),
    )


def _repeat(found: Discovery, seed: Any, config: Any) -> str:
    if found.data is None:
        return ""
    words = ["fepysr-dyn", "discover", "data.nc", "--seed", str(seed)]
    engine = config.get("engine", _DEFAULT_ENGINE) if isinstance(config, Mapping) else _DEFAULT_ENGINE
    if engine != _DEFAULT_ENGINE:
        words += ["--engine", str(engine)]
    return shlex.join([*words, "-o", "again"])
