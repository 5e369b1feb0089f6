"""Which column is what: time, experiment, states, inputs and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fepysr_dyn.errors import DataError, did_you_mean
from fepysr_dyn.trajectories.checks import check_column_names, check_variable_names, require_known, shown

DEFAULT_EXPERIMENT = "experiment"


@dataclass(frozen=True)
class Columns:
    """The columns of one table by what they are; `kept` are known rates and others with their own role."""

    time: str
    experiment: str | None
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    kept: tuple[str, ...] = ()

    @property
    def roles(self) -> dict[str, str]:
        """States and inputs with their roles, in order."""
        return {**dict.fromkeys(self.states, "state"), **dict.fromkeys(self.inputs, "input")}


@dataclass(frozen=True)
class Selection:
    """What the caller said about the columns."""

    inputs: tuple[str, ...] = ()
    states: tuple[str, ...] | None = None
    time: str = "time"
    experiment: str = DEFAULT_EXPERIMENT

    def choose(self, columns: Sequence[str], roles: Mapping[str, str], *, where: str) -> Columns:
        """Give every column its place.

        Parameters
        ----------
        columns : sequence of str
            All columns of the table.
        roles : mapping of str to str
            What the table itself says about some of them.
        where : str
            How messages begin.
        """
        check_column_names(columns, where=where)
        if self.time not in columns:
            hint = did_you_mean(self.time, columns) or f"; the columns are {shown(', '.join(columns), 120)}"
            how = "(say which with time= or --time)"
            raise DataError(f"{where}: there is no time column '{shown(self.time)}'{hint} {how}")
        experiment = self.experiment if self.experiment in columns else None
        if experiment is None and self.experiment != DEFAULT_EXPERIMENT:
            require_known([self.experiment], columns, what="experiment column", where=where)
        reserved = {self.time, experiment}
        self._check_overlap(reserved, where)
        data = [name for name in columns if name not in reserved]
        require_known(self.inputs, data, what="input", where=where)
        require_known(self.states or (), data, what="state", where=where)
        inputs, states = self._inputs(data, roles), self._states(data, roles)
        if not states:
            raise DataError(f"{where}: expected at least one state, found none beside {', '.join(columns)}")
        check_variable_names(states, inputs, where=where)
        other = [name for name in data if roles.get(name, "state") not in ("state", "input")]
        kept = [name for name in other if name not in (*states, *inputs)]
        if self.states is not None:
            kept = [name for name in kept if name in {f"d{state}" for state in states}]
        return Columns(self.time, experiment, states, inputs, tuple(kept))

    def _check_overlap(self, reserved: set[str | None], where: str) -> None:
        for kind, names in (("input", self.inputs), ("state", self.states or ())):
            for name in names:
                if name in reserved:
                    raise DataError(
                        f"{where}: '{name}' cannot be both the time or experiment column and {kind}"
                    )
        both = sorted(set(self.inputs) & set(self.states or ()))
        if both:
            raise DataError(f"{where}: '{both[0]}' cannot be both a state and an input")

    def _inputs(self, data: list[str], roles: Mapping[str, str]) -> tuple[str, ...]:
        told = [name for name in data if roles.get(name) == "input" and name not in (self.states or ())]
        return tuple(dict.fromkeys([*self.inputs, *told]))

    def _states(self, data: list[str], roles: Mapping[str, str]) -> tuple[str, ...]:
        if self.states is not None:
            return tuple(dict.fromkeys(self.states))
        return tuple(name for name in data if name not in self.inputs and roles.get(name, "state") == "state")


def names_from(value: str | Iterable[str], what: str) -> tuple[str, ...]:
    """Return names given as one text or several."""
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"expected {what} to be names of columns, found {name!r}")
    return names
