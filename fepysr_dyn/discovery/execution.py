"""One unit of work carried out, here or in another process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from fepysr_dyn.discovery.codec import to_json
from fepysr_dyn.discovery.threads import single_threaded
from fepysr_dyn.discovery.units import Unit
from fepysr_dyn.discovery.workers import Line, line
from fepysr_dyn.expressions import to_text
from fepysr_dyn.search.problem import Progress, Runtime

if TYPE_CHECKING:
    import threading

    from fepysr_dyn.search.front import ParetoFront

#: Seconds between two reports of a worker process.
_REPORT_EVERY = 0.2


@dataclass(frozen=True)
class Answer:
    """What a unit of work returned.

    Parameters
    ----------
    text : str
        Its document, as JSON.
    seconds : float
        How long it took.
    allowed : float
        Seconds it was allowed.
    """

    text: str
    seconds: float
    allowed: float = float("inf")


def execute(unit: Unit, threads: int = 1, until: float = float("inf")) -> Answer:
    """Carry out a unit of work in a worker process or on another machine.

    Parameters
    ----------
    threads : int
        Threads that the search may use; they do not change its answer.
    until : float
        Time (``time.time``) at which the search has to end; clocks of other kinds differ between machines.
    """
    allowed = max(0.01, min(unit.seconds, until - time.time()))
    deadline = time.monotonic() + allowed
    home = line()
    if home is None:
        return carry_out(unit, Runtime(workers=threads, deadline=deadline), allowed)
    report = _Reporter(home, unit.title)
    cancelled = cast("threading.Event", home.cancelled)
    runtime = Runtime(report.progress, cancelled, None, threads, deadline, found=report.front)
    return carry_out(unit, runtime, allowed)


def carry_out(unit: Unit, runtime: Runtime, allowed: float = float("inf")) -> Answer:
    """Carry out a unit of work in this process."""
    started = time.monotonic()
    with single_threaded():
        text = to_json(unit.function(runtime, *unit.arguments))
    return Answer(text, time.monotonic() - started, allowed)


class _Reporter:
    """Sends reports home, but not all of them: some engines report a thousand times a second."""

    def __init__(self, home: Line, title: str) -> None:
        self._home = home
        self._title = title
        self._last = 0.0

    def progress(self, report: Progress) -> None:
        now = time.monotonic()
        if now - self._last >= _REPORT_EVERY:
            self._last = now
            self._home.send(self._title, report)

    def front(self, front: ParetoFront) -> None:
        candidates = [{**vars(c), "expression": to_text(c.expression)} for c in front]
        self._home.send(self._title, {"candidates": candidates, "complete": False, "message": "so far"})
