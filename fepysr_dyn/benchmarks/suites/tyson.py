"""The case study: both rates of the two-protein model from its trajectory, with exact derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.paper import paper_figures
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

_RATES = {"tyson-X1": "dX1/dt", "tyson-X2": "dX2/dt"}


def case_study_tables(lines: Sequence[Line]) -> list[Table]:
    """Return recovery, best formula and smallest error of each rate beside the paper's."""
    lines = [judged_again(line) for line in lines]
    rows, shares = [], []
    for (name,), group in grouped(lines, "problem").items():
        good = [line for line in group if is_recovered(line)]
        shares.append(len(good) / len(group))
        best = best_line(group)
        rows.append(
            (
                *("fepysr-dyn", _RATES[name], f"{len(good)}/{len(group)}"),
                rate_text(len(good), len(group)),
                best and best["mse"],
                median(line["seconds"] for line in good) if good else None,
                best and best["expression"],
            )
        )
    figures = paper_figures()["tyson"]
    for method, label in (("fepysr", "paper: FePySR"), ("pysr", "paper: PySR")):
        own, runs = figures[method], figures["runs"]
        rows.append(
            (
                *(label, "dX1/dt", f"{own['recovered']}/{runs}", rate_text(own["recovered"], runs)),
                *(own["min_mse"], None, own["best"]),
            )
        )
    columns = ("method", "rate", "recovered", "95 % interval", "smallest MSE", "median s", "best formula")
    notes = (
        "Recovery is decided from the formulas when the table is made: equal also far from the data.",
        "The best formula is one that is recovered, if any, and of these the one with the smallest error.",
        goal("share of runs that recover, the worse rate", min(shares, default=None), at_least=1.0),
        *conditions_note(lines),
    )
    return [Table("tyson", "Tyson's two-protein network", columns, tuple(rows), notes)]


def best_line(group: Sequence[Line]) -> Line | None:
    """Return the run whose formula is shown."""
    known = [line for line in group if line.get("mse") is not None]
    return min(known, key=lambda line: (not is_recovered(line), line["mse"]), default=None)


def _figures(lines: Sequence[Line]) -> dict[str, Figure]:
    from fepysr_dyn.benchmarks.figures.tyson import tyson_figure

    return {"tyson": tyson_figure(lines)}


SUITE = Suite(
    name="tyson",
    title="the two-protein case study: recovery, best formula, smallest error",
    task=TASK,
    units=partial(fit_units, "tyson"),
    tables=case_study_tables,
    headline=recovered_so_far,
    figures=_figures,
    runs=20,
    cap=60.0,
)
