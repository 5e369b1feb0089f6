"""Constants of a system refitted on whole trajectories.

Shooting over windows that grow: each window has its own free initial state, so that no window is long enough
to lose the data; after each fit neighbouring windows are joined, until one window spans an experiment or a
longer one no longer fits. This reaches the single-shooting optimum without its traps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.shooting import Equations, Shooting, WindowFit
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: Samples of the first windows; they double from stage to stage.
_FIRST_WINDOW = 16


@dataclass(frozen=True)
class FittedConstant:
    """One constant of an equation, with its standard error."""

    state: str
    value: float
    standard_error: float


@dataclass(frozen=True)
class Refinement:
    """A system with refitted constants.

    Parameters
    ----------
    constants : tuple of FittedConstant
        In order of appearance, equation by equation.
    initial : tuple of arrays
        Fitted initial state of each experiment.
    message : str
        Empty if whole experiments were fitted; otherwise how far it got and why.
    """

    system: OdeSystem
    constants: tuple[FittedConstant, ...]
    initial: tuple[Array, ...]
    message: str = ""


def refine(
    system: OdeSystem, trajectories: Trajectories, smoothed: Sequence[xr.Dataset] | None = None
) -> Refinement:
    """Refit the floating-point constants of the rates on whole trajectories.

    Parameters
    ----------
    system : OdeSystem
        Its rates hold the numbers to refit; integers are structure and stay.
    trajectories : Trajectories
        The measurements.
    smoothed : sequence of datasets, optional
        Smoothed states per experiment for the first guess of the windows' initial states; the
        measurements themselves if not given.
    """
    equations = Equations.of(system)
    guesses = [_filled(run, system.states) for run in (smoothed or trajectories)]
    data = [np.vstack([run[state].to_numpy() for state in system.states]) for run in trajectories]
    initial = tuple(guess[:, 0] for guess in guesses)
    theta = np.array(equations.values)
    longest = max(values.shape[1] for values in data)
    window = min(_FIRST_WINDOW, longest)
    fit: WindowFit | None = None
    message = ""
    while True:
        shooting = Shooting(equations, trajectories, data, guesses, window)
        attempt = shooting.fit(theta if fit is None else fit.theta)
        if attempt is None or (fit is not None and not attempt.is_as_good_as(fit)):
            reached = f"windows of {window // 2} samples" if fit else "no window at all"
            message = f"constants were refitted on {reached}: longer ones did not follow the data"
            break
        fit = attempt
        guesses = shooting.simulated(fit)
        if window >= longest:
            initial = tuple(guess[:, 0] for guess in guesses)
            break
        window = min(2 * window, longest)
    if fit is None:
        return Refinement(system, _described(equations, theta, np.full(len(theta), np.nan)), initial, message)
    refined = replace(system, rates=equations.with_values(fit.theta))
    return Refinement(refined, _described(equations, fit.theta, fit.standard_errors), initial, message)


def fit_windows(
    system: OdeSystem,
    trajectories: Trajectories,
    smoothed: Sequence[xr.Dataset],
    window: int = 4 * _FIRST_WINDOW,
) -> WindowFit | None:
    """Fit constants on windows of one length; None for a system that cannot follow a window.

    This is what tells candidate systems apart: the same windows with the same free initial states for all.
    """
    equations = Equations.of(system)
    guesses = [_filled(run, system.states) for run in smoothed]
    data = [np.vstack([run[state].to_numpy() for state in system.states]) for run in trajectories]
    short = Shooting(equations, trajectories, data, guesses, _FIRST_WINDOW).fit(np.array(equations.values))
    if short is None:
        return None
    return Shooting(equations, trajectories, data, guesses, window).fit(short.theta)


def _described(equations: Equations, theta: Array, errors: Array) -> tuple[FittedConstant, ...]:
    rows = zip(equations.owners, theta.tolist(), errors.tolist(), strict=True)
    return tuple(FittedConstant(*row) for row in rows)


def _filled(run: xr.Dataset, states: Sequence[str]) -> Array:
    """Return the states with missing values interpolated, shape (states, times)."""
    times = run["time"].to_numpy()
    rows = []
    for state in states:
        values = run[state].to_numpy()
        present = np.isfinite(values)
        rows.append(np.interp(times, times[present], values[present]))
    return np.array(rows)
