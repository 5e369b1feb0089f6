"""What a confined program gives up before it looks at a file."""

from __future__ import annotations

import os
from collections.abc import Callable

#: How deep a file may nest its elements or parentheses; libraries written in C recurse over them.
MAX_DEPTH = 250


class Refused(Exception):  # noqa: N818
    """What is wrong with the file, in one line."""


def confine(*, memory: int, seconds: int) -> None:
    """Give up opening and writing files, and bound memory and time, as far as the system can.

    What is open stays open; modules that are not loaded yet cannot be loaded any more.
    """
    try:
        import resource
    except ImportError:
        return
    for limit, value in (
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_CPU", seconds),
        ("RLIMIT_AS", memory),
        ("RLIMIT_NOFILE", 0),
    ):
        try:
            resource.setrlimit(getattr(resource, limit), (value, value))
        except (AttributeError, OSError, ValueError):
            continue


def answering_alone() -> Callable[[str], None]:
    """Return what writes the one answer to stdout and ends the process; libraries write nowhere."""
    answers = os.dup(1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)

    def answer(text: str) -> None:
        with os.fdopen(answers, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
        # Libraries that stumbled over a file may do so again while they tidy up.
        os._exit(0)

    return answer


def one_line(text: str) -> str:
    """Return a message as one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else f"{line[:197]}..."
