"""Starts a confined program and waits for its answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_START = "import sys; sys.path.append(sys.argv.pop(1)); from fepysr_dyn.confined.{} import main; main()"


def answer_of(program: str, argument: str, content: bytes = b"", *, seconds: float) -> str:
    """Return what a program of this package answers, or an empty text if it crashed or came to no end.

    Parameters
    ----------
    program : str
        The name of its module.
    argument : str
        Its only argument.
    content : bytes
        What it reads from stdin.
    """
    root = Path(__file__).resolve().parents[2]
    # -P keeps the working directory, where files of strangers may lie, out of the path of modules.
    command = [sys.executable, "-P", "-c", _START.format(program), str(root), argument]
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=seconds, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.decode("utf-8", "replace")
