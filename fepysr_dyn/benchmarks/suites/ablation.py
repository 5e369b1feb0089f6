"""Each engine alone and the portfolio, each with and without stage 1."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from fepysr_dyn.benchmarks.intervals import rate_text
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

ENGINES = ("sparse", "rational", "parametric", "evolution", "portfolio")


def ablation_units(plan: Plan) -> list[Unit]:
    """Return one fit per engine, with and without stage 1, equation and seed."""
    names = plan.chosen(problem.id for problem in load_problems("sensitivity"))
    return [
        Unit("ablation", name, seed, fit_setting(plan, engine=engine, features=features))
        for engine in ENGINES
        for features in (True, False)
        for name in names
        for seed in plan.seeds
    ]


def ablation_tables(lines: Sequence[Line]) -> list[Table]:
    """Return recovery and time by engine, and who recovers which equation."""
    groups = grouped(lines, "engine", "features")
    engines = list(dict.fromkeys(line["engine"] for line in lines))
    rows = []
    for engine in engines:
        cells: list[Any] = [engine]
        for features in (True, False):
            group = groups.get((engine, features), [])
            good = [line["seconds"] for line in group if is_recovered(line)]
            cells += [f"{len(good)}/{len(group)}", rate_text(len(good), len(group))]
            cells.append(median(good) if good else None)
        rows.append((*cells, *_changes(groups.get((engine, True), []), groups.get((engine, False), []))))
    columns = (
        *("engine", "with stage 1", "95 % interval", "median s"),
        *("without", "95 % interval, without", "median s, without", "only with", "only without"),
    )
    note = "Only with, only without: fits that stage 1 turns into a recovery, and fits that it spoils."
    settings = [(engine, features) for engine in engines for features in (True, False)]
    single = [
        (problem, *(_count(lines, problem, engine, features) for engine, features in settings))
        for problem in dict.fromkeys(line["problem"] for line in lines)
    ]
    titles = [f"{engine}{' + stage 1' if features else ''}" for engine, features in settings]
    return [
        Table("summary", "ablation: engines", columns, tuple(rows), (note, *conditions_note(lines))),
        Table("problems", "ablation: recovered by equation", ("problem", *titles), tuple(single)),
    ]


def _changes(with_features: Sequence[Line], without: Sequence[Line]) -> tuple[int, int]:
    """Count the fits that only one of two settings recovers."""
    both = [
        {(line["problem"], line["seed"]): is_recovered(line) for line in part}
        for part in (with_features, without)
    ]
    common = both[0].keys() & both[1].keys()
    return (
        sum(both[0][key] and not both[1][key] for key in common),
        sum(both[1][key] and not both[0][key] for key in common),
    )


def _count(lines: Sequence[Line], problem: str, engine: str, features: bool) -> int:
    wanted = (problem, engine, features)
    return sum(
        is_recovered(line) for line in lines if (line["problem"], line["engine"], line["features"]) == wanted
    )


SUITE = Suite(
    name="ablation",
    title="each engine alone and the portfolio, with and without stage 1",
    task=TASK,
    units=ablation_units,
    tables=ablation_tables,
    headline=recovered_so_far,
    runs=2,
    cap=30.0,
)
