"""How much sooner several workers are done than one."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fepysr_dyn.benchmarks.records import RecordFile
from fepysr_dyn.benchmarks.runner import Conditions, Run, Watcher, local_executor, run_units
from fepysr_dyn.benchmarks.suites.base import goal
from fepysr_dyn.benchmarks.units import Unit


@dataclass(frozen=True)
class Scaling:
    """Seconds on the clock for the same units."""

    units: int
    workers: int
    one: float
    several: float

    @property
    def ratio(self) -> float:
        """Time of several workers over time of one."""
        return self.several / self.one

    def text(self) -> str:
        """Return the result for people."""
        return (
            f"{self.units} units: 1 worker {self.one:.1f} s, {self.workers} workers {self.several:.1f} s, "
            f"ratio {self.ratio:.2f}\n{goal('ratio', self.ratio, at_most=0.6)}"
        )


def compare_workers(
    units: Sequence[Unit], task: str, conditions: Conditions, workers: int, watcher: Watcher
) -> Scaling | None:
    """Carry out the same units with one worker and with several; None if interrupted."""

    def timed(chosen: Sequence[Unit], count: int) -> Run:
        with tempfile.TemporaryDirectory() as folder:
            records = RecordFile(Path(folder) / "lines.jsonl")
            with records, local_executor(count) as executor:
                return run_units(chosen, task, records, executor, conditions=conditions, watcher=watcher)

    # Once without being timed: whoever comes first would otherwise pay for compiling.
    for chosen, count in ((units[:1], 1), (units, 1), (units, workers)):
        run = timed(chosen, count)
        if not run.complete:
            return None
        if count == 1:
            alone = run.seconds
    return Scaling(len(units), workers, alone, run.seconds)
