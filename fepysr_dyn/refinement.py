"""Constants of a system refitted on whole trajectories.

Shooting over windows that grow: each window has its own free initial state, so that no window is long enough
to lose the data; after each fit neighbouring windows are joined, until one window spans an experiment or a
longer one no longer fits. This reaches the single-shooting optimum without its traps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.linearised import LinearisedSystem
from fepysr_dyn.shooting import Shooting, WindowFit
from fepysr_dyn.shooting_equations import Equations
from fepysr_dyn.shooting_plan import Stepping
from fepysr_dyn.shooting_windows import Windows
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: Samples of the first windows; they double from stage to stage.
_FIRST_WINDOW = 16
#: Samples of the windows on which systems are told apart.
_JUDGING_WINDOW = 4 * _FIRST_WINDOW
#: Starts of the first fit: the given constants, and these many with each constant moved by this factor or so.
_RESTARTS = 3
_MOVED_BY = 1.3
#: Systems are told apart by fits that change by less than this share of the sum of squares.
_JUDGED = 1e-4
#: Iterations of a fit that starts at the optimum of all windows and leaves some out.
_FOLD_ITERATIONS = 8
#: How to get from one sample to the next: in more steps for a stiff system, which an explicit method cannot
#: follow else. To tell systems apart a method of lower order is enough.
_STEPPINGS = (Stepping(1), Stepping(4), Stepping(16))
_JUDGING_STEPPINGS = (Stepping(1, precise=False), Stepping(4, precise=False), Stepping(16, precise=False))
#: So many of these are tried where a stiff system may wait.
_QUICK = 2
#: Steps are small enough if smaller ones change the misfit by less than this share; if they change it by less
#: than that factor, the fit goes on from where it is.
_SAME_MISFIT = 0.02
_SIMILAR_MISFIT = 4.0


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
    window : int
        Samples of the longest windows that could be followed; 0 if there were none.
    misfit : float
        Mean square of the residuals over these windows, in units of each state's spread.
    residuals : mapping of str to float
        Mean square of the residuals of each state over these windows, in its own units.
    lost : bool
        Whether longer windows were tried and did not follow the data: some equation is wrong.
    """

    system: OdeSystem
    constants: tuple[FittedConstant, ...]
    initial: tuple[Array, ...]
    message: str = ""
    window: int = 0
    misfit: float = float("inf")
    residuals: Mapping[str, float] = field(default_factory=dict)
    lost: bool = False


