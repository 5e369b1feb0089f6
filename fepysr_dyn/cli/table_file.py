"""A CSV table of numbers with a target column; what is wrong is said with its line and column."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING

from fepysr_dyn.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

LEAST_ROWS = 5
_MISSING = {"", "nan", "na", "n/a", "null", "none", "-", "?"}


def read_table(path: Path, target: str, *, delimiter: str = ",") -> tuple[pd.DataFrame, pd.Series[float]]:
    """Return the columns and the target of a file, all of them finite numbers."""
    import pandas as pd

    header, rows = _read(path, delimiter)
    if target not in header:
        hint = did_you_mean(target, header) or f"; it has {', '.join(header)}"
        raise DataError(f"{path}: no column '{target}'{hint}")
    if len(header) < 2:
        raise DataError(f"{path}: expected at least one column besides the target '{target}', found none")
    if len(rows) < LEAST_ROWS:
        raise DataError(f"{path}: expected at least {LEAST_ROWS} rows, found {len(rows)}")
    numbers = [
        [_number(path, line, name, text) for name, text in zip(header, row, strict=True)]
        for line, row in rows
    ]
    table = pd.DataFrame(numbers, columns=header, dtype=float)
    if table[target].nunique() == 1:
        value = float(table[target].iloc[0])
        raise DataError(f"{path}: the target '{target}' is constant ({value:g}); there is nothing to find")
    return table.drop(columns=target), table[target]


def _read(path: Path, delimiter: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=True)
            lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"{path}: expected a CSV file, found something else") from None
    if not lines:
        raise DataError(f"{path}: expected a header and rows of numbers, found an empty file")
    header = [name.strip() for name in lines[0][1]]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise DataError(f"{path}: column '{twice}' occurs twice in the header")
    for line, row in lines[1:]:
        if len(row) != len(header):
            raise DataError(f"{path}, line {line}: expected {len(header)} fields, found {len(row)}")
    return header, lines[1:]


def _number(path: Path, line: int, name: str, text: str) -> float:
    place = f"{path}, line {line}, column '{name}'"
    plain = text.strip()
    if plain.lower() in _MISSING:
        raise DataError(f"{place}: expected a number, found a missing value; remove or fill such rows")
    try:
        value = float(plain)
    except ValueError:
        raise DataError(f"{place}: expected a number, found '{plain[:40]}'") from None
    if not math.isfinite(value):
        raise DataError(f"{place}: expected a finite number, found '{plain}'")
    return value
