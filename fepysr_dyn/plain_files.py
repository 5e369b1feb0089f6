"""Files and folders that may come from a stranger: plain, of bounded size, nothing outside of the folder."""

from __future__ import annotations

from pathlib import Path

from fepysr_dyn.errors import DataError, ModelError


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


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder, unless a link there leads out of it.

    Raises
    ------
    DataError
        If reading or writing the file would read or write another one.
    """
    path = folder / name
    try:
        leads_out = path.is_symlink() and not path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):
        leads_out = True
    if leads_out or Path(name).name != name:
        raise DataError(
            f"{path}: expected a file of this folder, found a link or a name that leads out of it"
        )
    return path
