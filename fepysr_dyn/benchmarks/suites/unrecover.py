"""The Unrecover equations, which the paper's method never recovers: the error that is reached."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.benchmarks.recovery import TASK, judged_again
from fepysr_dyn.benchmarks.suites.base import (
    Suite,
    conditions_note,
    goal,
    grouped,
    is_recovered,
    recovered_so_far,
)
from fepysr_dyn.benchmarks.suites.recovery import fit_units
from fepysr_dyn.benchmarks.table import Table
from fepysr_dyn.benchmarks.units import Line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INFINITE = float("inf")
#: The paper allows 25 nodes over columns that are themselves features of several nodes; we count every node.
_MAX_COMPLEXITY = 90


def error_tables(lines: Sequence[Line]) -> list[Table]:
    """Return the smallest errors beside the paper's, and on how many problems ours is lower."""
    rows, lower, lower_front, exact = [], 0, 0, 0
    judged = [judged_again(line) for line in lines]
    for (name,), group in grouped(judged, "problem").items():
        (problem,) = load_problems(name)
        figures = problem.paper["min_mse"]
        chosen, front = (best_error(group, key) for key in ("mse", "front_mse"))
        lower += chosen < figures["fepysr"]
        lower_front += front < figures["fepysr"]
        good = sum(map(is_recovered, group))
        exact += good > 0
        ratio = chosen / figures["fepysr"] if chosen < _INFINITE else None
        own = (f"{good}/{len(group)}", _finite(chosen), _finite(front))
        rows.append((name, *own, figures["fepysr"], figures["pysr"], ratio, _seconds(group)))
    columns = (
        *("problem", "recovered", "smallest MSE", "on the front", "paper's smallest", "PySR's smallest"),
        *("ours / paper's", "median s"),
    )
    count = len(rows)
    summary = (
        ("chosen formula: lower error than the paper's FePySR", lower, rate_text(lower, count)),
        ("best of the front: lower error than that", lower_front, rate_text(lower_front, count)),
        ("recovered in at least one run", exact, rate_text(exact, count)),
    )
    notes = (
        "The paper has the smallest error of 50 runs, whichever formula had it: what compares is the "
        "smallest of our front. The chosen formula also weighs its length.",
        goal("problems with a lower error on the front", float(lower_front), at_least=36),
        goal("problems where the chosen formula has a lower error", float(lower), at_least=36),
        goal("problems recovered", float(exact), at_least=8),
        *conditions_note(lines),
    )
    return [
        Table(
            "summary",
            f"unrecover: {count} problems",
            ("", "problems", "share, 95 % interval"),
            summary,
            notes,
        ),
        Table("problems", "unrecover: problem by problem", columns, tuple(rows), conditions_note(lines)),
    ]


def best_error(group: Sequence[Line], key: str) -> float:
    """Return the smallest error of the runs of a problem, infinite if all failed."""
    return min((line[key] for line in group if line.get(key) is not None), default=_INFINITE)


def _finite(value: float) -> float | None:
    return value if value < _INFINITE else None


def _seconds(group: Sequence[Line]) -> float | None:
    known = [line["seconds"] for line in group if "seconds" in line]
    return median(known) if known else None


def _figures(lines: Sequence[Line]) -> dict[str, Figure]:
    from fepysr_dyn.benchmarks.figures.errors import error_ratio_figure

    return {"unrecover": error_ratio_figure(lines)}


SUITE = Suite(
    name="unrecover",
    title="the 39 Unrecover equations: smallest error against the paper's",
    task=TASK,
    units=partial(fit_units, "unrecover", max_complexity=_MAX_COMPLEXITY),
    tables=error_tables,
    headline=recovered_so_far,
    figures=_figures,
    runs=1,
    cap=60.0,
)
