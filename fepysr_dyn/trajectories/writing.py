"""Trajectories to tables and files."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fepysr_dyn.errors import DataError, OptionError
from fepysr_dyn.trajectories.checks import shown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

JSON_MARK = "json:"


def to_pandas(experiments: Iterable[xr.Dataset]) -> pd.DataFrame:
    """Return one wide table with the columns experiment, time and all variables in their order."""
    import pandas as pd

    runs = list(experiments)
    names = [str(run.attrs.get("name", "experiment")) for run in runs]
    if len(set(names)) < len(names):
        raise DataError(f"experiments in one table need different names, found {names}")
    parts = []
    for name, run in zip(names, runs, strict=True):
        table = {"experiment": name, "time": run["time"].to_numpy()}
        columns = {str(key): values.to_numpy() for key, values in run.data_vars.items()}
        parts.append(pd.DataFrame({**table, **columns}))
    return pd.concat(parts, ignore_index=True)


def to_csv(experiments: Iterable[xr.Dataset], path: str | Path) -> None:
    """Write the wide table; numbers with all their digits, missing values as empty cells."""
    table = to_pandas(experiments)
    try:
        table.to_csv(path, index=False, encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise not_written(path, error) from None


def to_netcdf(experiments: Iterable[xr.Dataset], path: str | Path) -> None:
    """Write one experiment into the root of a NetCDF file, several into a group each."""
    import xarray as xr

    runs = [_encoded(run) for run in experiments]
    width = len(str(len(runs)))
    groups = {f"/experiment_{i:0{width}d}": run for i, run in enumerate(runs, start=1)}
    tree = xr.DataTree(runs[0]) if len(runs) == 1 else xr.DataTree.from_dict(groups)
    try:
        tree.to_netcdf(path, engine="h5netcdf")
    except (OSError, UnicodeError, ValueError) as error:
        raise not_written(path, error) from None


def writer_for(path: str | Path) -> Callable[[Iterable[xr.Dataset], str | Path], None]:
    """Return what writes a file of that name, before there is anything to write."""
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise OptionError(f"{path}: expected a file name that ends in {' or '.join(WRITERS)}")
    check_writable(path)
    return WRITERS[suffix]


def check_writable(path: str | Path) -> None:
    """Complain early about a place where no file can be written."""
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        raise not_written(path, OSError())
    existing = path if path.exists() else path.parent
    if not os.access(existing, os.W_OK):
        raise not_written(path, OSError(errno.EACCES, os.strerror(errno.EACCES)))


def not_written(path: str | Path, error: Exception) -> DataError:
    """Return a one-line error for a file that cannot be written."""
    reason = getattr(error, "strerror", None) or shown(str(error), 120)
    if Path(path).is_dir():
        reason = "it is a directory"
    elif not Path(path).parent.is_dir():
        reason = f"there is no directory '{Path(path).parent}'"
    return DataError(f"{path}: cannot be written: {reason}")


WRITERS = {".csv": to_csv, ".nc": to_netcdf}


def _encoded(run: xr.Dataset) -> xr.Dataset:
    """Return a copy whose attributes are of kinds that NetCDF has."""
    copy = run.copy()
    copy.attrs = encode_attributes(run.attrs)
    for name in copy.variables:
        copy[name].attrs = encode_attributes(run[name].attrs)
        # xarray would otherwise give every float variable a fill value and drop units it cannot decode.
        copy[name].encoding = {"_FillValue": None}
    return copy


def encode_attributes(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Return attributes as NetCDF stores them; what it has no kind for becomes marked JSON text."""
    encoded: dict[str, Any] = {}
    for key, value in attributes.items():
        if key == "breakpoints":
            encoded[key] = np.asarray(value, dtype=float)
        elif _is_plain(value):
            encoded[str(key)] = value
        else:
            try:
                encoded[str(key)] = JSON_MARK + json.dumps(value)
            except (TypeError, ValueError):
                raise DataError(f"attribute '{key}' cannot be stored: {type(value).__name__}") from None
    return encoded


def decode_attributes(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Return attributes as they were before `encode_attributes`."""
    decoded: dict[str, Any] = {}
    for key, value in attributes.items():
        if key == "breakpoints":
            decoded[key] = np.atleast_1d(value).tolist()
        elif isinstance(value, str) and value.startswith(JSON_MARK):
            try:
                decoded[key] = json.loads(value[len(JSON_MARK) :])
            except (ValueError, RecursionError):
                decoded[key] = value
        else:
            decoded[key] = value.item() if isinstance(value, np.generic) else value
    return decoded


def _is_plain(value: object) -> bool:
    """Return whether NetCDF stores and returns a value as it is."""
    if isinstance(value, str):
        return value.isprintable() and bool(value) and not value.startswith(JSON_MARK)
    return isinstance(value, float) or (
        isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    )
