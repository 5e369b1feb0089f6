"""The runner: units on any executor, every finished one a line, a second call does only what is missing."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from fepysr_dyn.benchmarks.isolation import STOPPED, Request, allow_starting, run_isolated, stop_all
from fepysr_dyn.benchmarks.limits import Limits
from fepysr_dyn.benchmarks.units import ERROR, Line, Unit, lines_of, pending
from fepysr_dyn.benchmarks.versions import versions
from fepysr_dyn.errors import MissingDependencyError, OptionError
from fepysr_dyn.interruption import interruptible

if TYPE_CHECKING:
    from fepysr_dyn.benchmarks.records import RecordFile

#: Seconds between two looks for Ctrl-C.
_LOOK = 0.2


class Watcher(Protocol):
    """What is told about the course of a run."""

    def begin(self, total: int, lines: Sequence[Line]) -> None:
        """Take the number of units of the run, and the lines that are there and stay."""
        ...

    def finished(self, unit: Unit, line: Line) -> None:
        """Take a unit whose line is on the disk."""
        ...

    def end(self) -> None:
        """Be done."""
        ...


@dataclass(frozen=True)
class Run:
    """The lines of the units asked for, in their order, and whether that is all of them."""

    lines: tuple[Line, ...]
    complete: bool
    computed: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Conditions:
    """How units are carried out; nothing here decides a result that was not cut short.

    Parameters
    ----------
    clock : {"wall", "cpu"}
        What caps are measured with.
    threads : int
        Threads per unit.
    """

    limits: Limits = field(default_factory=Limits)
    clock: str = "wall"
    threads: int = 1


def run_units(
    units: Sequence[Unit],
    task: str,
    records: RecordFile,
    executor: Executor,
    *,
    conditions: Conditions | None = None,
    watcher: Watcher | None = None,
    retry_failed: bool = False,
) -> Run:
    """Carry out the units that have no line yet.

    Parameters
    ----------
    task : str
        "module:function" that takes a `Unit` and returns its result in terms of JSON.
    executor : Executor
        Threads of this process (`local_executor`), or a cluster's; see `cluster_executor`.
    conditions : Conditions, optional
        Limits, clock and threads.

    Returns
    -------
    Run
        Ctrl-C ends it early with what is there.
    """
    conditions = conditions or Conditions()
    missing = pending(units, records.lines, retry_failed=retry_failed)
    if watcher is not None:
        kept = [unit for unit in units if unit not in missing]
        watcher.begin(len(units), [line for _, line in lines_of(kept, records.lines) if line is not None])
    started, computed = time.monotonic(), 0
    try:
        # A wish to stop and no exception, which could come between the disk and the list of lines.
        with interruptible() as cancelled, _submitted(missing, task, executor, conditions) as futures:
            for future in _as_they_finish(futures, cancelled):
                line = _line_of(future, futures[future])
                if line.get(ERROR) == STOPPED:
                    continue
                records.append(line)
                computed += 1
                if watcher is not None:
                    watcher.finished(futures[future], records.lines[-1])
    except KeyboardInterrupt:
        pass
    finally:
        if watcher is not None:
            watcher.end()
    found = [line for _, line in lines_of(units, records.lines)]
    lines = tuple(line for line in found if line is not None)
    return Run(lines, len(lines) == len(units), computed, time.monotonic() - started)


@contextmanager
def local_executor(workers: int) -> Iterator[Executor]:
    """Yield an executor of this machine; each of its threads waits for a process of its own."""
    executor = ThreadPoolExecutor(workers)
    try:
        yield executor
    finally:
        # Processes first: their threads then end at once.
        stop_all()
        executor.shutdown(cancel_futures=True)
        allow_starting()


@contextmanager
def cluster_executor(address: str, timeout: float = 10.0) -> Iterator[Executor]:
    """Yield an executor of a Dask cluster, given the address of its scheduler."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingDependencyError(
            "--scheduler needs dask.distributed: pip install 'fepysr-dyn[dask]'"
        ) from None
    try:
        client: Any = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise OptionError(f"--scheduler {address}: no scheduler answers there: {reason}") from None
    try:
        yield client.get_executor(pure=False)
    finally:
        client.close(timeout=1)


@contextmanager
def _submitted(
    units: Sequence[Unit], task: str, executor: Executor, conditions: Conditions
) -> Iterator[dict[Future[Line], Unit]]:
    futures = {}
    for unit in units:
        request = Request(task, unit, conditions.limits, conditions.clock, conditions.threads)
        futures[executor.submit(run_isolated, request)] = unit
    try:
        yield futures
    finally:
        for future in futures:
            future.cancel()


def _as_they_finish(futures: dict[Future[Line], Unit], cancelled: threading.Event) -> Iterator[Future[Line]]:
    """Yield futures as they are done; a short wait at a time, so that Ctrl-C is heard."""
    left = set(futures)
    while left and not cancelled.is_set():
        done, left = wait(left, timeout=_LOOK, return_when=FIRST_COMPLETED)
        yield from done


def _line_of(future: Future[Line], unit: Unit) -> Line:
    try:
        return future.result()
    except Exception as error:
        # The executor itself failed, for example because several workers of a cluster died of this unit.
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        return {**unit.to_line(), ERROR: f"not carried out: {reason}", "versions": versions()}
