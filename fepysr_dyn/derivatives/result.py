"""The answer of derivative estimation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Choice:
    """Which estimator with which smoothing was used for one state of one experiment, and why."""

    experiment: str
    state: str
    method: str
    settings: str
    reason: str

    def __str__(self) -> str:
        settings = f" ({self.settings})" if self.settings else ""
        return f"{self.experiment}, {self.state}: {self.method}{settings}; {self.reason}"


@dataclass(frozen=True)
class Derivatives:
    """Smoothed states and their derivatives, one dataset per experiment.

    For a state ``X`` each dataset holds ``X`` (smoothed), ``X_se``, ``dX`` and ``dX_se``, told apart by
    ``attrs["role"]``: "state", "state_se", "rate", "rate_se". Inputs are copied. A time stamp at which the
    derivative cannot be known (a single sample between two breakpoints) has NaN.
    """

    experiments: tuple[xr.Dataset, ...]
    choices: tuple[Choice, ...] = ()

    def __iter__(self) -> Iterator[xr.Dataset]:
        return iter(self.experiments)

    def __len__(self) -> int:
        return len(self.experiments)

    def __getitem__(self, index: int) -> xr.Dataset:
        return self.experiments[index]

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return self._with_role("state")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self._with_role("input")

    @property
    def methods(self) -> dict[str, dict[str, str]]:
        """The estimator used, by experiment and state."""
        table: dict[str, dict[str, str]] = {}
        for choice in self.choices:
            table.setdefault(choice.experiment, {})[choice.state] = choice.method
        return table

    def _with_role(self, role: str) -> tuple[str, ...]:
        variables = self.experiments[0].data_vars.items()
        return tuple(str(name) for name, values in variables if values.attrs.get("role") == role)
