"""The protocol of a baseline and what it answers: a system, and the whole grid it was chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import sympy

if TYPE_CHECKING:
    from fepysr_dyn.baselines.splitting import Split
    from fepysr_dyn.system import OdeSystem
    from fepysr_dyn.trajectories import Trajectories

Settings = Mapping[str, Any]
Rates = Mapping[str, sympy.Expr]

#: How a grid point ends that never became a system.
NOT_FITTED = "not fitted"


@dataclass(frozen=True)
class GridPoint:
    """One setting of a baseline and what it scored on data kept out of its fit.

    Parameters
    ----------
    error : float
        What the choice is made by: root mean square of the re-integration error in standard deviations,
        each sample counting at most 1 and each sample that was not reached counting 1. It is below 1 for
        any model, so that a blow-up is a score like others, and a late one better than an early one.
    outcome : str
        How the worst integration ended, or "not fitted".
    """

    settings: Settings
    error: float
    r2: float
    nrmse: float
    outcome: str
    message: str
    terms: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return what a JSON document holds of this point."""
        return {**vars(self), "settings": dict(self.settings)}


@dataclass(frozen=True)
class BaselineResult:
    """The answer of a baseline.

    Parameters
    ----------
    system : OdeSystem or None
        The best of the grid, fitted on all the data; None if nothing could be fitted, see `message`.
    settings : mapping
        Where on the grid it comes from.
    grid : tuple of GridPoint
        Every setting that was tried.
    complete : bool
        False if the time limit ended the grid early.
    """

    name: str
    system: OdeSystem | None
    settings: Settings = field(default_factory=dict)
    grid: tuple[GridPoint, ...] = ()
    message: str = ""
    seconds: float = 0.0
    complete: bool = True


class Baseline(Protocol):
    """Anything that turns trajectories into a system of equations."""

    @property
    def name(self) -> str:
        """Short name shown in tables."""
        ...

    def fit(
        self,
        trajectories: Trajectories,
        *,
        split: Split | None = None,
        seed: int = 0,
        time_limit: float = 60.0,
    ) -> BaselineResult:
        """Fit every setting of the grid, choose by held-out score, and fit the choice on all the data.

        Parameters
        ----------
        split : Split, optional
            What the settings are fitted and scored on; made by `split_inside` if not given.
        time_limit : float
            Seconds after which no further setting is tried.
        """
        ...
