"""Ctrl-C as a wish to stop: the first one asks the search to end, the second one ends it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(patience: float | None = None) -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets; outside the main thread Ctrl-C is left alone.

    Parameters
    ----------
    patience : float, optional
        Seconds after which the first Ctrl-C ends whatever has not ended by itself, as the second one does.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    previous = signal.getsignal(signal.SIGINT)
    # Not every system has timers; there the second Ctrl-C has to do.
    timed = patience is not None and hasattr(signal, "setitimer")
    alarm_before = signal.getsignal(signal.SIGALRM) if timed else None

    def handle(number: int, frame: FrameType | None) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()
        if timed and patience is not None:
            signal.setitimer(signal.ITIMER_REAL, patience)

    if timed:
        signal.signal(signal.SIGALRM, handle)
    signal.signal(signal.SIGINT, handle)
    try:
        yield event
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, alarm_before if alarm_before is not None else signal.SIG_DFL)
        signal.signal(signal.SIGINT, previous if previous is not None else signal.SIG_DFL)
