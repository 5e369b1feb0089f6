"""Finished units of work in a folder, so that a run that was killed continues where it was.

A unit is kept under a hash of all that decides its answer. What was made from other data, with other
settings, another seed or another version is never used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fepysr_dyn.discovery.codec import Document, to_json
from fepysr_dyn.discovery.documents import read_derivatives, read_search, read_settled
from fepysr_dyn.discovery.execution import Answer
from fepysr_dyn.discovery.files import read_validation
from fepysr_dyn.discovery.units import Unit
from fepysr_dyn.errors import DataError, FepysrDynError, ModelError, OptionError
from fepysr_dyn.plain_files import inside, read_bounded

FOLDER = "checkpoint"
_RUN = "run.json"
_FORMAT = 1
_LARGEST = 2_000_000_000


_READERS: dict[str, Callable[[Document], object]] = {
    "derivatives": read_derivatives,
    "search": read_search,
    "system": read_settled,
    "validation": read_validation,
}


def digest(*texts: str) -> str:
    """Return one hash of several texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


class Checkpoint:
    """The finished units of one run.

    Parameters
    ----------
    folder : path
        The folder of the result; units are kept in a folder of their own inside.
    identity : mapping
        What decides the answer of the whole run, as JSON has it: data, settings, seed, version.

    Raises
    ------
    OptionError
        If the folder holds units of another run.
    """

    def __init__(self, folder: str | Path, identity: Mapping[str, Any]) -> None:
        self.folder = inside(Path(folder), FOLDER)
        self._identity = json.loads(to_json({"format": _FORMAT, **identity}))
        self._key = digest(json.dumps(self._identity, sort_keys=True))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for rest in self.folder.glob(".*.tmp"):
                rest.unlink()
        except OSError as error:
            raise DataError(f"{self.folder}: cannot be written: {error.strerror}") from None
        self._check()
        write_atomically(self.folder / _RUN, json.dumps(self._identity, indent=2) + "\n")

    def _check(self) -> None:
        before = _read(self.folder / _RUN)
        if before is None:
            return
        differing = [key for key in self._identity if before.get(key) != self._identity[key]]
        if differing:
            what = " and ".join(_difference(key, before.get(key), self._identity[key]) for key in differing)
            raise OptionError(
                f"{self.folder}: the units kept there belong to a run with {what}; "
                "call it as it was called then, or start over without resuming"
            )

    def load(self, unit: Unit) -> Answer | None:
        """Return the answer of a unit if it was kept.

        One that a time limit cut short is only used if it may not have more time now.
        """
        entry = _read(self._path(unit))
        if entry is None or entry.get("key") != self._unit_key(unit):
            return None
        try:
            _READERS[unit.name[0]](entry["document"])
            allowed = float(entry["allowed_seconds"])
            answer = Answer(to_json(entry["document"]), float(entry["seconds"]), allowed)
            cut_short = bool(entry["cut_short"])
        except (FepysrDynError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
            # Somebody wrote into the file; the unit is carried out again.
            return None
        return None if cut_short and unit.seconds > allowed else answer

    def store(self, unit: Unit, answer: Answer) -> None:
        """Keep the answer of a unit."""
        document = json.loads(answer.text)
        entry = {
            "unit": list(unit.name),
            "key": self._unit_key(unit),
            "seconds": answer.seconds,
            "allowed_seconds": answer.allowed,
            "cut_short": not document.get("complete", True),
            "document": document,
        }
        write_atomically(self._path(unit), to_json(entry) + "\n")

    def _unit_key(self, unit: Unit) -> str:
        return digest(self._key, *unit.name, *unit.depends_on)

    def _path(self, unit: Unit) -> Path:
        # Names that differ in case only are one name on some file systems.
        return self.folder / f"{'-'.join(unit.name)}-{self._unit_key(unit)[:8]}.json"


def clear_checkpoint(folder: str | Path) -> None:
    """Remove what an earlier run kept in a folder."""
    kept = inside(Path(folder), FOLDER)
    if not kept.is_dir():
        return
    try:
        for path in (*kept.glob("*.json"), *kept.glob(".*.tmp")):
            path.unlink()
    except OSError as error:
        raise DataError(f"{kept}: cannot be written: {error.strerror}") from None


def write_atomically(path: Path, text: str) -> None:
    """Write a file that is there as a whole or not at all, even if the process is killed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None


def _read(path: Path) -> dict[str, Any] | None:
    """Return a JSON object, None if there is none that can be read."""
    try:
        document = json.loads(read_bounded(path, _LARGEST, "a unit of work"))
    except (ModelError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _difference(key: str, before: Any, now: Any) -> str:
    """Name one thing in which two runs differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        inner = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        return f"other settings ({', '.join(inner)})"
    if key == "data_sha256":
        return "other data"
    return f"another {key} ({before}, not {now})"
