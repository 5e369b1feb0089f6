"""Units of work carried out one after the other here, or side by side on an executor."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field, replace
from typing import Any

from fepysr_dyn.discovery.checkpoint import Checkpoint, digest
from fepysr_dyn.discovery.codec import Document
from fepysr_dyn.discovery.documents import read_front
from fepysr_dyn.discovery.execution import Answer, carry_out, execute
from fepysr_dyn.discovery.journal import Journal
from fepysr_dyn.discovery.units import Unit
from fepysr_dyn.discovery.workers import WorkerPool
from fepysr_dyn.errors import ExpressionError, SearchInterrupted, WorkerError
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.problem import Progress, Runtime

#: Seconds between two looks at whether the user cancelled.
_PATIENCE = 0.1
#: Seconds for running units to hand over what they have after a cancellation.
_GRACE = 0.6


@dataclass(frozen=True)
class Done:
    """A finished unit: its document and the hash of that."""

    document: Document
    key: str


@dataclass
class Scheduler:
    """Carries out units, reports progress, keeps what is finished, and answers a cancellation.

    Parameters
    ----------
    until : float
        Time (``time.time``) at which searches have to end.
    reused : float
        Seconds that units took that were not carried out again.
    """

    runtime: Runtime
    executor: Executor | None = None
    checkpoint: Checkpoint | None = None
    journal: Journal = field(default_factory=Journal)
    until: float = float("inf")
    reused: float = 0.0
    fronts: dict[str, ParetoFront] = field(default_factory=dict)

    @property
    def slots(self) -> int:
        """How many units the executor carries out at once, as far as it tells."""
        if self.executor is None:
            return 1
        for name in ("slots", "_max_workers"):
            if isinstance(count := getattr(self.executor, name, None), int):
                return max(1, count)
        # dask.distributed's executor knows its client, and that its workers.
        client = getattr(self.executor, "_client", None)
        return max(1, sum(client.ncores().values())) if client is not None else 1

    def run(self, units: Sequence[Unit], begin: float, end: float) -> list[Done]:
        """Return the documents of units, in order; they are the part of the whole from `begin` to `end`."""
        display = _Display(self.runtime, units, begin, end)
        answers: dict[str, Answer] = {}
        for unit in units:
            kept = self.checkpoint.load(unit) if self.checkpoint else None
            if kept is not None:
                self.reused += kept.seconds
                self._take(unit, kept, answers, display, "taken from the checkpoint")
        waiting = [unit for unit in units if unit.title not in answers]
        try:
            if self.executor is None:
                self._here(waiting, answers, display)
            else:
                self._elsewhere(waiting, answers, display)
        except KeyboardInterrupt:
            raise self._interruption(waiting) from None
        done = [answers[unit.title].text for unit in units]
        return [Done(json.loads(text), digest(text)) for text in done]

    def _here(self, units: Sequence[Unit], answers: dict[str, Answer], display: _Display) -> None:
        for unit in units:
            if self._cancelled():
                raise self._interruption(units)
            display.begin(unit)
            allowed = max(0.01, min(unit.seconds, self.until - time.time()))

            def progress(report: Progress, unit: Unit = unit) -> None:
                self._heard(unit, report, display)

            def found(front: ParetoFront, unit: Unit = unit) -> None:
                self._so_far(unit, front)

            runtime = replace(
                self.runtime, progress=progress, found=found, deadline=time.monotonic() + allowed
            )
            self._take(unit, carry_out(unit, runtime, allowed), answers, display)
        if self._cancelled():
            raise self._interruption(units)

    def _elsewhere(self, units: Sequence[Unit], answers: dict[str, Answer], display: _Display) -> None:
        assert self.executor is not None  # noqa: S101
        threads = max(1, self.slots // max(1, len(units)))
        try:
            futures = {self.executor.submit(execute, unit, threads, self.until): unit for unit in units}
            for unit in units:
                display.begin(unit)
            self._collect(futures, answers, display)
        except (BrokenExecutor, CancelledError):
            if self._cancelled():
                raise self._interruption(units) from None
            raise WorkerError(
                "a worker process died, perhaps for lack of memory; try fewer workers"
                + (", what is finished is kept for resuming" if self.checkpoint else "")
            ) from None
        if self._cancelled():
            raise self._interruption(units)

    def _collect(
        self, futures: dict[Future[Answer], Unit], answers: dict[str, Answer], display: _Display
    ) -> None:
        pending = set(futures)
        give_up = float("inf")
        try:
            while pending and time.monotonic() < give_up:
                done, pending = wait(pending, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
                self._listen(futures, display)
                for future in done:
                    if future.cancelled() and self._cancelled():
                        # It had not begun when the user stopped; others may still hand over what they have.
                        continue
                    self._take(futures[future], future.result(), answers, display)
                if self._cancelled() and give_up == float("inf"):
                    # Only workers of our own can be asked; others are not waited for.
                    stoppable = isinstance(self.executor, WorkerPool)
                    give_up = time.monotonic() + (_GRACE if stoppable else 0.0)
                    self._ask_to_stop(pending)
        finally:
            self._ask_to_stop(pending)

    def _ask_to_stop(self, pending: set[Future[Answer]]) -> None:
        for future in pending:
            future.cancel()
        if pending and isinstance(self.executor, WorkerPool):
            self.executor.cancel()

    def _listen(self, futures: dict[Future[Answer], Unit], display: _Display) -> None:
        """Pass on what worker processes have sent."""
        if not isinstance(self.executor, WorkerPool):
            return
        units = {unit.title: unit for unit in futures.values()}
        for title, message in self.executor.messages():
            if title not in units:
                continue
            if isinstance(message, Progress):
                self._heard(units[title], message, display)
            else:
                self._so_far(units[title], _front(message))

    def _heard(self, unit: Unit, report: Progress, display: _Display) -> None:
        self.journal.progress(unit.title, report)
        display.progress(unit, report)

    def _so_far(self, unit: Unit, front: ParetoFront) -> None:
        if unit.state is not None:
            before = self.fronts.get(unit.label, ParetoFront(()))
            merged = ParetoFront.of([*before, *front], complete=False, message="not finished")
            self.fronts[unit.label] = merged

    def _take(
        self,
        unit: Unit,
        answer: Answer,
        answers: dict[str, Answer],
        display: _Display,
        remark: str = "",
    ) -> None:
        """Take the answer of a unit; one that the user cut short is not kept."""
        document = json.loads(answer.text)
        complete = bool(document.get("complete", True))
        if unit.state is not None:
            self.fronts[unit.label] = read_front(document["front"])
        if not complete and self._cancelled():
            self.journal.write(f"{unit.title}: interrupted")
            return
        answers[unit.title] = answer
        if self.checkpoint is not None and not remark:
            self.checkpoint.store(unit, answer)
        self.journal.finished(unit, document, answer.seconds, remark)
        display.finish(unit)

    def _cancelled(self) -> bool:
        return self.runtime.cancelled is not None and self.runtime.cancelled.is_set()

    def _interruption(self, units: Sequence[Unit]) -> SearchInterrupted:
        self.journal.write("interrupted")
        names = ", ".join(unit.title for unit in units)
        return SearchInterrupted(f"interrupted while working on: {names}", self.fronts)


class _Display:
    """Progress of several units as one number that only grows."""

    def __init__(self, runtime: Runtime, units: Sequence[Unit], begin: float, end: float) -> None:
        self._runtime = runtime
        self._begin, self._width = begin, end - begin
        self._shares = dict.fromkeys((unit.title for unit in units), 0.0)

    def begin(self, unit: Unit) -> None:
        self._report(unit, Progress(unit.name[0], 0.0, _ABOUT[unit.name[0]]))

    def progress(self, unit: Unit, report: Progress) -> None:
        share = min(1.0, max(report.fraction, self._shares[unit.title]))
        self._shares[unit.title] = share
        self._report(unit, report)

    def finish(self, unit: Unit) -> None:
        self._shares[unit.title] = 1.0
        self._report(unit, Progress(unit.name[0], 1.0, "done"))

    def _report(self, unit: Unit, report: Progress) -> None:
        fraction = self._begin + self._width * sum(self._shares.values()) / len(self._shares)
        text = report.message if unit.state is None else f"d{unit.state}/dt: {report.message}"
        self._runtime.report(report.engine, fraction, text, report.best_loss)


_ABOUT = {
    "derivatives": "estimating derivatives",
    "search": "searching",
    "system": "choosing and refitting the equations together",
    "validation": "integrating the system again",
}


def _front(message: dict[str, Any]) -> ParetoFront:
    try:
        return read_front(message)
    except ExpressionError:
        return ParetoFront(())
