"""Files that may come from a stranger, read only if they are files and not too large."""

from __future__ import annotations

from pathlib import Path

from fepysr_dyn.errors import ModelError


def read_bounded(path: Path, most: int, what: str) -> bytes:
    """Return the content of a file.

    Raises
    ------
    ModelError
        If it is not a plain file, has more than `most` bytes, or cannot be read.
    """
    try:
        if path.is_dir() or not path.exists():
            path.open("rb").close()
        if not path.is_file():
            raise ModelError(f"{path}: cannot be read: expected {what}, found a device or a pipe")
        with path.open("rb") as stream:
            content = stream.read(most + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"{path}: cannot be read: {reason}") from None
    if len(content) > most:
        raise ModelError(f"{path}: expected {what} of at most {most} bytes")
    return content
