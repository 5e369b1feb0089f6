"""What ``fepysr-dyn bench`` prints and writes of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fepysr_dyn.cli.output import complain, print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fepysr_dyn.benchmarks.runner import Run
    from fepysr_dyn.benchmarks.suites.base import Suite
    from fepysr_dyn.benchmarks.table import Table


def write_files(
    suite: Suite, run: Run, tables: Sequence[Table], files: Sequence[Path], folder: Path | None
) -> list[Path]:
    """Write tables and figures where they are asked for, and return the files."""
    from fepysr_dyn.benchmarks.table import write_tables
    from fepysr_dyn.trajectories.writing import not_written

    written = [path for file in files for path in write_tables(tables, file)]
    if folder is not None and suite.figures is not None and run.lines:
        for name, figure in suite.figures(run.lines).items():
            path = folder / f"{name}.png"
            try:
                folder.mkdir(parents=True, exist_ok=True)
                figure.savefig(path)
            except OSError as error:
                raise not_written(path, error) from None
            written.append(path)
    return written


def show_run(run: Run, tables: Sequence[Table], files: Sequence[Path]) -> None:
    """Print the tables, what failed, and what was written."""
    for table in tables:
        print_table(table.title, table.columns, [[_cell(value) for value in row] for row in table.rows])
        for note in table.notes:
            print_text(note)
        print_text()
    for line in run.lines:
        if "error" in line:
            complain(f"warning: {line['problem']}, seed {line['seed']}: {line['error']}")
    if not run.complete:
        complain(f"the table is not complete: {len(run.lines)} units are there; the same command goes on")
    if files:
        print_text(f"written: {', '.join(map(str, files))}")


def _cell(value: Any) -> Any:
    """Leave numbers to the table, which aligns them."""
    from fepysr_dyn.benchmarks.table import cell

    return value if isinstance(value, int | float) and not isinstance(value, bool) else cell(value)


def document(suite: Suite, run: Run, tables: Sequence[Table], out: Path) -> dict[str, Any]:
    """Return the JSON document of a run."""
    return {
        "suite": suite.name,
        "complete": run.complete,
        "units": len(run.lines),
        "computed": run.computed,
        "seconds": run.seconds,
        "failed": [line for line in run.lines if "error" in line],
        "tables": [table.to_dict() for table in tables],
        "out": str(out),
    }
