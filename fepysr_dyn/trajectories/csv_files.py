"""CSV files: read by pandas as a whole, searched line by line only after something was found wrong."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError, OptionError
from fepysr_dyn.trajectories.checks import shown

Array = NDArray[np.float64]

#: Cells that stand for a missing value.
MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "NULL", "null", "None", "none")
MAX_HEADER = 1_000_000
_OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars", ",": "commas", " ": "spaces"}


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV file is written: what stands between fields and before decimals."""

    delimiter: str = ","
    decimal: str = "."

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n\0':
            raise OptionError(
                f"the delimiter must be one character, such as ',' or ';', got {self.delimiter!r}"
            )
        if self.decimal not in (".", ","):
            raise OptionError(f"the decimal sign must be '.' or ',', got {self.decimal!r}")
        if self.delimiter == self.decimal:
            raise OptionError(f"the delimiter and the decimal sign cannot both be {self.decimal!r}")


@dataclass(frozen=True)
class CsvFile:
    """One CSV file as a table."""

    path: Path
    options: CsvOptions

    @property
    def where(self) -> str:
        """How messages begin."""
        return str(self.path)

    @property
    def name(self) -> str:
        """What the experiment is called if the file does not say."""
        return self.path.stem

    @property
    def roles(self) -> dict[str, str]:
        """A CSV file says nothing about its columns."""
        return {}

    @property
    def attributes(self) -> dict[str, Any]:
        """Nor does it carry anything else."""
        return {}

    def column_attributes(self, name: str) -> dict[str, Any]:
        """Nothing."""
        return {}

    @cached_property
    def columns(self) -> list[str]:
        """The names in the first line."""
        try:
            with self._open(newline=None) as stream:
                line = ""
                while not line.strip() and (text := stream.readline(MAX_HEADER + 1)):
                    line = text
        except UnicodeDecodeError:
            self._complain_about_encoding()
        if not line.strip():
            raise DataError(f"{self.where}: expected a CSV file, found an empty file")
        if len(line) > MAX_HEADER:
            raise DataError(f"{self.where}: expected names of columns, found a first line without an end")
        try:
            names = [name.strip() for name in next(csv.reader([line], delimiter=self.options.delimiter))]
        except csv.Error as error:
            raise DataError(f"{self.where}: the first line cannot be read: {error}") from None
        self._check_header(line, names)
        return names

    def load(self, numbers: Sequence[str], label: str | None) -> tuple[dict[str, Array], Any]:
        """Return number columns as arrays, and the column of labels as pandas has it."""
        import pandas as pd

        self._check_bytes()
        columns = self.columns
        kinds: dict[str, Any] = dict.fromkeys(numbers, "float64")
        if label is not None:
            kinds[label] = "category"
        try:
            with warnings.catch_warnings():
                # Lost fields only draw a warning from pandas; they are counted below.
                warnings.simplefilter("ignore")
                table = pd.read_csv(
                    self.path,
                    sep=self.options.delimiter,
                    decimal=self.options.decimal,
                    names=columns,
                    header=0,
                    index_col=False,
                    skipinitialspace=True,
                    usecols=[*kinds],
                    dtype=kinds,
                    keep_default_na=False,
                    na_values={name: list(MISSING) for name in numbers},
                    encoding="utf-8-sig",
                )
        except UnicodeDecodeError:
            self._complain_about_encoding()
        except (ValueError, OverflowError, OSError) as error:
            self._find_fault(numbers)
            raise DataError(f"{self.where}: cannot be read: {shown(str(error), 200)}") from None
        if self._has_quotes or self._delimiters != (len(table) + 1) * (len(columns) - 1):
            self._find_fault(numbers)
        if len(table) == 0:
            raise DataError(f"{self.where}: expected samples, found only a line of names")
        labels = None if label is None else table[label]
        return {name: table[name].to_numpy(dtype=float) for name in numbers}, labels

    def place(self, row: int) -> str:
        """Return where a row of the table stands in the file."""
        for index, (line, _) in enumerate(self._rows()):
            if index == row:
                return f"line {line}"
        return f"row {row + 1}"

    def _open(self, newline: str | None) -> io.TextIOWrapper:
        try:
            return self.path.open(encoding="utf-8-sig", newline=newline)
        except OSError as error:
            raise DataError(f"{self.where}: cannot be read: {error.strerror}") from None

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line at which each row after the first begins, and its fields."""
        with self._open(newline="") as stream:
            reader = csv.reader(stream, delimiter=self.options.delimiter)
            line, is_header = 1, True
            try:
                for fields in reader:
                    if fields:
                        if not is_header:
                            yield line, fields
                        is_header = False
                    line = reader.line_num + 1
            except csv.Error as error:
                raise DataError(f"{self.where}: line {line}: {error}") from None

    def _check_header(self, line: str, names: list[str]) -> None:
        given = self.options.delimiter
        if len(names) == 1:
            for other, word in _OTHER_DELIMITERS.items():
                # Words between spaces may also be a sentence: only names are taken for columns.
                parts = line.strip().split(other)
                if other != given and len(parts) > 1 and all(_is_title(part, other) for part in parts):
                    raise DataError(
                        f"{self.where}: expected fields separated by {given!r}, found {word}; "
                        f"say delimiter={other!r} (--delimiter)"
                    )
        if all(_is_number(name) for name in names):
            raise DataError(f"{self.where}: expected names of columns in the first line, found numbers")

    @cached_property
    def _counts(self) -> dict[bytes, int]:
        counts = dict.fromkeys((b"\0", b'"', self.options.delimiter.encode()), 0)
        with self.path.open("rb") as stream:
            while chunk := stream.read(1 << 22):
                for sign in counts:
                    counts[sign] += chunk.count(sign)
        return counts

    @property
    def _has_quotes(self) -> bool:
        return self._counts[b'"'] > 0

    @property
    def _delimiters(self) -> int:
        return self._counts[self.options.delimiter.encode()]

    def _check_bytes(self) -> None:
        if self._counts[b"\0"]:
            raise DataError(f"{self.where}: expected text, found NUL bytes; this is no CSV file in UTF-8")

    def _find_fault(self, numbers: Sequence[str]) -> None:
        """Complain about the first line that does not fit; return if all do."""
        columns = self.columns
        wanted = [(columns.index(name), name) for name in numbers]
        try:
            for line, fields in self._rows():
                if len(fields) != len(columns):
                    raise DataError(
                        f"{self.where}: line {line} has {len(fields)} fields, expected {len(columns)}"
                        f"{self._field_hint(fields)}"
                    )
                for index, name in wanted:
                    cell = fields[index].lstrip(" ")
                    if cell not in MISSING and not self._is_cell(cell):
                        hint = "; say decimal=',' (--decimal)" if self._has_comma(cell) else ""
                        raise DataError(
                            f"{self.where}: line {line}, column '{name}': expected a number, "
                            f"found '{shown(cell)}'{hint}"
                        )
        except UnicodeDecodeError:
            self._complain_about_encoding()

    def _is_cell(self, cell: str) -> bool:
        return _is_number(cell if self.options.decimal == "." else cell.replace(",", ".", 1))

    def _has_comma(self, cell: str) -> bool:
        return self.options.decimal == "." and cell.count(",") == 1 and _is_number(cell.replace(",", "."))

    def _field_hint(self, fields: list[str]) -> str:
        expected = len(self.columns)
        if len(fields) == 1 and expected > 1:
            for other, word in _OTHER_DELIMITERS.items():
                if fields[0].count(other) == expected - 1:
                    return f"; its fields are separated by {word}"
        if len(fields) == 2 * expected and all(_is_number(field) for field in fields):
            return "; numbers with a decimal comma need another delimiter or quotes"
        return ""

    def _complain_about_encoding(self) -> NoReturn:
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise DataError(
                        f"{self.where}: expected UTF-8 text, found the byte 0x{line[error.start]:02x} "
                        f"in line {number}; save the file as UTF-8"
                    ) from None
        raise DataError(f"{self.where}: expected UTF-8 text")


def _is_title(text: str, delimiter: str) -> bool:
    return text.strip().isidentifier() if delimiter == " " else True


def _is_number(text: str) -> bool:
    if "_" in text or not text.isascii():
        return False
    try:
        return float(text) == float(text)
    except ValueError:
        return False
