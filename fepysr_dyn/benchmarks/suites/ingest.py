"""Reading large CSV files: time and memory."""

from __future__ import annotations

from collections.abc import Sequence

from fepysr_dyn.benchmarks.ingest import TASK
from fepysr_dyn.benchmarks.suites.base import Plan, Suite, conditions_note
from fepysr_dyn.benchmarks.table import Table
from fepysr_dyn.benchmarks.units import Line, Unit

ROWS = (10_000, 100_000, 1_000_000)
STATES = 10


def ingest_units(plan: Plan) -> list[Unit]:
    """Return one file per size."""
    names = plan.chosen(str(rows) for rows in ROWS)
    return [Unit("ingest", name, plan.seed, {"rows": int(name), "states": STATES}) for name in names]


def ingest_tables(lines: Sequence[Line]) -> list[Table]:
    """Return seconds and memory by size."""
    rows = tuple(
        (
            *(line["rows"], line["states"], line["file_megabytes"], line["seconds"]),
            *(line["file_megabytes"] / line["seconds"], line["data_megabytes"]),
            *(line["peak_megabytes"], line["peak_megabytes"] / line["data_megabytes"]),
        )
        for line in lines
        if "seconds" in line
    )
    columns = ("rows", "states", "file MB", "s", "MB/s", "data MB", "peak MB", "peak / data")
    return [Table("ingest", "ingest: reading a CSV file", columns, rows, conditions_note(lines))]


def _headline(lines: Sequence[Line]) -> str:
    return ""


SUITE = Suite(
    name="ingest",
    title="reading CSV files of up to a million rows",
    task=TASK,
    units=ingest_units,
    tables=ingest_tables,
    headline=_headline,
    cap=None,
    patience=600.0,
)
