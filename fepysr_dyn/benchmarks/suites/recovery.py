"""The standard and the Recover equations: how often the truth is found, and how soon."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.problems import BenchmarkProblem, load_problems
from fepysr_dyn.benchmarks.recovery import TASK
from fepysr_dyn.benchmarks.suites.base import (
    Plan,
    Suite,
    conditions_note,
    goal,
    grouped,
    is_recovered,
    recovered_so_far,
)
from fepysr_dyn.benchmarks.table import Table
from fepysr_dyn.benchmarks.units import Line, Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Methods that the paper has figures of, beside its own.
_OTHERS = ("pysr", "dso", "nggp", "dsr", "pqt", "eureqa")
_NAMES = {"pysr": "PySR", "dso": "DSO", "nggp": "NGGP", "dsr": "DSR", "pqt": "PQT", "eureqa": "Eureqa"}


def fit_setting(plan: Plan, **changes: Any) -> dict[str, Any]:
    """Return the setting of a fit: the portfolio with stage 1 on exact data unless changed."""
    common = {"engine": "portfolio", "features": True, "noise": 0.0, "cap": float(plan.cap)}
    return {**common, **changes, "clock": plan.clock, "threads": plan.threads}


def fit_units(suite: str, plan: Plan, **changes: Any) -> list[Unit]:
    """Return one fit per problem and seed."""
    names = plan.chosen(problem.id for problem in load_problems(suite))
    return [Unit(suite, name, seed, fit_setting(plan, **changes)) for name in names for seed in plan.seeds]


def recovery_tables(suite: str, goals: dict[str, float], lines: Sequence[Line]) -> list[Table]:
    """Return the table of all problems and the summary by family."""
    return [summary_table(suite, goals, lines), problem_table(suite, lines)]


def problem_table(suite: str, lines: Sequence[Line]) -> Table:
    """Return one row per problem beside the paper's figures."""
    groups = _by_problem(lines)
    problems = [load_problems(name)[0] for name in groups]
    others = _others(problems)
    rows = []
    for problem, group in zip(problems, groups.values(), strict=True):
        good = [line for line in group if is_recovered(line)]
        figures = problem.paper.get("recovery") or {}
        rows.append(
            (
                problem.id,
                f"{len(good)}/{len(group)}",
                rate_text(len(good), len(group)),
                sum(bool(line.get("on_front")) for line in group),
                median(line["seconds"] for line in good) if good else None,
                (problem.paper.get("seconds") or {}).get("fepysr"),
                *(_percent(figures.get(name)) for name in ("fepysr", *others)),
            )
        )
    columns = (
        *("problem", "recovered", "95 % interval", "on the front", "median s", "paper s", "paper %"),
        *(f"{_NAMES[name]} %" for name in others),
    )
    return Table("problems", f"{suite}: problem by problem", columns, tuple(rows), conditions_note(lines))


def summary_table(suite: str, goals: dict[str, float], lines: Sequence[Line]) -> Table:
    """Return one row per family and one for all, beside the paper's means over the same problems."""
    groups = _by_problem(lines)
    problems = [load_problems(name)[0] for name in groups]
    others = _others(problems)
    families: dict[str, list[BenchmarkProblem]] = {}
    for problem in problems:
        families.setdefault(problem.family, []).append(problem)
    if len(families) > 1:
        families["all"] = problems
    rows = []
    recovery, seconds = 0.0, None
    for family, members in families.items():
        own = [line for problem in members for line in groups[problem.id]]
        good = [line["seconds"] for line in own if is_recovered(line)]
        recovery = 100 * mean(mean(map(is_recovered, groups[problem.id])) for problem in members)
        seconds = median(good) if good else None
        rows.append(
            (
                *(family, len(members), len(own), round(recovery, 1)),
                rate_text(len(good), len(own)),
                seconds,
                *(_mean_percent(members, name) for name in ("fepysr", *others)),
            )
        )
    columns = (
        *("family", "problems", "fits", "recovered %", "of all fits, 95 % interval", "median s to it"),
        *("paper %", *(f"{_NAMES[name]} %" for name in others)),
    )
    missing = len(load_problems(suite)) - len(problems)
    notes = [goal("mean recovery in %", recovery, at_least=goals["recovery"])]
    if "seconds" in goals:
        notes.append(goal("median seconds to a recovered answer", seconds, at_most=goals["seconds"]))
    if missing:
        notes.append(f"{missing} problems of the suite have no line yet: the goals are for all of them.")
    return Table("summary", f"{suite}: recovery", columns, tuple(rows), (*notes, *conditions_note(lines)))


def _figures(suite: str, lines: Sequence[Line]) -> dict[str, Figure]:
    from fepysr_dyn.benchmarks.figures.recovery import recovery_figure

    return {suite: recovery_figure(lines)}


def _by_problem(lines: Sequence[Line]) -> dict[str, list[Line]]:
    return {name: group for (name,), group in grouped(lines, "problem").items()}


def _others(problems: Sequence[BenchmarkProblem]) -> list[str]:
    return [name for name in _OTHERS if any(name in (p.paper.get("recovery") or {}) for p in problems)]


def _percent(rate: float | None) -> float | None:
    return None if rate is None else round(100 * rate, 1)


def _mean_percent(problems: Sequence[BenchmarkProblem], method: str) -> Any:
    """Return the paper's mean over problems; nothing if it has not got them all."""
    rates = [(problem.paper.get("recovery") or {}).get(method) for problem in problems]
    known = [rate for rate in rates if rate is not None]
    return round(100 * mean(known), 1) if known and len(known) == len(rates) else None


def _suite(name: str, title: str, **goals: float) -> Suite:
    return Suite(
        name=name,
        title=title,
        task=TASK,
        units=partial(fit_units, name),
        tables=partial(recovery_tables, name, goals),
        headline=recovered_so_far,
        figures=partial(_figures, name),
        runs=3,
        cap=60.0,
    )


STANDARD = _suite("standard", "the 57 standard equations: recovery", recovery=93.0)
RECOVER = _suite("recover", "the 36 Recover equations: recovery and time to it", recovery=92.0, seconds=10.0)
