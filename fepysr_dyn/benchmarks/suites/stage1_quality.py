"""Valid features of stage 1 on the Recover equations, and the difference that matters in the case study."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.benchmarks.stage1_quality import PRESETS_MEASURED, PUBLISHED, TASK, TYSON
from fepysr_dyn.benchmarks.suites.base import Plan, Suite, conditions_note, grouped
from fepysr_dyn.benchmarks.table import Table, cell
from fepysr_dyn.benchmarks.units import Line, Unit

_LISTS = {PUBLISHED: "published in the paper", "paper": "preset paper", "default": "preset default"}


def quality_units(plan: Plan) -> list[Unit]:
    """Return the published list once, and both presets for every seed."""
    names = plan.chosen((*(problem.id for problem in load_problems("recover")), TYSON))
    units = [
        Unit("stage1-quality", name, seed, {"preset": preset})
        for name in names
        if name != TYSON
        for preset, seeds in ((PUBLISHED, [0]), *((preset, plan.seeds) for preset in PRESETS_MEASURED))
        for seed in seeds
    ]
    tyson = [Unit("stage1-quality", TYSON, seed, {"preset": "default"}) for seed in plan.seeds]
    return units + (tyson if TYSON in names else [])


def quality_tables(lines: Sequence[Line]) -> list[Table]:
    """Return means over the equations, every equation, and the case study."""
    valid = [line for line in lines if "valid4" in line]
    ranked = [line for line in lines if line["problem"] == TYSON and "rank" in line]
    tables = []
    if valid:
        tables += [_means(valid), _equations(valid)]
    if ranked:
        tables.append(_tyson(ranked))
    return tables


def _means(lines: Sequence[Line]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for preset, title in _LISTS.items():
        group = [line for line in lines if line["preset"] == preset]
        if not group:
            continue
        seconds = None if preset == PUBLISHED else mean(line["seconds"] for line in group)
        rows.append((title, "all", len(group), *_valid(group), seconds))
        by_seed = grouped(group, "seed")
        if len(by_seed) > 1:
            rows += [(title, seed, len(part), *_valid(part), None) for (seed,), part in by_seed.items()]
    columns = ("list", "seed", "lists", "valid of the first 4", "valid of the first 10", "mean s")
    note = "One rule of validity for all lists."
    title = "stage1-quality: valid features on the Recover equations"
    return Table("summary", title, columns, tuple(rows), (note, *conditions_note(lines)))


def _equations(lines: Sequence[Line]) -> Table:
    rows = []
    for (problem,), group in grouped(lines, "problem").items():
        cells = []
        for preset in _LISTS:
            four, ten = _valid([line for line in group if line["preset"] == preset])
            cells.append(f"{cell(four)} / {cell(ten)}")
        rows.append((problem, *cells))
    return Table(
        "problems",
        "stage1-quality: valid of the first 4 / 10, by equation",
        ("problem", *_LISTS.values()),
        tuple(rows),
        conditions_note(lines),
    )


def _tyson(lines: Sequence[Line]) -> Table:
    ranks = [line["rank"] for line in lines]
    found = [rank for rank in ranks if rank is not None]
    span = f"{min(found)} to {max(found)}" if found else None
    row = (f"{len(found)}/{len(ranks)}", rate_text(len(found), len(ranks)), span)
    title = "stage1-quality: S − X2 or its exponential among the first 10 features of dX1/dt"
    return Table("tyson", title, ("seeds", "95 % interval", "ranks"), (row,), conditions_note(lines))


def _valid(group: Sequence[Line]) -> tuple[float | None, float | None]:
    if not group:
        return None, None
    return mean(line["valid4"] for line in group), mean(line["valid10"] for line in group)


def _headline(lines: Sequence[Line]) -> str:
    four, ten = _valid([line for line in lines if line.get("preset") == "default" and "valid4" in line])
    return "" if four is None else f"default {cell(four)} of 4, {cell(ten)} of 10 valid"


SUITE = Suite(
    name="stage1-quality",
    title="valid features of stage 1: both presets and the paper's lists",
    task=TASK,
    units=quality_units,
    tables=quality_tables,
    headline=_headline,
    runs=3,
    cap=None,
    patience=900.0,
)
