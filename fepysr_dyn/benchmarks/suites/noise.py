"""Noise on the target: recovery of the structure, and the paper's metrics of stage 1, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.paper import paper_figures
from fepysr_dyn.benchmarks.problems import load_problems
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
from fepysr_dyn.benchmarks.suites.recovery import fit_setting
from fepysr_dyn.benchmarks.table import Table, cell
from fepysr_dyn.benchmarks.units import Line, Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRICS = {"efr": "EFR", "dcg1": "DCG-1", "dcg2": "DCG-2"}
#: Least shares of recovered structures that this version wants, by noise level.
_GOALS = {0.02: 0.6, 0.1: 0.35}


def noise_units(plan: Plan) -> list[Unit]:
    """Return one fit per equation, level and seed."""
    names = plan.chosen(problem.id for problem in load_problems("sensitivity"))
    return [
        Unit("noise", name, seed, fit_setting(plan, noise=level))
        for level in plan.noise
        for name in names
        for seed in plan.seeds
    ]


def noise_tables(lines: Sequence[Line]) -> list[Table]:
    """Return the summary over the levels, recovery by equation, and a table per metric."""
    return [
        _summary(lines),
        _by_equation("recovery", "noise: recovered of runs (paper)", lines, _recovered_cell),
        *(
            _by_equation(key, f"noise: {name}, best ten features (paper)", lines, _metric_cell(key))
            for key, name in METRICS.items()
            if any(key in line for line in lines)
        ),
    ]


def paper_value(problem: str, level: float, key: str) -> float | None:
    """Return a figure of the paper, None for a level it does not have."""
    figures = paper_figures()["noise"]
    if level not in figures["levels"] or problem not in figures["equations"]:
        return None
    value: float = figures["equations"][problem][key][figures["levels"].index(level)]
    return value


def kept_share(lines: Sequence[Line], level: float) -> float | None:
    """Return the share of the noise-free valid features that are still there at a level."""
    found = {(line["problem"], line["seed"], line["noise"]): line.get("valid_features") for line in lines}
    kept = total = 0
    for (problem, seed, noise), clean in found.items():
        noisy = found.get((problem, seed, level))
        if noise == 0 and clean is not None and noisy is not None:
            kept, total = kept + len(set(clean) & set(noisy)), total + len(clean)
    return kept / total if total else None


def _summary(lines: Sequence[Line]) -> Table:
    rows, notes = [], []
    for (level,), group in grouped(lines, "noise").items():
        good = [line for line in group if is_recovered(line)]
        problems = sorted({line["problem"] for line in group})
        paper = [paper_value(name, level, "recovery") for name in problems]
        known = [value for value in paper if value is not None]
        cells: list[Any] = [level, f"{len(good)}/{len(group)}", rate_text(len(good), len(group))]
        cells += [round(100 * mean(known), 1) if known else None]
        cells += [median(line["seconds"] for line in good) if good else None]
        for key in METRICS:
            ours = [line[key] for line in group if line.get(key) is not None]
            theirs = [paper_value(name, level, key) for name in problems]
            cells += [mean(ours) if ours else None]
            cells += [None if None in theirs else mean(value for value in theirs if value is not None)]
        rows.append((*cells, kept_share(lines, level)))
        if level in _GOALS:
            share = len(good) / len(group)
            notes.append(goal(f"share recovered at α = {level:g}", share, at_least=_GOALS[level]))
    columns = ["α", "recovered", "95 % interval", "paper %", "median s"]
    columns += [title for name in METRICS.values() for title in (name, f"{name} paper")]
    notes.append(
        "With noise a formula is recovered if its structure is; the metrics are of the best ten features, "
        "the paper's of 256 trainings and ours of the default preset."
    )
    columns.append("valid features kept")
    return Table(
        "summary", "noise: all levels", tuple(columns), tuple(rows), (*notes, *conditions_note(lines))
    )


def _by_equation(name: str, title: str, lines: Sequence[Line], make_cell: Any) -> Table:
    levels = list(dict.fromkeys(line["noise"] for line in lines))
    groups = grouped(lines, "problem", "noise")
    rows = tuple(
        (problem, *(make_cell(problem, level, groups.get((problem, level), [])) for level in levels))
        for problem in dict.fromkeys(line["problem"] for line in lines)
    )
    return Table(
        name, title, ("problem", *(f"α = {level:g}" for level in levels)), rows, conditions_note(lines)
    )


def _recovered_cell(problem: str, level: float, group: Sequence[Line]) -> str:
    ours = f"{sum(map(is_recovered, group))}/{len(group)}"
    paper = paper_value(problem, level, "recovery")
    return ours if paper is None else f"{ours} ({100 * paper:.0f} %)"


def _metric_cell(key: str) -> Any:
    def make(problem: str, level: float, group: Sequence[Line]) -> str:
        known = [line[key] for line in group if line.get(key) is not None]
        return f"{cell(mean(known) if known else None)} ({cell(paper_value(problem, level, key))})"

    return make


def _figures(lines: Sequence[Line]) -> dict[str, Figure]:
    from fepysr_dyn.benchmarks.figures.noise import noise_figure

    return {"noise": noise_figure(lines)}


SUITE = Suite(
    name="noise",
    title="noise on the target: recovery, EFR, DCG-1 and DCG-2 over α",
    task=TASK,
    units=noise_units,
    tables=noise_tables,
    headline=recovered_so_far,
    figures=_figures,
    runs=2,
    cap=30.0,
    noise=(0.0, 0.02, 0.1),
)
