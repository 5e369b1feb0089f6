"""The file of finished units: one JSON line each, written so that a crash costs at most the last one."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from fepysr_dyn.benchmarks.units import Line
from fepysr_dyn.errors import DataError


class RecordFile:
    """JSON lines that are read once and then only appended to.

    Parameters
    ----------
    path : Path
        Made if it does not exist.

    Attributes
    ----------
    lines : list of dict
        All that is in the file.
    set_aside : int
        Damaged lines that were moved into the file `aside` beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.aside = path.with_name(path.name + ".damaged")
        self.set_aside = 0
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise DataError(f"{path}: cannot be opened for writing: {error.strerror}") from None
        try:
            self._lock()
            self.lines: list[Line] = self._read()
        except BaseException:
            os.close(self._handle)
            raise

    def append(self, line: Mapping[str, Any]) -> None:
        """Write a line and wait until the disk has it."""
        entry = plain(line)
        os.write(self._handle, (json.dumps(entry, allow_nan=False) + "\n").encode())
        os.fsync(self._handle)
        self.lines.append(entry)

    def close(self) -> None:
        """Let others write."""
        os.close(self._handle)

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _lock(self) -> None:
        """Two runs must not fill one file: each would repeat what the other does."""
        try:
            import fcntl
        except ImportError:  # no such locks on Windows
            return
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DataError(
                f"{self.path}: another run is filling this file; wait for it or give another --out"
            ) from None

    def _read(self) -> list[Line]:
        content = self.path.read_bytes()
        good, damaged, lines = [], [], []
        for text in content.splitlines():
            line = parse_line(text)
            if line is not None:
                good.append(text)
                lines.append(line)
            elif text.strip():
                damaged.append(text)
        if damaged:
            with self.aside.open("ab") as stream:
                stream.write(b"\n".join(damaged) + b"\n")
                os.fsync(stream.fileno())
            self.set_aside = len(damaged)
        if damaged or (content and not content.endswith(b"\n")):
            self._replace(b"".join(text + b"\n" for text in good), unchanged=_common(content, good))
        return lines

    def _replace(self, content: bytes, unchanged: int) -> None:
        """Bring the file to this content; what is the same at its beginning is never rewritten."""
        os.truncate(self.path, unchanged)
        os.write(self._handle, content[unchanged:])
        os.fsync(self._handle)


def read_lines(path: Path) -> list[Line]:
    """Return the lines of a file without touching it; damaged ones are left out."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    return [line for line in map(parse_line, content.splitlines()) if line is not None]


def parse_line(text: bytes) -> Line | None:
    """Return a line, None if it is damaged."""
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def plain(value: Any) -> Any:
    """Return a value in terms of JSON; numbers that JSON does not have become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _common(content: bytes, good: list[bytes]) -> int:
    """Return how many bytes of a file are undamaged lines from its beginning on."""
    position = 0
    for text in good:
        if not content.startswith(text + b"\n", position):
            break
        position += len(text) + 1
    return position
