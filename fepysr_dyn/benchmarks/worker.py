"""The process in which units are carried out: requests on its standard input, answers on its output.

It lives for many units, because importing takes longer than many of them. Whoever started it kills it when a
unit takes too long or too much memory; when that one is gone, it ends itself with all it has started.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from fepysr_dyn.benchmarks.records import plain
from fepysr_dyn.benchmarks.units import ERROR, Line, Unit

CLOCKS = ("wall", "cpu")


def serve(clock: str, megabytes: float) -> None:
    """Answer requests until the other side closes the pipe.

    Parameters
    ----------
    clock : {"wall", "cpu"}
        What caps are measured with. On a busy machine seconds of the processor tell more; a search that asks
        ``time.monotonic`` whether its time is over is then told those.
    megabytes : float
        Memory from which on an allocation fails, as a second line behind the watching from outside.
    """
    faulthandler.enable()
    # Whatever a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _prefer_to_be_killed()
    _limit_data(megabytes)
    if clock == "cpu":
        time.monotonic = time.process_time
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, requests), daemon=True).start()
    while True:
        answer = _answer(json.loads(requests.get()))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def carry_out(task: str, unit: Unit) -> Line:
    """Return the result of a unit in this process; whatever it raises is its error."""
    module, name = task.split(":")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function: Callable[[Unit], Line] = getattr(importlib.import_module(module), name)
            result: Line = plain(function(unit))
    except MemoryError:
        return {ERROR: "out of memory"}
    except Exception as error:
        return {ERROR: " ".join(f"{type(error).__name__}: {error}".split())[:500]}
    return result


def _answer(request: dict[str, Any]) -> Line:
    return carry_out(request["task"], Unit(**request["unit"]))


def _listen(stream: IO[str], requests: queue.SimpleQueue[str]) -> None:
    for line in stream:
        requests.put(line)
    # Nobody is waiting for an answer any more. This process leads a group of its own.
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def _prefer_to_be_killed() -> None:
    """When memory is short, the kernel should take this process and not the one that keeps the records."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


def _limit_data(megabytes: float) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (int(megabytes * 2**20), hard))
