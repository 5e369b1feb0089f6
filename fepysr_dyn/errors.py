"""Every exception a user can see, under one base class.

A message is one line: what was expected, what was found and, where there is one, the fix.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any


class FepysrDynError(Exception):
    """Base class of all errors raised on purpose by this package."""


class ExpressionError(FepysrDynError):
    """A formula that cannot be read.

    Parameters
    ----------
    message : str
        What is wrong.
    text : str
        The formula.
    position : int
        Offset of the offending character in `text`.
    """

    def __init__(self, message: str, text: str = "", position: int = 0) -> None:
        self.reason = message
        self.text = text
        self.position = position
        super().__init__(_point_at(message, text, position))


class ModelError(FepysrDynError):
    """A model file or an OdeSystem that contradicts itself."""


class DataError(FepysrDynError):
    """Measurements that cannot be used as they are."""


class DataWarning(UserWarning):
    """Something in the measurements that will keep equations from being found."""


class InputError(DataError, ValueError):
    """Arrays a regressor cannot use; also a ValueError, as scikit-learn's callers expect."""


class OptionError(FepysrDynError):
    """An argument or option with a value that is not allowed."""


class SimulationError(FepysrDynError):
    """An integration that ended early, where the caller asked for a complete one."""


class SearchInterrupted(FepysrDynError):  # noqa: N818
    """A discovery that was cancelled before there was a system.

    Parameters
    ----------
    message : str
        What was going on.
    fronts : mapping of str to ParetoFront
        What had been found so far, per state.
    """

    def __init__(self, message: str, fronts: Mapping[str, Any] | None = None) -> None:
        self.fronts = dict(fronts or {})
        super().__init__(message)


class WorkerError(FepysrDynError):
    """A worker process that died."""


class MissingDependencyError(FepysrDynError):
    """An optional package that this call needs and that is not installed."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a suggestion to append to a message, or an empty string.

    Examples
    --------
    >>> did_you_mean("gama1", ["gamma1", "K"])
    "; did you mean 'gamma1'?"
    """
    close = difflib.get_close_matches(name, list(known), n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(repr(match) for match in close)}?" if close else ""


def _point_at(message: str, text: str, position: int) -> str:
    """Show the neighbourhood of the offending character on the same line."""
    if not text:
        return message
    start = max(0, position - 20)
    excerpt = text[start:position] + "▸" + text[position : position + 20]
    prefix = "…" if start else ""
    suffix = "…" if position + 20 < len(text) else ""
    shown = "".join(char if char.isprintable() else "·" for char in excerpt)
    return f"{message} at character {position + 1}: {prefix}{shown}{suffix}"