def refine(
    system: OdeSystem,
    trajectories: Trajectories,
    smoothed: Sequence[xr.Dataset] | None = None,
    *,
    held: Collection[str] = (),
    must_stop: Callable[[], bool] = lambda: False,
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
    held : collection of str
        States whose rates stay as they are.
    must_stop : callable
        Asked before windows grow; the fit so far is returned.
    """
    equations = Equations.of(system, held)
    guesses = [_filled(run, system.states) for run in (smoothed or trajectories)]
    data = [_measured(run, system.states) for run in trajectories]
    initial = tuple(guess[:, 0] for guess in guesses)
    theta = np.array(equations.values)
    longest = max(values.shape[1] for values in data)
    window = min(_FIRST_WINDOW, longest)
    fit: WindowFit | None = None
    message, followed, lost = "", 0, False
    while True:
        windows = partial(Windows.over, trajectories, data, guesses, window)
        if fit is None:
            attempt = _in_steps(
                equations, windows, lambda shooting, _: _best_start(shooting, theta), _STEPPINGS
            )
        else:
            attempt = Shooting(equations, windows(fit.stepping)).fit(fit.theta)
        if attempt is None or (fit is not None and not attempt.is_as_good_as(fit)):
            reached = f"windows of {window // 2} samples" if fit else "no window at all"
            message, lost = f"constants were refitted on {reached}: longer ones did not follow the data", True
            break
        fit, followed = attempt, window
        guesses = Shooting(equations, windows(fit.stepping)).simulated(fit)
        if window >= longest:
            initial = tuple(guess[:, 0] for guess in guesses)
            break
        if must_stop():
            message = f"constants were refitted on windows of {window} samples: time was up"
            break
        window = min(2 * window, longest)
    if fit is None:
        constants = _described(equations, theta, np.full(len(theta), np.nan))
        return Refinement(system, constants, initial, message, lost=True)
    refined = replace(system, rates=equations.with_values(fit.theta))
    misses = np.concatenate([(guess - own) ** 2 for guess, own in zip(guesses, data, strict=True)], axis=1)
    return Refinement(
        refined,
        _described(equations, fit.theta, fit.standard_errors),
        initial,
        message,
        window=followed,
        misfit=fit.chi2 / fit.samples,
        residuals=dict(zip(system.states, np.nanmean(misses, axis=1).tolist(), strict=True)),
        lost=lost,
    )


class StiffSystemError(Exception):
    """A system cannot be followed in few steps."""


class WindowJudge:
    """Windows of one length that tell candidate systems apart: the same ones, with free initial states.

    Parameters
    ----------
    smoothed : sequence of datasets
        Smoothed states per experiment for the first guess of the windows' initial states.
    held : collection of str
        States whose rates stay as they are.

    Attributes
    ----------
    windows : Windows
        What systems are told apart by.
    quick_steppings : sequence of Stepping
        How systems that are not stiff are followed.
    """

    quick_steppings = _JUDGING_STEPPINGS[:_QUICK]

    def __init__(
        self, trajectories: Trajectories, smoothed: Sequence[xr.Dataset], held: Collection[str] = ()
    ) -> None:
        states = trajectories.states
        guesses = [_filled(run, states) for run in smoothed]
        data = [_measured(run, states) for run in trajectories]
        self._held = held
        self._trajectories, self._guesses = trajectories, guesses
        self._over = partial(Windows.over, trajectories, data, guesses)
        self._cuts: dict[tuple[int, Stepping], Windows] = {}
        self.windows = self._cut(_JUDGING_WINDOW, _JUDGING_STEPPINGS[0])

    def fit(
        self, system: OdeSystem, *, hopeless: float = np.inf, harder: float = 1.0, quickly: bool = False
    ) -> WindowFit | None:
        """Fit constants on all windows; None for a system that cannot follow one.

        Parameters
        ----------
        hopeless : float
            A system whose sum of squared residuals stays above this on shorter windows is not followed any
            further, and gets what it would have on longer ones if these were as much harder for it as for
            the system that the limit is of.
        harder : float
            By what factor the sum of squares of that system is larger on longer windows.
        quickly : bool
            Do not try finer steps than most systems need.

        Raises
        ------
        StiffSystemError
            If it needs finer steps and was asked to be quick.
        """
        equations = Equations.of(system, self._held)
        values = np.array(equations.values)
        cut = partial(self._cut, _FIRST_WINDOW)
        most = _QUICK if quickly else len(_JUDGING_STEPPINGS)

        def fitted(shooting: Shooting, near: WindowFit | None) -> WindowFit | None:
            if near is None:
                return shooting.fit(values, converged=_JUDGED, hopeless=hopeless)
            return shooting.fit(near.theta, starts=near.starts, converged=_JUDGED, hopeless=hopeless)

        short = _in_steps(equations, cut, fitted, _JUDGING_STEPPINGS, most)
        if short is None:
            return None
        windows = self._cut(_JUDGING_WINDOW, short.stepping)
        beginnings = windows.beginnings(self._cut(_FIRST_WINDOW, short.stepping))
        if short.chi2 > hopeless:
            by_window = harder * np.add.reduceat(short.window_chi2, beginnings)
            return replace(short, window_chi2=by_window, samples=windows.samples, on_shorter=short.chi2)
        # Where a law is steep, the data are too far from any of its solutions to begin there.
        starts = short.starts[:, beginnings]
        fit = Shooting(equations, windows).fit(short.theta, starts=starts, converged=_JUDGED)
        return None if fit is None else replace(fit, on_shorter=short.chi2)

    def _cut(self, length: int, stepping: Stepping) -> Windows:
        """Return the windows of one length; they are cut once."""
        if (length, stepping) not in self._cuts:
            self._cuts[length, stepping] = self._over(length, stepping)
        return self._cuts[length, stepping]

    def fitted(self, system: OdeSystem, fit: WindowFit) -> OdeSystem:
        """Return the system with the constants of a fit."""
        return replace(system, rates=Equations.of(system, self._held).with_values(fit.theta))

    def linearised(self, system: OdeSystem) -> LinearisedSystem | None:
        """Return what small changes of a system's rates do to the samples; None if it cannot be followed."""
        fit = self.fit(system)
        if fit is None:
            return None
        windows = self._cut(_JUDGING_WINDOW, fit.stepping)
        outputs = Shooting(Equations.of(system, self._held), windows).on_windows(fit)
        return LinearisedSystem(self.fitted(system, fit), self._trajectories, windows, outputs, self._guesses)

    def left_out(self, system: OdeSystem, fit: WindowFit) -> Array:
        """Return the squared residuals of each window under constants fitted without its half of the data.

        Windows take turns, so that each half has a part of every experiment. A window always has its own
        initial state. A forecast that is worse than that nothing changes counts as that one: what happens
        once in the data cannot be foretold without it. Those of the fit itself where there is nothing to
        leave out.
        """
        folds = np.arange(len(fit.window_chi2)) % 2
        if len(folds) < 2 or not len(fit.theta):
            return fit.window_chi2
        shooting = Shooting(Equations.of(system, self._held), self._cut(_JUDGING_WINDOW, fit.stepping))
        result = np.full(len(folds), np.inf)
        for fold in (0, 1):
            kept = folds != fold
            fitted = shooting.fit(
                fit.theta, starts=fit.starts, training=kept, iterations=_FOLD_ITERATIONS, converged=_JUDGED
            )
            if fitted is not None:
                result[~kept] = fitted.window_chi2[~kept]
        most = np.maximum(self.windows.standing_still(), fit.window_chi2)
        return np.asarray(np.fmin(result, most), dtype=np.float64)


def _in_steps(
    equations: Equations,
    windows: Callable[[Stepping], Windows],
    fitted: Callable[[Shooting, WindowFit | None], WindowFit | None],
    steppings: Sequence[Stepping],
    most: int | None = None,
) -> WindowFit | None:
    """Fit with as many steps from sample to sample as it takes: more would not change the misfit.

    At most so many steppings are tried if it is said; if that is not enough, `StiffSystemError` is raised.
    `fitted` is given the fit in larger steps if that is near.
    """
    fit: WindowFit | None = None
    for position, stepping in enumerate(steppings):
        shooting = Shooting(equations, windows(stepping))
        misfit = np.inf if fit is None else shooting.misfit(fit)
        if fit is not None and abs(misfit - fit.chi2) <= _SAME_MISFIT * fit.chi2:
            return fit
        if position == most:
            raise StiffSystemError
        fit = fitted(shooting, fit if fit is not None and misfit <= _SIMILAR_MISFIT * fit.chi2 else None)
    return fit


def _best_start(shooting: Shooting, theta: Array) -> WindowFit | None:
    """Fit from the given constants and from others nearby: the nearest optimum need not be the best."""
    best = shooting.fit(theta, converged=_JUDGED)
    random = np.random.default_rng(0)
    for _ in range(_RESTARTS if len(theta) else 0):
        moved = theta * np.exp(np.log(_MOVED_BY) * random.normal(size=len(theta)))
        other = shooting.fit(moved, converged=_JUDGED)
        if other is not None and (best is None or other.chi2 < (1 - 1e-6) * best.chi2):
            best = other
    return best


def _described(equations: Equations, theta: Array, errors: Array) -> tuple[FittedConstant, ...]:
    rows = zip(equations.owners, theta.tolist(), errors.tolist(), strict=True)
    return tuple(FittedConstant(*row) for row in rows)


def _measured(run: xr.Dataset, states: Sequence[str]) -> Array:
    """Return the states as measured, shape (states, times)."""
    return np.vstack([run[state].to_numpy() for state in states])


def _filled(run: xr.Dataset, states: Sequence[str]) -> Array:
    """Return the states with missing values interpolated, shape (states, times)."""
    times = run["time"].to_numpy()
    rows = []
    for state in states:
        values = run[state].to_numpy()
        present = np.isfinite(values)
        rows.append(np.interp(times, times[present], values[present]))
    return np.array(rows)
