"""Measurements from files, tables and arrays, checked once and for all."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fepysr_dyn.errors import DataError, DataWarning, OptionError
from fepysr_dyn.trajectories.breakpoints import detect_breakpoints
from fepysr_dyn.trajectories.checks import check_breakpoints, per_experiment, shown
from fepysr_dyn.trajectories.csv_files import CsvFile, CsvOptions
from fepysr_dyn.trajectories.selection import DEFAULT_EXPERIMENT, Selection, names_from
from fepysr_dyn.trajectories.tables import ArrayTable, Table, experiments_of
from fepysr_dyn.trajectories.types import Trajectories, with_role

if TYPE_CHECKING:
    import xarray as xr

NETCDF_SUFFIXES = (".nc", ".nc4", ".cdf", ".netcdf", ".h5", ".hdf5")
_OTHER_FORMATS = {
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"%PDF": "a PDF document",
    b"PAR1": "a Parquet file",
    b"<!DOCTYP": "a web page",
    b"<html": "a web page",
    b"<?xml": "an XML document",
    b"{": "a JSON document",
}


def read_trajectories(
    source: Any,
    *,
    inputs: str | Iterable[str] = (),
    states: str | Iterable[str] | None = None,
    time: str = "time",
    experiment: str = DEFAULT_EXPERIMENT,
    breakpoints: Iterable[float] | Mapping[str, Iterable[float]] | None = None,
    delimiter: str = ",",
    decimal: str = ".",
) -> Trajectories:
    """Read measurements.

    Parameters
    ----------
    source : path, DataFrame, xarray.Dataset, mapping, or a list of them
        A CSV file with a first line of names, a NetCDF file, a table with a column of times, a dataset, or a
        mapping from names to arrays. Several make several experiments; so does a mapping from names of
        experiments to tables, and a column of labels within one table.
    inputs : names, optional
        Columns that are inputs.
    states : names, optional
        Columns that are states; all that are neither time, experiment nor input if not given.
    time, experiment : str
        The columns of times and of labels. An absent column ``experiment`` means one experiment.
    breakpoints : numbers, or a mapping from experiments to numbers, optional
        Times at which inputs jump or bend: at such a time an input has its new value already. Taken from
        the file if it has them, and otherwise detected in the inputs.
    delimiter, decimal : str
        How a CSV file separates fields and writes decimals.

    Returns
    -------
    Trajectories
        An experiment whose breakpoints were detected has ``attrs["breakpoints_from"] == "detected"``.

    Raises
    ------
    DataError
        One line that names the file, the place, what was expected and what was found.

    Warns
    -----
    DataWarning
        About what will keep equations from being found; see `Trajectories.warnings`.

    Examples
    --------
    >>> runs = read_trajectories({"time": [0, 1, 2], "x": [1.0, 2.0, 4.0], "u": [0.1, 0.5, 0.3]}, inputs="u")
    >>> runs.states, runs.inputs
    (('x',), ('u',))
    """
    selection = Selection(
        names_from(inputs, "inputs"),
        None if states is None else names_from(states, "states"),
        time,
        experiment,
    )
    options = CsvOptions(delimiter, decimal)
    runs = []
    for table in _tables(source, selection, options):
        runs += [(table.where, run) for run in experiments_of(table, selection)]
    if not runs:
        raise DataError("expected at least one experiment, found none")
    _give_names(runs)
    trajectories = Trajectories(tuple(_in_order(run, where, runs[0]) for where, run in runs))
    _set_breakpoints(trajectories, breakpoints, where=runs[0][0])
    for message in trajectories.warnings:
        warnings.warn(message, DataWarning, stacklevel=2)
    return trajectories


def _tables(source: Any, selection: Selection, options: CsvOptions) -> Iterator[Table]:
    if isinstance(source, str | Path):
        yield from _file_tables(Path(source), selection, options)
    elif isinstance(source, list | tuple | Iterator):
        for number, item in enumerate(source, start=1):
            if isinstance(item, list | tuple):
                raise DataError(
                    f"expected a list of files or tables, found a list within a list (item {number})"
                )
            yield from _one(item, f"table {number}", f"experiment {number}", selection, options)
    elif isinstance(source, Mapping) and source and all(_is_table(item) for item in source.values()):
        for name, item in source.items():
            yield from _one(item, f"table '{name}'", str(name), selection, options)
    else:
        yield from _one(source, "table", "experiment 1", selection, options)


def _one(item: Any, where: str, name: str, selection: Selection, options: CsvOptions) -> Iterator[Table]:
    """Yield the tables of one source that is no list."""
    if isinstance(item, str | Path):
        yield from _file_tables(Path(item), selection, options)
    elif _is_kind(item, "xarray", "Dataset"):
        from fepysr_dyn.trajectories.datasets import dataset_tables

        yield from dataset_tables(item, selection, where=where.replace("table", "dataset"), name=name)
    elif _is_kind(item, "pandas", "DataFrame"):
        named = [level for level in item.index.names if level is not None and level not in item.columns]
        frame = item.reset_index(level=named) if named else item
        columns = [str(column) for column in frame.columns]
        if len(set(columns)) < len(columns):
            twice = next(column for column in columns if columns.count(column) > 1)
            raise DataError(f"{where}: two columns have the name '{shown(twice)}'; rename one of them")
        yield ArrayTable(where, name, {column: frame.iloc[:, i] for i, column in enumerate(columns)})
    elif isinstance(item, Mapping):
        yield ArrayTable(where, name, {str(key): values for key, values in item.items()})
    else:
        raise DataError(
            f"{where}: expected a path, a DataFrame, an xarray.Dataset or a mapping from names to arrays, "
            f"found {type(item).__name__}"
        )


def _file_tables(path: Path, selection: Selection, options: CsvOptions) -> Iterator[Table]:
    magic = _first_bytes(path)
    from fepysr_dyn.trajectories.datasets import CLASSIC, HDF5, netcdf_tables

    if magic.startswith((HDF5, *CLASSIC)):
        yield from netcdf_tables(path, selection, magic)
        return
    for start, kind in _OTHER_FORMATS.items():
        if magic.startswith(start):
            raise DataError(
                f"{path}: expected a CSV or NetCDF file, found {kind}; save the data as CSV in UTF-8"
            )
    if path.suffix.lower() in NETCDF_SUFFIXES:
        raise DataError(
            f"{path}: expected a NetCDF file, found something else; its first bytes are {magic!r}"
        )
    yield CsvFile(path, options)


def _first_bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise DataError(f"{path}: expected a CSV or NetCDF file, found a directory; name the files in it")
        if path.exists() and not path.is_file():
            raise DataError(f"{path}: expected a CSV or NetCDF file, found a device or a pipe")
        with path.open("rb") as stream:
            return stream.read(8)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{shown(str(path), 120)}: cannot be read: {reason}") from None


def _give_names(runs: list[tuple[str, xr.Dataset]]) -> None:
    """Make the names of experiments differ, with the files they are from where needed."""
    names = [run.attrs["name"] for _, run in runs]
    for where, run in runs:
        if names.count(run.attrs["name"]) > 1:
            run.attrs["name"] = f"{where}: {run.attrs['name']}"
    seen: set[str] = set()
    for _, run in runs:
        name = run.attrs["name"]
        if name in seen:
            raise DataError(f"the experiment '{shown(name, 120)}' is given twice")
        seen.add(name)


def _in_order(run: xr.Dataset, where: str, reference: tuple[str, xr.Dataset]) -> xr.Dataset:
    """Return a run with its variables in the order of the first one, or complain about what differs."""
    other, first = reference
    for role in ("state", "input"):
        found, expected = with_role(run, role), with_role(first, role)
        for kind, names in (("lacks", set(expected) - set(found)), ("also has", set(found) - set(expected))):
            if names:
                raise DataError(
                    f"all experiments need the same columns: {where} {kind} the {role} '{min(names)}', "
                    f"unlike {other}"
                )
    order = [name for name in first.data_vars if name in run.data_vars]
    return run[[*order, *(name for name in run.data_vars if name not in order)]]


def _set_breakpoints(
    trajectories: Trajectories,
    declared: Iterable[float] | Mapping[str, Iterable[float]] | None,
    *,
    where: str,
) -> None:
    """Put the breakpoints into each experiment: declared, from its file, or detected."""
    if isinstance(declared, str | bytes):
        raise OptionError(f"expected breakpoints to be numbers, found the text {declared!r}")
    names = [run.attrs["name"] for run in trajectories]
    given = None if declared is None else per_experiment(declared, names, where=where)
    unused = set() if given is None else {point for points in given.values() for point in points}
    for run in trajectories:
        start, stop = float(run["time"][0]), float(run["time"][-1])
        if given is not None:
            points = given[run.attrs["name"]]
            run.attrs.pop("breakpoints_from", None)
        elif "breakpoints" in run.attrs:
            points = check_breakpoints(run.attrs["breakpoints"], where=where)
        else:
            points, too_fine = detect_breakpoints(run)
            run.attrs["breakpoints_from"] = "detected"
            for name in too_fine:
                warnings.warn(
                    f"input '{name}' of '{run.attrs['name']}' changes too often to be cut into segments "
                    "and is taken as smooth; declare breakpoints if it has steps",
                    DataWarning,
                    stacklevel=3,
                )
        unused -= {point for point in points if start <= point <= stop}
        run.attrs["breakpoints"] = [point for point in points if start < point <= stop]
    if unused:
        raise DataError(f"{where}: the breakpoint {min(unused):.12g} lies outside of all experiments")


def _is_kind(item: object, module: str, name: str) -> bool:
    """Return whether an object is of a class, without importing the module that has it."""
    return any(c.__name__ == name and c.__module__.split(".")[0] == module for c in type(item).__mro__)


def _is_table(item: object) -> bool:
    return (
        isinstance(item, Mapping)
        or _is_kind(item, "pandas", "DataFrame")
        or _is_kind(item, "xarray", "Dataset")
    )
