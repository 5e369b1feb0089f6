"""Tables of results, and the ways in which they are written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fepysr_dyn.benchmarks.records import plain
from fepysr_dyn.errors import DataError, OptionError

KINDS = (".md", ".csv", ".json")


@dataclass(frozen=True)
class Table:
    """A table with a short name, for its file, and what has to be said about it.

    Parameters
    ----------
    name : str
        Letters, digits and hyphens.
    rows : tuple of tuples
        Texts, numbers, and None where there is nothing.
    notes : tuple of str
        A line each.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    def to_markdown(self) -> str:
        """Return the table for a Markdown file."""
        lines = [f"**{self.title}**", "", _row(self.columns), _row(["---"] * len(self.columns))]
        lines += [_row(map(cell, row)) for row in self.rows]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Return the table for a spreadsheet; numbers with all their digits."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if value is None else value for value in row] for row in self.rows)
        return stream.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """Return the table as part of a JSON document."""
        records = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        document: dict[str, Any] = plain(
            {"name": self.name, "title": self.title, "rows": records, "notes": self.notes}
        )
        return document


def cell(value: Any) -> str:
    """Return a cell as people read it.

    Examples
    --------
    >>> [cell(value) for value in (None, True, 3, 0.123456, 1.2e-15)]
    ['–', 'yes', '3', '0.1235', '1.2e-15']
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def write_tables(tables: Sequence[Table], path: Path) -> list[Path]:
    """Write tables into a file, as CSV into one file each, and return the files."""
    check_kind(path)
    if path.suffix == ".md":
        texts = {path: "\n".join(table.to_markdown() for table in tables)}
    elif path.suffix == ".json":
        texts = {path: json.dumps([table.to_dict() for table in tables], indent=1) + "\n"}
    else:
        names = [path.with_stem(f"{path.stem}-{table.name}") for table in tables]
        texts = {
            path if len(tables) == 1 else name: table.to_csv()
            for name, table in zip(names, tables, strict=True)
        }
    for file, text in texts.items():
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise DataError(f"{file}: cannot be written: {error.strerror}") from None
    return list(texts)


def check_kind(path: Path) -> None:
    """Refuse a file whose name does not say how to write it."""
    if path.suffix not in KINDS:
        raise OptionError(f"{path}: expected a file name that ends in one of {', '.join(KINDS)}")


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"
