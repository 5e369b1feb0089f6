"""What a suite is: its units, the function that carries one out, and the tables and figures of its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.table import Table
from fepysr_dyn.benchmarks.units import Line, Unit
from fepysr_dyn.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plan:
    """What a user asks of a suite.

    Parameters
    ----------
    runs : int
        Seeds per problem, from `seed` on.
    cap : float
        Seconds for one search.
    only : tuple of str
        Names of problems, ``*`` for any letters; all of them if empty.
    noise : tuple of float
        Noise levels, for the suites that have some.
    clock : {"wall", "cpu"}
        What the cap is measured with.
    threads : int
        Threads of one unit.
    where : tuple of (str, str)
        Names of settings and the values that units must have there, as text.
    """

    runs: int = 1
    seed: int = 0
    cap: float = 60.0
    only: tuple[str, ...] = ()
    noise: tuple[float, ...] = ()
    clock: str = "wall"
    threads: int = 1
    where: tuple[tuple[str, str], ...] = ()

    @property
    def seeds(self) -> range:
        """The seeds."""
        return range(self.seed, self.seed + self.runs)

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Return the names that are asked for."""
        names = list(names)
        if not self.only:
            return names
        for pattern in self.only:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise OptionError(
                    f"--only: no problem '{pattern}' in this suite{did_you_mean(pattern, names)}"
                )
        return [name for name in names if any(fnmatchcase(name, pattern) for pattern in self.only)]


@dataclass(frozen=True)
class Suite:
    """A benchmark.

    Parameters
    ----------
    name, title : str
        On the command line, and for people.
    task : str
        "module:function" that takes a unit and returns its result.
    units : callable
        Returns the units of a plan.
    tables, figures : callable
        Make tables and figures of lines; figures by the name of their file.
    headline : callable
        Returns the state of a table in a few words.
    runs, cap, noise
        What the plan has unless told; `cap` is None and `noise` empty where there is none.
    searches, patience : float
        A unit counts as hung after so many times the cap and so many seconds.
    """

    name: str
    title: str
    task: str
    units: Callable[[Plan], list[Unit]]
    tables: Callable[[Sequence[Line]], list[Table]]
    headline: Callable[[Sequence[Line]], str]
    figures: Callable[[Sequence[Line]], dict[str, Figure]] | None = None
    runs: int = 1
    cap: float | None = 60.0
    noise: tuple[float, ...] = ()
    searches: float = 2.0
    patience: float = 60.0

    def planned(self, plan: Plan) -> list[Unit]:
        """Return the units of a plan that have the settings asked for."""
        units = self.units(plan)
        for name, value in plan.where:
            known = sorted({str(unit.setting[name]) for unit in units if name in unit.setting})
            if not known:
                names = sorted({key for unit in units for key in unit.setting})
                raise OptionError(
                    f"--where: no setting '{name}' in the suite '{self.name}'{did_you_mean(name, names)}"
                )
            if value not in known:
                raise OptionError(f"--where {name}: expected one of {', '.join(known)}, found '{value}'")
            units = [unit for unit in units if str(unit.setting.get(name)) == value]
        return units

    def seconds(self, plan: Plan) -> float:
        """Return the seconds after which a unit counts as hung."""
        return (self.searches * plan.cap if self.cap is not None else 0.0) + self.patience


def recovered_so_far(lines: Sequence[Line]) -> str:
    """Return how much was recovered, for a running display."""
    return f"recovered {rate_text(sum(map(is_recovered, lines)), len(lines))}"


def is_recovered(line: Line) -> bool:
    """Return whether a unit recovered the truth; a failed one did not."""
    return bool(line.get("recovered", False))


def grouped(lines: Iterable[Line], *names: str) -> dict[tuple[Any, ...], list[Line]]:
    """Return lines by the values of some fields, in the order in which these occur."""
    groups: dict[tuple[Any, ...], list[Line]] = {}
    for line in lines:
        groups.setdefault(tuple(line.get(name) for name in names), []).append(line)
    return groups


def conditions_note(lines: Sequence[Line]) -> tuple[str, ...]:
    """Return what must be said below every table: runs, cap, failures, versions."""
    seeds = sorted({line["seed"] for line in lines})
    parts = [f"{len(lines)} units", f"{'seed' if len(seeds) == 1 else 'seeds'} {_range(seeds)}"]
    for cap in sorted({line["cap"] for line in lines if line.get("cap") is not None}):
        clocks = {line.get("clock", "") for line in lines if line.get("cap") == cap}
        kind = {frozenset({"cpu"}): " of the processor", frozenset({"wall"}): " on the clock"}.get(
            frozenset(clocks), ""
        )
        parts.append(f"cap {cap:g} s{kind}")
    failed = sum("error" in line for line in lines)
    if failed:
        parts.append(f"{failed} failed")
    known = sorted({line["versions"] for line in lines if "versions" in line})
    return ("; ".join(parts) + ".", *(f"{text}." for text in known))


def goal(
    what: str, value: float | None, *, at_least: float | None = None, at_most: float | None = None
) -> str:
    """Return whether a table is where this version wants it to be.

    Examples
    --------
    >>> goal("mean recovery in %", 95.0, at_least=92)
    'Goal: mean recovery in % at least 92, found 95: met.'
    """
    wanted = f"at least {at_least:g}" if at_least is not None else f"at most {at_most:g}"
    if value is None:
        return f"Goal: {what} {wanted}, nothing found yet."
    met = value >= at_least if at_least is not None else at_most is not None and value <= at_most
    return f"Goal: {what} {wanted}, found {value:.4g}: {'met' if met else 'missed'}."


def _range(seeds: Sequence[int]) -> str:
    if len(seeds) > 1 and seeds[-1] - seeds[0] == len(seeds) - 1:
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))
