"""Units of work: what decides one result, and which of them are still to be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: What is kept of one unit: its own fields, and its result or the reason why it failed.
Line = dict[str, Any]

#: The field of a line that says why a unit failed.
ERROR = "error"


@dataclass(frozen=True)
class Unit:
    """One piece of work of a suite.

    Parameters
    ----------
    suite, problem : str
        Where it belongs, and what is solved.
    seed : int
        Decides everything random.
    setting : mapping
        Everything else that decides the result, in terms of JSON.
    """

    suite: str
    problem: str
    seed: int = 0
    setting: Mapping[str, Any] = field(default_factory=dict)

    def to_line(self) -> Line:
        """Return the unit as the beginning of its line."""
        return {"suite": self.suite, "problem": self.problem, "seed": self.seed, **self.setting}

    def matches(self, line: Mapping[str, Any]) -> bool:
        """Return whether a line is of this unit.

        A field that the line does not have is not compared, so that tables begun before a setting
        existed can be continued.
        """
        return all(line.get(name, value) == value for name, value in self.to_line().items())


def is_failed(line: Mapping[str, Any]) -> bool:
    """Return whether a unit crashed, hung or ran out of memory."""
    return ERROR in line


def lines_of(units: Iterable[Unit], lines: Sequence[Line]) -> list[tuple[Unit, Line | None]]:
    """Return each unit with its line, the last one if it was repeated, or None."""
    by_place: dict[tuple[Any, Any], list[Line]] = {}
    for line in lines:
        by_place.setdefault((line.get("problem"), line.get("seed")), []).append(line)
    found = []
    for unit in units:
        own = [line for line in by_place.get((unit.problem, unit.seed), ()) if unit.matches(line)]
        found.append((unit, own[-1] if own else None))
    return found


def pending(units: Iterable[Unit], lines: Sequence[Line], *, retry_failed: bool = False) -> list[Unit]:
    """Return the units without a line; with `retry_failed` also those whose line is a failure."""
    return [
        unit for unit, line in lines_of(units, lines) if line is None or (retry_failed and is_failed(line))
    ]
