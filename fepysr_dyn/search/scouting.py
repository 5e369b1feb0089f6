"""Work that does not need the others' answers, so that it can run beside them.

With one worker it is done when its answer is asked for; with more it starts at once on a thread of its own.
Either way the answer is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace

from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.problem import Runtime

#: Takes what surrounds the search and returns its front.
Work = Callable[[Runtime], ParetoFront]
#: Returns the front of a work, waiting for it if need be.
Answer = Callable[[], ParetoFront]


@contextmanager
def beside(work: Work, runtime: Runtime) -> Iterator[Answer]:
    """Yield the answer of a work that begins now if there is a second worker; leaving ends it.

    Two threads share the interpreter: this is for work that is done in compiled code.
    """
    if runtime.workers < 2 and runtime.executor is None:
        yield lambda: work(runtime)
        return
    stop = _LinkedEvent(runtime.cancelled)
    # Reports come from one thread only, and the others' are the ones a user can follow.
    alone = replace(runtime, cancelled=stop, workers=1, progress=None, found=None)
    future: Future[ParetoFront] = Future()
    # A thread that nobody waits for at the end: it may be compiling, which cannot be interrupted.
    threading.Thread(target=_carry_out, args=(future, work, alone), daemon=True).start()
    try:
        yield future.result
    finally:
        stop.set()


def _carry_out(future: Future[ParetoFront], work: Work, runtime: Runtime) -> None:
    try:
        future.set_result(work(runtime))
    except BaseException as error:  # whatever it is, it is for whoever asks for the answer
        future.set_exception(error)


class _LinkedEvent(threading.Event):
    """An event that is also set when an outer one is."""

    def __init__(self, outer: threading.Event | None) -> None:
        super().__init__()
        self._outer = outer

    def is_set(self) -> bool:
        return super().is_set() or (self._outer is not None and self._outer.is_set())
