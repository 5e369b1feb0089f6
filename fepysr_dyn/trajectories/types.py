"""The type `Trajectories` and how one experiment is put together."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError
from fepysr_dyn.stimulus import split_at

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trajectories:
    """A tuple of experiments with the same states and inputs.

    Each experiment is an ``xarray.Dataset`` with the dimension ``time`` and one variable per state, input
    and (where known) exact rate, told apart by ``attrs["role"]``: "state", "input" or "rate". The rate of
    state X is the variable dX. ``attrs["name"]`` names the experiment, ``attrs["breakpoints"]`` lists the
    times at which an input jumps or bends. Lengths and sampling may differ between experiments; missing
    values are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> run = make_experiment([0.0, 1.0, 2.0], states={"x": np.array([1.0, 2.0, 4.0])})
    >>> Trajectories((run,)).states
    ('x',)
    """

    experiments: tuple[xr.Dataset, ...]

    def __post_init__(self) -> None:
        if not self.experiments:
            raise DataError("expected at least one experiment, found none")
        first = self.experiments[0]
        for run in self.experiments:
            for role in ("state", "input"):
                found, expected = list(with_role(run, role)), list(with_role(first, role))
                if found != expected:
                    raise DataError(
                        f"all experiments need the same {role}s: '{run.attrs['name']}' has {found}, "
                        f"'{first.attrs['name']}' has {expected}"
                    )

    def __iter__(self) -> Iterator[xr.Dataset]:
        return iter(self.experiments)

    def __len__(self) -> int:
        return len(self.experiments)

    @overload
    def __getitem__(self, index: int) -> xr.Dataset: ...

    @overload
    def __getitem__(self, index: slice) -> Trajectories: ...

    def __getitem__(self, index: int | slice) -> xr.Dataset | Trajectories:
        if isinstance(index, slice):
            return Trajectories(self.experiments[index])
        return self.experiments[index]

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return with_role(self.experiments[0], "state")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return with_role(self.experiments[0], "input")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What in these data will keep equations from being found, one line each."""
        from fepysr_dyn.trajectories.checks import data_warnings

        return data_warnings(self)

    def plot(self) -> Figure:
        """Draw states and inputs over time."""
        from fepysr_dyn.report.display import plot_trajectories

        return plot_trajectories(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return one wide table with the columns experiment, time, states, inputs and known rates."""
        from fepysr_dyn.trajectories.writing import to_pandas

        return to_pandas(self)

    def to_csv(self, path: str | Path) -> None:
        """Write the table of `to_pandas`; breakpoints and other attributes are kept by NetCDF only."""
        from fepysr_dyn.trajectories.writing import to_csv

        to_csv(self, path)

    def to_netcdf(self, path: str | Path) -> None:
        """Write everything to a NetCDF file that `read_trajectories` reads back unchanged."""
        from fepysr_dyn.trajectories.writing import to_netcdf

        to_netcdf(self, path)


def with_role(run: xr.Dataset, role: str) -> tuple[str, ...]:
    """Return the names of an experiment's variables with a role."""
    return tuple(str(name) for name, values in run.data_vars.items() if values.attrs.get("role") == role)


def make_experiment(
    times: Iterable[float],
    states: Mapping[str, Array],
    inputs: Mapping[str, Array] | None = None,
    rates: Mapping[str, Array] | None = None,
    *,
    name: str = "experiment",
    breakpoints: Iterable[float] = (),
) -> xr.Dataset:
    """Put arrays of one experiment together; `rates` are named after their states."""
    import xarray as xr

    variables = {}
    tables = (
        ("state", states),
        ("input", inputs or {}),
        ("rate", {f"d{k}": v for k, v in (rates or {}).items()}),
    )
    for role, table in tables:
        for key, values in table.items():
            variables[key] = ("time", np.asarray(values, dtype=float), {"role": role})
    stamps = times if isinstance(times, np.ndarray) else list(times)
    coordinates = {"time": np.asarray(stamps, dtype=float)}
    points = sorted(float(point) for point in breakpoints)
    return xr.Dataset(variables, coords=coordinates, attrs={"name": name, "breakpoints": points})


def segments(run: xr.Dataset) -> list[slice]:
    """Return the index ranges between breakpoints; a sample at a breakpoint belongs to what follows."""
    times = run["time"].to_numpy()
    pieces = split_at(
        run.attrs.get("breakpoints", []), float(times[0]), float(np.nextafter(times[-1], np.inf))
    )
    edges = [int(np.searchsorted(times, start, side="left")) for start, _ in pieces] + [len(times)]
    return [slice(a, b) for a, b in itertools.pairwise(edges) if b > a]
