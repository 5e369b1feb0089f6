"""What all sources have in common: a table with named columns; and tables that are in memory already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError
from fepysr_dyn.trajectories.checks import check_times, check_values, shown
from fepysr_dyn.trajectories.selection import Columns, Selection

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]


class Table(Protocol):
    """Named columns from anywhere, one experiment or several told apart by a column of labels."""

    @property
    def where(self) -> str:
        """How messages about it begin."""
        ...

    @property
    def name(self) -> str:
        """What the experiment is called if the table does not say."""
        ...

    @property
    def columns(self) -> list[str]:
        """All columns."""
        ...

    @property
    def roles(self) -> Mapping[str, str]:
        """What the table itself says about its columns."""
        ...

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What else it carries."""
        ...

    def column_attributes(self, name: str) -> Mapping[str, Any]:
        """Return what it carries about a column."""
        ...

    def load(self, numbers: Sequence[str], label: str | None) -> tuple[dict[str, Array], Any]:
        """Return number columns as arrays, and the column of labels."""
        ...

    def place(self, row: int) -> str:
        """Return the user's word for a row."""
        ...


@dataclass(frozen=True)
class ArrayTable:
    """A table in memory: a dictionary of arrays, a data frame, the variables of a dataset."""

    where: str
    name: str
    data: Mapping[str, Any]
    roles: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    attributes_of: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """All columns."""
        return list(self.data)

    def column_attributes(self, name: str) -> Mapping[str, Any]:
        """Return what is known about a column."""
        return self.attributes_of.get(name, {})

    def load(self, numbers: Sequence[str], label: str | None) -> tuple[dict[str, Array], Any]:
        """Return number columns as arrays, and the column of labels."""
        arrays = {name: to_floats(self.data[name], name=name, where=self.where) for name in numbers}
        lengths = {name: len(values) for name, values in arrays.items()}
        if label is not None:
            lengths[label] = len(self.data[label])
        first = next(iter(lengths))
        for name, length in lengths.items():
            if length != lengths[first]:
                raise DataError(
                    f"{self.where}: all columns need the same length: '{name}' has {length} values, "
                    f"'{first}' has {lengths[first]}"
                )
        return arrays, None if label is None else self.data[label]

    def place(self, row: int) -> str:
        """Return the number of the row, as Python counts."""
        return f"row {row} (counted from 0)"


def to_floats(values: Any, *, name: str, where: str) -> Array:
    """Return a column as float64, missing values as NaN."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan)
    try:
        array = np.asarray(values)
        if array.dtype.kind in "US":
            # numpy has turned numbers beside a word into words as well.
            array = np.asarray(values, dtype=object)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{where}: column '{name}' is not a series of numbers: {shown(str(error), 100)}"
        ) from None
    if array.ndim != 1:
        raise DataError(f"{where}: column '{name}' must have one dimension, found shape {array.shape}")
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    if array.dtype.kind in "mM":
        raise DataError(
            f"{where}: column '{name}' holds dates or durations; expected numbers, such as elapsed seconds"
        )
    return np.array([_to_float(item, i, name, where) for i, item in enumerate(array.tolist())], dtype=float)


def _to_float(item: object, row: int, name: str, where: str) -> float:
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return np.nan
    if not isinstance(item, bool | np.bool_) and isinstance(item, Real | Decimal):
        try:
            return float(item)
        except (OverflowError, ValueError):
            return np.inf
    raise DataError(
        f"{where}: row {row} (counted from 0), column '{name}': expected a number, found {shown(repr(item))}"
    )


def experiments_of(table: Table, selection: Selection) -> Iterator[xr.Dataset]:
    """Yield the checked experiments of a table; one without known breakpoints has no such attribute."""
    columns = selection.choose(table.columns, table.roles, where=table.where)
    variables = [*columns.states, *columns.inputs, *columns.kept]
    arrays, labels = table.load([columns.time, *variables], columns.experiment)
    for name, rows in _grouped(labels, len(arrays[columns.time]), table):
        yield _experiment(table, columns, {key: arrays[key][rows] for key in arrays}, name, rows)


def _experiment(
    table: Table,
    columns: Columns,
    arrays: Mapping[str, Array],
    name: str | None,
    rows: slice | NDArray[np.intp],
) -> xr.Dataset:
    import xarray as xr

    where = table.where if name is None else f"{table.where}, experiment '{shown(name)}'"

    def place(index: int) -> str:
        return table.place(int(index) if isinstance(rows, slice) else int(rows[index]))

    check_times(arrays[columns.time], place=place, where=where, name=columns.time)
    variables = {}
    for key in [*columns.states, *columns.inputs, *columns.kept]:
        if key in columns.roles:
            check_values(arrays[key], name=key, place=place, where=where)
        about = dict(table.column_attributes(key))
        if key in columns.roles:
            about["role"] = columns.roles[key]
        variables[key] = ("time", arrays[key], about)
    time = ("time", arrays[columns.time], dict(table.column_attributes(columns.time)))
    name = str(table.attributes.get("name", table.name)) if name is None else name
    return xr.Dataset(variables, coords={"time": time}, attrs={**table.attributes, "name": name})


def _grouped(labels: Any, length: int, table: Table) -> Iterator[tuple[str | None, slice | NDArray[np.intp]]]:
    """Yield the rows of each experiment, in the order in which experiments first appear."""
    if labels is None:
        yield None, slice(None)
        return
    import pandas as pd

    codes, kinds = pd.factorize(labels if hasattr(labels, "dtype") else np.asarray(labels, dtype=object))
    names = [str(kind).strip() for kind in kinds]
    unnamed = np.flatnonzero(np.isin(codes, [-1, *(i for i, name in enumerate(names) if not name)]))
    if len(unnamed):
        raise DataError(f"{table.where}: {table.place(int(unnamed[0]))} names no experiment")
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(names))
    yield from zip(names, np.split(order, np.cumsum(counts)[:-1]), strict=True)
