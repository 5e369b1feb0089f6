"""Sensitivity to the number of features that stage 1 hands over."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median
from typing import TYPE_CHECKING

from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.paper import paper_figures
from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.benchmarks.recovery import TASK
from fepysr_dyn.benchmarks.suites.base import (
    Plan,
    Suite,
    conditions_note,
    grouped,
    is_recovered,
    recovered_so_far,
)
from fepysr_dyn.benchmarks.suites.recovery import fit_setting
from fepysr_dyn.benchmarks.table import Table
from fepysr_dyn.benchmarks.units import Line, Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNTS = (4, 5, 6, 7, 8, 9)


def feature_units(plan: Plan) -> list[Unit]:
    """Return one fit per equation, number of features and seed."""
    names = plan.chosen(problem.id for problem in load_problems("sensitivity"))
    return [
        Unit("features", name, seed, fit_setting(plan, top=count))
        for name in names
        for count in COUNTS
        for seed in plan.seeds
    ]


def feature_tables(lines: Sequence[Line]) -> list[Table]:
    """Return the means over the equations, and every equation, beside the paper's figures."""
    rows, single = [], []
    for (count,), group in grouped(lines, "top").items():
        problems = list(dict.fromkeys(line["problem"] for line in group))
        paper = [_paper(name, count) for name in problems]
        good = sum(map(is_recovered, group))
        rows.append(
            (
                *(count, f"{good}/{len(group)}", rate_text(good, len(group))),
                round(100 * mean(entry["recovery"] for entry in paper), 1),
                _valid_share(group),
                mean(entry["valid"] for entry in paper) / count,
                _median(group, "seconds"),
                median(entry["seconds"] for entry in paper),
                _median(group, "loss"),
            )
        )
    for (problem, count), group in grouped(lines, "problem", "top").items():
        entry = _paper(problem, count)
        single.append(
            (
                *(problem, count, f"{sum(map(is_recovered, group))}/{len(group)}"),
                round(100 * entry["recovery"], 1),
                _mean_valid(group),
                entry["valid"],
                _median(group, "seconds"),
                entry["seconds"],
            )
        )
    return [
        Table(
            "summary",
            "features: all equations by number of features",
            (
                *("features", "recovered", "95 % interval", "paper %", "valid share", "paper valid share"),
                *("median s", "paper median s", "median loss"),
            ),
            tuple(rows),
            conditions_note(lines),
        ),
        Table(
            "problems",
            "features: equation by equation",
            (
                *("problem", "features", "recovered", "paper %", "valid", "paper valid"),
                *("median s", "paper s"),
            ),
            tuple(single),
            conditions_note(lines),
        ),
    ]


def _paper(problem: str, count: int) -> dict[str, float]:
    figures = paper_figures()["features"]
    place = figures["counts"].index(count)
    return {key: values[place] for key, values in figures["equations"][problem].items()}


def _valid_share(group: Sequence[Line]) -> float | None:
    shares = [line["valid_used"] / line["features_used"] for line in group if line.get("features_used")]
    return mean(shares) if shares else None


def _mean_valid(group: Sequence[Line]) -> float | None:
    known = [line["valid_used"] for line in group if "valid_used" in line]
    return mean(known) if known else None


def _median(group: Sequence[Line], key: str) -> float | None:
    known = [line[key] for line in group if line.get(key) is not None]
    return median(known) if known else None


def _figures(lines: Sequence[Line]) -> dict[str, Figure]:
    from fepysr_dyn.benchmarks.figures.curves import loss_curves_figure

    return {"features": loss_curves_figure(lines)}


SUITE = Suite(
    name="features",
    title="4 to 9 features: valid share, recovery, time, loss curves",
    task=TASK,
    units=feature_units,
    tables=feature_tables,
    headline=recovered_so_far,
    figures=_figures,
    runs=1,
    cap=60.0,
)
