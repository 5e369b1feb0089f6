"""What is demanded of measurements, and what is only warned of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from fepysr_dyn.trajectories.types import Trajectories

Array = NDArray[np.float64]
#: Tells the user's name for the i-th sample of a table: a line of a file or a row of an array.
Place = Callable[[int], str]

#: An input with fewer levels than this cannot tell a straight line from a curve.
FEW_LEVELS = 3


def check_column_names(columns: Iterable[str], *, where: str) -> None:
    """Complain about empty and repeated names of columns."""
    seen: set[str] = set()
    for number, name in enumerate(columns, start=1):
        if not name.strip():
            raise DataError(f"{where}: column {number} has no name; expected a first line with all names")
        if name in seen:
            raise DataError(f"{where}: two columns have the name '{shown(name)}'; rename one of them")
        seen.add(name)


def check_variable_names(states: Iterable[str], inputs: Iterable[str], *, where: str) -> None:
    """Complain about names that cannot stand in a formula or that clash with a derivative's."""
    from fepysr_dyn.expressions import is_name

    states = list(states)
    names = [*states, *inputs]
    for name in names:
        if not is_name(name):
            raise DataError(
                f"{where}: column '{shown(name)}' cannot be a name in a formula: expected a letter, then "
                "letters, digits and _, no function's name; rename it or leave it out by naming the states"
            )
    for name in states:
        for taken in (f"d{name}", f"d{name}_se", f"{name}_se"):
            if taken in names:
                raise DataError(
                    f"{where}: column '{taken}' has the name that belongs to the derivative or the error of "
                    f"'{name}'; rename it or leave it out by naming the states"
                )


def require_known(names: Iterable[str], known: Iterable[str], *, what: str, where: str) -> None:
    """Complain about a name that is not there, with a suggestion."""
    known = list(known)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            listed = hint or f"; the columns are {shown(', '.join(known), 120)}"
            raise DataError(f"{where}: there is no {what} '{shown(name)}'{listed}")


def check_times(times: Array, *, place: Place, where: str, name: str) -> None:
    """Complain about times that are missing, not finite, repeated or not ascending."""
    if len(times) == 0:
        raise DataError(f"{where}: expected samples, found none")
    missing = np.flatnonzero(np.isnan(times))
    if len(missing):
        raise DataError(
            f"{where}: {place(missing[0])} has no time (column '{name}'){_and_more(len(missing))}"
        )
    infinite = np.flatnonzero(np.isinf(times))
    if len(infinite):
        raise DataError(f"{where}: {place(infinite[0])}, column '{name}': expected a finite time, found inf")
    late = np.flatnonzero(np.diff(times) <= 0)
    if not len(late):
        if len(times) < 2:
            raise DataError(f"{where}: expected at least 2 samples in each experiment, found 1")
        return
    i = int(late[0]) + 1
    if times[i] == times[i - 1]:
        raise DataError(
            f"{where}: time {times[i]:.12g} is there twice, last in {place(i)}{_and_more(len(late))}; "
            "average or remove repeated samples, or tell experiments apart with an experiment column"
        )
    raise DataError(
        f"{where}: times must ascend, but {times[i]:.12g} follows {times[i - 1]:.12g} in {place(i)}"
        f"{_and_more(len(late))}; sort the rows, or tell experiments apart with an experiment column"
    )


def check_values(values: Array, *, name: str, place: Place, where: str) -> None:
    """Complain about infinite values and about a series without any."""
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise DataError(
            f"{where}: {place(infinite[0])}, column '{name}': expected a finite number, found "
            f"{values[infinite[0]]}{_and_more(len(infinite))}; leave the cell empty if the value is unknown"
        )
    if np.isnan(values).all():
        raise DataError(f"{where}: column '{name}' has no values at all; leave it out")


def check_breakpoints(points: Iterable[object], *, where: str) -> list[float]:
    """Return declared breakpoints as ascending numbers."""
    numbers = []
    for point in points:
        if (
            isinstance(point, bool)
            or not isinstance(point, int | float | np.number)
            or not math.isfinite(point)
        ):
            raise DataError(f"{where}: expected breakpoints to be finite numbers, found {point!r}")
        numbers.append(float(point))
    return sorted(set(numbers))


def data_warnings(trajectories: Trajectories) -> tuple[str, ...]:
    """Return what in the data will keep equations from being found."""
    found = []
    for name in trajectories.states:
        low, high = _range(trajectories, name)
        if low == high:
            found.append(f"state '{name}' is {low:.6g} at all times: nothing can be learned about it")
    for name in trajectories.inputs:
        levels = input_levels(trajectories, name, at_most=FEW_LEVELS)
        if len(levels) == 1:
            found.append(f"input '{name}' is {levels[0]:.6g} at all times: its effect cannot be learned")
        elif len(levels) < FEW_LEVELS:
            listed = " and ".join(f"{level:.6g}" for level in levels)
            found.append(
                f"input '{name}' has only the levels {listed}: any law in '{name}' looks like a straight line"
            )
    return tuple(found)


def input_levels(trajectories: Trajectories, name: str, *, at_most: int) -> list[float]:
    """Return the different values of an input over all experiments, the first `at_most` of them."""
    levels: set[float] = set()
    for run in trajectories:
        values = run[name].to_numpy()
        levels.update(np.unique(values[np.isfinite(values)])[:at_most].tolist())
    return sorted(levels)[:at_most]


def _range(trajectories: Trajectories, name: str) -> tuple[float, float]:
    series = np.concatenate([run[name].to_numpy() for run in trajectories])
    present = series[np.isfinite(series)]
    return (float(present.min()), float(present.max())) if len(present) else (math.nan, math.nan)


def per_experiment(
    breakpoints: Iterable[float] | Mapping[str, Iterable[float]], names: list[str], *, where: str
) -> dict[str, list[float]]:
    """Return the declared breakpoints of each experiment, shared or by name."""
    if isinstance(breakpoints, Mapping):
        require_known(breakpoints, names, what="experiment", where=where)
        return {name: check_breakpoints(breakpoints.get(name, ()), where=where) for name in names}
    shared = check_breakpoints(breakpoints, where=where)
    return dict.fromkeys(names, shared)


def shown(text: str, limit: int = 40) -> str:
    """Return a text fit for one line of a message."""
    printable = "".join(char if char.isprintable() else "·" for char in text)
    return printable if len(printable) <= limit else f"{printable[: limit - 1]}…"


def _and_more(count: int) -> str:
    return f" (and {count - 1} more)" if count > 1 else ""
