"""Worker processes on this machine that report while they work and can be stopped.

Any `concurrent.futures.Executor` can carry out the units of a discovery. This one does more than the protocol
asks: progress and fronts so far come back while a unit is running, and running units can be cancelled.
Processes are started by a fork server that has no threads of its own; torch and numba may have started some
here, and a forked copy of them would hang.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from fepysr_dyn.discovery.threads import use_one_thread

_PRELOADED = [
    "fepysr_dyn.discovery.execution",
    *(f"fepysr_dyn.search.{name}" for name in ("sparse", "rational", "parametric", "evolution")),
    *("scipy.linalg", "scipy.optimize", "scipy.integrate", "xarray", "symengine"),
]
_ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    # After Ctrl-C this process may leave without tidying up; the helpers of multiprocessing do it silently.
    "PYTHONWARNINGS": "ignore",
}


@dataclass(frozen=True)
class Line:
    """The line of a worker process to the process that started it."""

    messages: Any
    cancelled: Any

    def send(self, unit: str, message: object) -> None:
        """Send something about a unit."""
        self.messages.put((unit, message))


_line: Line | None = None


def line() -> Line | None:
    """Return the line home if this is a worker process of a `WorkerPool`."""
    return _line


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool(ProcessPoolExecutor):
    """A process pool for `discover(executor=...)`; leaving it ends its processes at once.

    A script that makes one needs the usual line ``if __name__ == "__main__":``.

    Parameters
    ----------
    workers : int
        Units that run at the same time. A unit that has several shares of these may use as many threads.

    Examples
    --------
    >>> import fepysr_dyn as fd
    >>> with WorkerPool(2) as pool:  # doctest: +SKIP
    ...     found = fd.discover(runs, executor=pool)
    """

    def __init__(self, workers: int, *, processes: int | None = None) -> None:
        methods = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        self.slots = workers
        with _environment(_ENVIRONMENT):
            self._line = Line(context.Queue(), context.Event())
            if "forkserver" in methods:
                from multiprocessing import forkserver

                context.set_forkserver_preload(_PRELOADED)
                with _deaf_to_ctrl_c():
                    forkserver.ensure_running()
            super().__init__(
                min(workers, processes or workers), context, initializer=_begin, initargs=(self._line,)
            )

    def messages(self) -> list[tuple[str, Any]]:
        """Return what workers have sent since the last call: titles of units, and what was sent."""
        received = []
        with contextlib.suppress(queue.Empty, EOFError, OSError):
            while True:
                received.append(self._line.messages.get_nowait())
        return received

    def cancel(self) -> None:
        """Ask running units to end soon with what they have."""
        self._line.cancelled.set()

    def stop(self) -> None:
        """End all processes, whatever they are doing."""
        processes = list((self._processes or {}).values())
        self.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        self._line.messages.close()
        self._line.messages.cancel_join_thread()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _begin(home: Line) -> None:
    """Prepare a worker process."""
    global _line
    _line = home
    # Ctrl-C reaches every process of a terminal; the one that was started by the user answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    home.messages.cancel_join_thread()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use_one_thread()


def _end_with_parent() -> None:
    """Leave no orphan behind when the process that started this one is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        time.sleep(0.1)
        os._exit(1)


@contextlib.contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, not even before they can say that they ignore it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables for processes that are started inside."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
