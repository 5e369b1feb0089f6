"""The course of a run: a bar on a terminal, plain lines elsewhere; both with rates and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fepysr_dyn.benchmarks.units import ERROR, Line, Unit, is_failed

if TYPE_CHECKING:
    from rich.progress import Progress

#: Returns the state of a table in a few words, for example how much was recovered so far.
Headline = Callable[[Sequence[Line]], str]
_LONGEST = 90
#: Parts of a setting that are usually the same for a whole table.
_COMMON = ("cap", "clock", "threads", "engine", "features")


class PlainDisplay:
    """One line on stderr per finished unit."""

    def __init__(self, headline: Headline) -> None:
        self.headline = headline
        self.total = 0
        self.lines: list[Line] = []
        self.before = 0
        self.started = time.monotonic()

    def begin(self, total: int, lines: Sequence[Line]) -> None:
        """Say how much is there already."""
        self.total, self.lines, self.before = total, list(lines), len(lines)
        self.started = time.monotonic()
        self._say(f"{len(self.lines)} of {total} units are there already")

    def finished(self, unit: Unit, line: Line) -> None:
        """Show a unit and the state of the table."""
        self.lines.append(line)
        self._say(f"{describe(unit, line)}  [{self._state()}]")

    def end(self) -> None:
        """Nothing to take away."""

    def time_left(self) -> float:
        """Return the seconds that the rest will take if it goes on like this."""
        done = len(self.lines) - self.before
        return (time.monotonic() - self.started) / max(done, 1) * (self.total - len(self.lines))

    def _state(self) -> str:
        parts = [f"{len(self.lines)}/{self.total}", self.headline(self.lines)]
        failed = sum(map(is_failed, self.lines))
        parts += [f"{failed} failed"] if failed else []
        if len(self.lines) < self.total:
            parts.append(f"{duration(self.time_left())} left")
        return ", ".join(part for part in parts if part)

    def _say(self, text: str) -> None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class BarDisplay(PlainDisplay):
    """A bar on a terminal, and a line above it per finished unit."""

    def __init__(self, headline: Headline, console: Any) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        super().__init__(headline)
        text = TextColumn("{task.description}", markup=False)
        self._bar: Progress = Progress(
            BarColumn(), TimeElapsedColumn(), text, console=console, transient=True
        )
        self._task = self._bar.add_task("")

    def begin(self, total: int, lines: Sequence[Line]) -> None:
        """Show the bar."""
        self._bar.start()
        super().begin(total, lines)
        self._update()

    def finished(self, unit: Unit, line: Line) -> None:
        """Move the bar."""
        super().finished(unit, line)
        self._update()

    def end(self) -> None:
        """Take the bar away."""
        self._bar.stop()

    def _update(self) -> None:
        self._bar.update(self._task, total=self.total, completed=len(self.lines), description=self._state())

    def _say(self, text: str) -> None:
        self._bar.console.print(text.partition("  [")[0], markup=False, highlight=False)


def describe(unit: Unit, line: Line) -> str:
    """Return a finished unit in a few words."""
    mark = "×" if is_failed(line) else "·" if line.get("recovered") is False else "✓"
    seconds = line.get("seconds") or line.get("wall_seconds") or 0.0
    setting = [f"{name}={value}" for name, value in unit.setting.items() if value and name not in _COMMON]
    text = str(line.get(ERROR) or line.get("expression") or "")[:_LONGEST]
    parts = (mark, unit.problem, f"seed {unit.seed}", *setting, f"{seconds:.1f} s", text)
    return " ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """Return a duration as people say it.

    Examples
    --------
    >>> [duration(value) for value in (12, 200, 9000)]
    ['12 s', '3 min', '2 h 30 min']
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
