"""Units in processes of their own: a crash, a hang or a lack of memory ends the unit and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field

from fepysr_dyn.benchmarks.limits import Limits, resident_megabytes
from fepysr_dyn.benchmarks.units import ERROR, Line, Unit
from fepysr_dyn.benchmarks.versions import versions

#: The error of a unit that was stopped by the user: no result of it is kept.
STOPPED = "stopped"
#: Seconds between two looks at a running unit.
_LOOK = 0.2
#: A process that holds more than this share of its memory after a unit is not used for another one.
_SHARE_KEPT = 0.5
#: Memory beyond the limit at which an allocation fails inside the process.
_BEYOND = 2000.0
_SERVE = "import sys; from fepysr_dyn.benchmarks.worker import serve; serve(sys.argv[1], float(sys.argv[2]))"
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Request:
    """A unit, the function that carries it out (as "module:function"), and how.

    Parameters
    ----------
    clock : {"wall", "cpu"}
        What the unit's own cap is measured with.
    threads : int
        Threads that libraries may use.
    """

    task: str
    unit: Unit
    limits: Limits = field(default_factory=Limits)
    clock: str = "wall"
    threads: int = 1

    @property
    def kind(self) -> tuple[str, int, float]:
        """What a process must have been started with."""
        return (self.clock, self.threads, self.limits.megabytes)


def run_isolated(request: Request) -> Line:
    """Carry out a unit in a process with limits and return its whole line.

    Processes are kept for the next unit. This is what is given to an executor: threads of this process, or
    workers of a cluster, where the processes are then children of the cluster's workers.
    """
    started = time.monotonic()
    process = _POOL.take(request)
    answer = {ERROR: STOPPED} if process is None else process.carry_out(request)
    if process is not None and process.is_fresh:
        _POOL.give_back(process)
    return {
        **request.unit.to_line(),
        **answer,
        "wall_seconds": round(time.monotonic() - started, 3),
        "versions": versions(),
    }


def stop_all() -> None:
    """Kill every process that was started for units; running ones answer that they were stopped."""
    _POOL.stop()


def allow_starting() -> None:
    """Let units run again after `stop_all`."""
    _POOL.stopped = False


class _Process:
    """One process that carries out units, one after the other."""

    def __init__(self, request: Request) -> None:
        self.kind = request.kind
        self.is_fresh = True
        self.stopped = False
        # Kept in a file: a pipe that nobody reads would block the process one day.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        memory = str(request.limits.megabytes + _BEYOND)
        self._process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", _SERVE, request.clock, memory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env={**os.environ, **dict.fromkeys(_THREADS, str(request.threads))},
            # Ctrl-C is for the runner; what the unit starts is killed with it.
            start_new_session=True,
        )
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def carry_out(self, request: Request) -> Line:
        """Return the result of a unit, or why there is none."""
        assert self._process.stdin is not None  # noqa: S101 - for the type checker
        message = {"task": request.task, "unit": asdict(request.unit)}
        with contextlib.suppress(OSError, ValueError):  # it has died: `_wait` finds out why
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        answer = self._wait(request.limits)
        if ERROR in answer:
            # An error may have left things half done.
            self.kill()
        elif resident_megabytes(self._process.pid) > _SHARE_KEPT * request.limits.megabytes:
            self.kill()
        return answer

    def kill(self) -> None:
        """End the process and all it has started."""
        self.is_fresh = False
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        _POOL.forget(self)
        assert self._process.stdin is not None  # noqa: S101 - for the type checker
        for stream in (self._process.stdin, self._errors):
            with contextlib.suppress(OSError):
                stream.close()

    def _wait(self, limits: Limits) -> Line:
        deadline = time.monotonic() + limits.seconds
        while True:
            with contextlib.suppress(queue.Empty):
                text = self._answers.get(timeout=_LOOK)
                if text is None:
                    return {ERROR: self._why_it_ended()}
                answer: Line = json.loads(text)
                return answer
            if resident_megabytes(self._process.pid) > limits.megabytes:
                return {ERROR: f"out of memory: more than {limits.megabytes:g} MB"}
            if time.monotonic() > deadline:
                return {ERROR: f"hung: no answer after {limits.seconds:g} s"}

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        with contextlib.suppress(ValueError, OSError), self._process.stdout as stream:
            for line in stream:
                self._answers.put(line)
        self._answers.put(None)

    def _why_it_ended(self) -> str:
        if self.stopped:
            return STOPPED
        code = self._process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        # faulthandler names the kind of crash on its first line, others say on the last one what is wrong.
        fatal = [line for line in said if line.startswith("Fatal Python error")]
        last = (fatal or said or [""])[-1][:200]
        return f"crashed: the process ended {how}" + (f" ({last})" if last else "")


class _Pool:
    """The processes of this interpreter, idle and busy."""

    def __init__(self) -> None:
        self.stopped = False
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._all: list[_Process] = []

    def take(self, request: Request) -> _Process | None:
        """Return a process for a unit, None if everything was stopped."""
        with self._lock:
            if self.stopped:
                return None
            for process in self._idle:
                if process.kind == request.kind:
                    self._idle.remove(process)
                    return process
            process = _Process(request)
            self._all.append(process)
            return process

    def give_back(self, process: _Process) -> None:
        with self._lock:
            self._idle.append(process)

    def forget(self, process: _Process) -> None:
        with self._lock:
            for group in (self._idle, self._all):
                if process in group:
                    group.remove(process)

    def stop(self) -> None:
        with self._lock:
            self.stopped = True
            processes = list(self._all)
        for process in processes:
            process.stopped = True
            process.kill()


_POOL = _Pool()
