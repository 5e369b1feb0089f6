"""xarray datasets and NetCDF files as tables."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fepysr_dyn.confined.running import answer_of
from fepysr_dyn.errors import DataError
from fepysr_dyn.trajectories.checks import shown
from fepysr_dyn.trajectories.selection import Selection
from fepysr_dyn.trajectories.tables import ArrayTable
from fepysr_dyn.trajectories.writing import decode_attributes

if TYPE_CHECKING:
    import xarray as xr

CHECK_SECONDS = 600.0
HDF5 = b"\x89HDF\r\n\x1a\n"
CLASSIC = (b"CDF\x01", b"CDF\x02")


def netcdf_tables(path: Path, selection: Selection, magic: bytes) -> Iterator[ArrayTable]:
    """Yield one table per experiment of a NetCDF file: of its root, or of each of its groups."""
    filled = {name: group for name, group in _groups(path, magic).items() if group.data_vars}
    if not filled:
        raise DataError(f"{path}: expected variables, found none in this NetCDF file")
    for name, group in filled.items():
        where = str(path) if name == "/" else f"{path}, group '{name}'"
        default = path.stem if name == "/" else name.strip("/")
        yield from dataset_tables(group, selection, where=where, name=default)


def _groups(path: Path, magic: bytes) -> dict[str, xr.Dataset]:
    """Read the whole file."""
    reason = ""
    hook = sys.unraisablehook
    # h5netcdf complains on stderr when a file that it could not open is collected.
    sys.unraisablehook = lambda _: None
    try:
        return _load(path, magic)
    except DataError:
        raise
    except Exception as error:  # the readers of a damaged binary file raise whatever they stumble over
        reason = shown(str(error), 120) or type(error).__name__
    finally:
        if reason:
            gc.collect()
        sys.unraisablehook = hook
    raise DataError(f"{path}: cannot be read as NetCDF, it may be damaged: {reason}")


def _load(path: Path, magic: bytes) -> dict[str, xr.Dataset]:
    import xarray as xr

    if magic.startswith(CLASSIC):
        return {"/": xr.load_dataset(path, engine="scipy", decode_times=False)}
    _check(path)
    opened = xr.open_groups(path, engine="h5netcdf", decode_times=False)
    try:
        return {name: group.load() for name, group in opened.items()}
    finally:
        for group in opened.values():
            group.close()


def _check(path: Path) -> None:
    """Let a process that can do nothing else walk over the file first."""
    answer = answer_of("netcdf", str(path), seconds=CHECK_SECONDS)
    if answer != "fine":
        reason = answer or "cannot be read as NetCDF, it may be damaged: its reader came to no end"
        raise DataError(f"{path}: {shown(reason, 200)}")


def dataset_tables(data: xr.Dataset, selection: Selection, *, where: str, name: str) -> Iterator[ArrayTable]:
    """Yield one table per experiment of a dataset: one, or as many as its experiment dimension has."""
    if selection.experiment in data.dims and selection.time in data.variables:
        for index in range(data.sizes[selection.experiment]):
            one = data.isel({selection.experiment: index})
            label = (
                one.coords[selection.experiment].item() if selection.experiment in one.coords else index + 1
            )
            yield from dataset_tables(
                one.drop_vars(selection.experiment, errors="ignore"),
                selection,
                where=f"{where}, experiment '{label}'",
                name=str(label),
            )
        return
    yield _table(data, selection, where=where, name=name)


def _table(data: xr.Dataset, selection: Selection, *, where: str, name: str) -> ArrayTable:
    if selection.time not in data.variables:
        # The general complaint about a missing column lists what there is.
        return ArrayTable(where, name, {str(key): values for key, values in data.variables.items()})
    dimensions = data[selection.time].dims
    if len(dimensions) != 1:
        raise DataError(
            f"{where}: expected times along one dimension, found '{selection.time}' with {list(dimensions)}"
        )
    asked = (*selection.inputs, *(selection.states or ()))
    columns: dict[str, Any] = {selection.time: data[selection.time].to_numpy()}
    for key, variable in data.variables.items():
        text = str(key)
        if variable.dims == dimensions:
            columns[text] = variable.to_numpy()
        elif text in asked or (selection.states is None and key in data.data_vars):
            raise DataError(
                f"{where}: variable '{text}' has the dimensions {list(variable.dims)}, expected only "
                f"'{dimensions[0]}'; leave it out by naming the states"
            )
    about = {key: decode_attributes(data[key].attrs) for key in columns}
    roles = {key: str(values["role"]) for key, values in about.items() if "role" in values}
    return ArrayTable(where, name, columns, roles, decode_attributes(data.attrs), about)
