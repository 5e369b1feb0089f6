"""What is printed: tables and messages for people, one JSON document for programs."""

from __future__ import annotations

import json
import math
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from fepysr_dyn.errors import DataWarning

if TYPE_CHECKING:
    from rich.console import Console

    from fepysr_dyn.search.problem import Progress, ProgressCallback

#: Tables that go into a file or a pipe are not cut to the width of a terminal.
WIDE = 10_000


def console(*, stderr: bool = False) -> Console:
    """Return a console; colours only where a person looks on."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else WIDE, highlight=False, soft_wrap=True)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with right-aligned numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False)
    for index, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[index], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(number(cell) if isinstance(cell, float) else str(cell)) for cell in row))
    console().print(table)
    console().print()


def print_text(text: str = "") -> None:
    """Print a line for people, as it is."""
    console().print(text, markup=False)


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print the one JSON document."""
    sys.stdout.write(json_text(document) + "\n")


def json_text(document: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return a JSON document; numbers that JSON does not have become null."""
    return json.dumps(_plain(document), allow_nan=False)


def typed_command(context: typer.Context) -> str:
    """Return the command line that led here, as it can be typed again."""
    return shlex.join(("fepysr-dyn", *(context.find_root().obj or ())))


def complain(message: str) -> None:
    """Print one line on stderr."""
    one_line = " ".join(message.split())
    sys.stderr.write(f"fepysr-dyn: {one_line}\n")


@contextmanager
def noting_warnings() -> Iterator[list[str]]:
    """Collect our own warnings as texts, each once; they are for `print_warnings`, after the work is done."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", DataWarning)
        yield texts
    texts += dict.fromkeys(str(warning.message) for warning in caught)


def print_warnings(texts: Iterable[str]) -> None:
    """Print warnings on stderr, a line each."""
    for text in texts:
        complain(f"warning: {text}")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is going on."""
    if sys.stderr.isatty():
        with console(stderr=True).status(what):
            yield
    else:
        yield


@contextmanager
def searching() -> Iterator[ProgressCallback | None]:
    """Show a progress bar on a terminal; yield what a search reports to."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def report(progress: Progress) -> None:
            loss = f", loss {progress.best_loss:.2g}" if math.isfinite(progress.best_loss) else ""
            bar.update(
                task, completed=progress.fraction, description=f"{progress.engine}: {progress.message}{loss}"
            )

        yield report


def number(value: float) -> str:
    """Return a number as people read it."""
    return f"{value:.6g}"


def _plain(value: Any) -> Any:
    """Return a value in terms of JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
