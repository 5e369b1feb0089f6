"""Training runs per second of stage 1, beside the straightforward implementation on all cores."""

from __future__ import annotations

from collections.abc import Sequence

from fepysr_dyn.benchmarks.stage1_speed import (
    BATCH,
    BATCHED,
    EPOCHS,
    ROWS,
    STRAIGHTFORWARD,
    TASK,
    TIMED_STEPS,
)
from fepysr_dyn.benchmarks.suites.base import Plan, Suite, conditions_note
from fepysr_dyn.benchmarks.table import Table
from fepysr_dyn.benchmarks.units import Line, Unit

RUNS = (16, 64, 256)


def speed_units(plan: Plan) -> list[Unit]:
    """Return the straightforward implementation and the batched one with growing numbers of runs."""
    units = [Unit("stage1-speed", STRAIGHTFORWARD, plan.seed)]
    units += [Unit("stage1-speed", BATCHED, plan.seed, {"runs": runs}) for runs in RUNS]
    chosen = plan.chosen((STRAIGHTFORWARD, BATCHED))
    return [unit for unit in units if unit.problem in chosen]


def speed_tables(lines: Sequence[Line]) -> list[Table]:
    """Return both, with the ratio on the clock and of the processor's time."""
    rows = []
    straight = next((line for line in lines if line["problem"] == STRAIGHTFORWARD and "rate" in line), None)
    for line in (line for line in lines if "rate" in line):
        batched = line is not straight
        rows.append(
            (
                *(line["problem"], line.get("runs"), line.get("seconds"), line["rate"]),
                line["rate"] / straight["rate"] if straight and batched else None,
                1000 * line["cpu_seconds"],
                straight["cpu_seconds"] / line["cpu_seconds"] if straight and batched else None,
                *(line.get("peak_megabytes"), line["load"]),
            )
        )
    columns = (
        *("implementation", "runs", "s", "runs/s", "ratio", "processor ms per run", "processor ratio"),
        *("peak MB", "load before"),
    )
    notes = (
        f"{EPOCHS} epochs, {ROWS} rows, 2 variables, depth 4, 4 copies of 6 operators, batch {BATCH}, all "
        f"cores. One module per unit: one process per core, from {TIMED_STEPS} steps each.",
        "Measure on an idle machine with one worker. The ratio of processor time is what the ratio of runs "
        "per second would be if both used all cores equally well. The paper gives no times of stage 1 alone.",
        *conditions_note(lines),
    )
    return [Table("speed", "stage1-speed: training runs", columns, tuple(rows), notes)]


def _headline(lines: Sequence[Line]) -> str:
    return ""


SUITE = Suite(
    name="stage1-speed",
    title="training runs per second of stage 1, beside one module per unit",
    task=TASK,
    units=speed_units,
    tables=speed_tables,
    headline=_headline,
    cap=None,
    patience=1800.0,
)
