"""Equations fitted to windows: the constants together with the initial state of each window.

Windows and parameter perturbations are integrated together by one compiled loop, and the normal equations of
all windows are solved at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.shooting_equations import Equations
from fepysr_dyn.shooting_plan import Stepping
from fepysr_dyn.shooting_windows import Windows

Array = NDArray[np.float64]

_MAX_ITERATIONS = 30
#: Iterations of the initial states alone, before constants are fitted with them.
_ALIGNMENTS = 4
#: Damping at first. An undamped step explains by the constants what initial states are off by, and may end in
#: another valley.
_CAREFUL = 1e-2
#: A step that lowers the sum of squares by less than this share ends a fit.
_CONVERGED = 1e-10
#: A step along slopes of an earlier point must lower the sum of squares by this share to be worth it: it
#: takes one integration instead of one for each constant, and shows less of the way.
_WORTH_REUSING = 0.02
#: Relative steps of differences: half of the digits.
_DIFFERENCE = 1e-7
#: A constant that becomes smaller than this share of what it was at first is about to vanish.
_SMALLER = 1e-3
#: A difference that moves no sample by this share of its spread is lost in rounding. It is tried so many
#: times larger then, and so often.
_VISIBLE = 1e-13
_LARGER = 1e3
_ENLARGED = 4
#: States this many times larger than any sample are running away; squares of them would overflow.
_FAR = 1e6


@dataclass(frozen=True)
class WindowFit:
    """Constants, initial states of the windows, and how well they follow the data in such steps.

    `on_shorter` is the sum of squared residuals on shorter windows, if these were fitted first.
    """

    theta: Array
    starts: Array
    window_chi2: Array
    samples: int
    standard_errors: Array
    stepping: Stepping
    on_shorter: float = float("inf")

    @property
    def chi2(self) -> float:
        """Sum of squared residuals, each divided by the spread of its state."""
        return float(np.sum(self.window_chi2))

    def is_as_good_as(self, other: WindowFit) -> bool:
        """Longer windows may fit a little worse (fewer free states), not a lot."""
        return self.chi2 / self.samples <= 2.0 * other.chi2 / other.samples + 1e-18


@dataclass(frozen=True)
class _Linearised:
    """Residuals and their slopes, one row per window; nothing where nothing was measured.

    Parameters
    ----------
    residual : array, shape (windows, values)
    by_theta : array, shape (windows, values, constants)
    by_start : array, shape (windows, values, states)
    """

    residual: Array
    by_theta: Array
    by_start: Array

    @property
    def misfits(self) -> Array:
        """Sum of squared residuals of each window."""
        return np.asarray(np.sum(self.residual**2, axis=1), dtype=np.float64)

    def where(self, windows: NDArray[np.bool_], other: _Linearised) -> _Linearised:
        """Return this for some windows, and another one for the rest."""
        return _Linearised(
            np.where(windows[:, None], self.residual, other.residual),
            np.where(windows[:, None, None], self.by_theta, other.by_theta),
            np.where(windows[:, None, None], self.by_start, other.by_start),
        )


@dataclass(frozen=True)
class _Trial:
    """Where a step leads; no residual if it leads nowhere."""

    theta: Array
    starts: Array
    residual: Array | None
    chi2: float


class Shooting:
    """Equations on windows of one length, integrated together."""

    def __init__(self, equations: Equations, windows: Windows) -> None:
        self._equations = equations
        self._windows = windows

    def fit(
        self,
        theta: Array,
        *,
        starts: Array | None = None,
        training: NDArray[np.bool_] | None = None,
        iterations: int = _MAX_ITERATIONS,
        converged: float = _CONVERGED,
        hopeless: float = np.inf,
    ) -> WindowFit | None:
        """Fit constants and initial states by damped Gauss-Newton; None if they cannot be integrated.

        Parameters
        ----------
        starts : array, shape (states, windows), optional
            Where the initial states start; the smoothed data if not given.
        training : array of bool, optional
            Windows that decide the constants. The others only get their own initial states, so that their
            residuals tell how well the constants foretell data that took no part in them.
        converged : float
            Share of the sum of squares below which a gain ends the fit.
        hopeless : float
            The fit also ends if the sum of squares would stay above this even if all steps that are left
            gained as large a share as the last one.
        """
        starts = self._windows.starts if starts is None else starts
        used = np.ones(self._windows.count, dtype=bool) if training is None else training
        try:
            # A window that is lost on the way overflows; it is asked for afterwards.
            with np.errstate(all="ignore"):
                starts = self._aligned(theta, starts)
                return self._gauss_newton(theta, starts, used, iterations, converged, hopeless)
        except np.linalg.LinAlgError:
            # Slopes of a system that is about to run away can be anything.
            return None

    def _gauss_newton(
        self,
        theta: Array,
        starts: Array,
        used: NDArray[np.bool_],
        iterations: int,
        converged: float,
        hopeless: float,
    ) -> WindowFit | None:
        damping = _CAREFUL
        # A constant keeps the size that it has at first, which may be tiny: the half-saturation of a steep
        # law is a high power of a number below one.
        typical = np.where(theta != 0.0, np.abs(theta), 1.0) * _SMALLER
        here, followed = self._linearised(theta, starts, typical)
        for _ in range(_ENLARGED):
            # One that is added to something much larger does not show in differences of its own size.
            moved = np.max(np.abs(here.by_theta), axis=(0, 1)) * self._steps(theta, typical)
            hidden = (moved < _VISIBLE) & (typical < 1.0)
            if not np.any(hidden):
                break
            typical = np.where(hidden, _LARGER * np.maximum(typical, np.abs(theta)), typical)
            here, followed = self._linearised(theta, starts, typical)
        if not np.all(followed):
            return None
        chi2 = _sum_of_squares(here.residual, used)
        for left in range(iterations, 0, -1):
            trial = self._step(here, theta, starts, damping, used)
            if trial.chi2 <= chi2:
                before, damping = chi2, damping / 10
                while trial.chi2 <= chi2:
                    gain, residual = chi2 - trial.chi2, trial.residual
                    theta, starts, chi2 = trial.theta, trial.starts, trial.chi2
                    if gain <= _WORTH_REUSING * chi2 or residual is None:
                        break
                    trial = self._step(replace(here, residual=residual), theta, starts, damping, used)
                here, followed = self._linearised(theta, starts, typical)
                if not np.all(followed):
                    return None
                if before - chi2 <= converged * chi2 or chi2 * (chi2 / before) ** left > hopeless:
                    break
            else:
                damping *= 10
                if damping > 1e8:
                    break
        samples = self._windows.samples
        _, _, information = _solve(here, 0.0, used)
        freedom = max(1, samples - len(theta) - starts.size)
        covariance = np.linalg.pinv(information) * chi2 / freedom if len(theta) else np.zeros((0, 0))
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        return WindowFit(theta, starts, here.misfits, samples, errors, self._windows.stepping)

    def _step(
        self, here: _Linearised, theta: Array, starts: Array, damping: float, used: NDArray[np.bool_]
    ) -> _Trial:
        """Return where a damped step leads."""
        change, changes, _ = _solve(here, damping, used)
        theta, starts = theta + change, starts + changes.T * self._windows.scale[:, None]
        residual = self._residuals(theta, starts)
        chi2 = np.inf if residual is None else _sum_of_squares(residual, used)
        return _Trial(theta, starts, residual, chi2)

    def _aligned(self, theta: Array, starts: Array) -> Array:
        """Return initial states fitted to the data, each window by itself, with the constants as they are."""
        nothing = np.zeros(0)
        here, followed = self._linearised(theta, starts, nothing)
        if not np.all(followed):
            return starts
        damping = np.full(self._windows.count, _CAREFUL)
        used = np.ones(self._windows.count, dtype=bool)
        for _ in range(_ALIGNMENTS):
            _, changes, _ = _solve(here, damping[:, None], used)
            trial = starts + changes.T * self._windows.scale[:, None]
            there, followed = self._linearised(theta, trial, nothing)
            better = followed & (there.misfits < here.misfits)
            starts = np.where(better, trial, starts)
            here = there.where(better, here)
            damping = np.where(better, damping / 10, damping * 10)
        return starts

    def misfit(self, fit: WindowFit) -> float:
        """Return the sum of squared residuals of a fit in these steps; infinite if it cannot be followed."""
        residual = self._residuals(fit.theta, fit.starts)
        return float("inf") if residual is None else float(np.sum(residual**2))

    def simulated(self, fit: WindowFit) -> list[Array]:
        """Return the fitted states per experiment, put together from the windows."""
        return self._windows.joined(self.on_windows(fit))

    def on_windows(self, fit: WindowFit) -> Array:
        """Return the fitted states at the samples of each window, shape (states, windows, samples)."""
        return self._integrate(fit.theta[:, None], fit.starts[:, :, None])[:, :, 0]

    def _residuals(self, theta: Array, starts: Array) -> Array | None:
        outputs = self._integrate(theta[:, None], starts[:, :, None])
        return self._windows.residuals(outputs)[:, :, 0] if np.all(self._followed(outputs)) else None

    def _linearised(
        self, theta: Array, starts: Array, typical: Array
    ) -> tuple[_Linearised, NDArray[np.bool_]]:
        """Return residuals and their slopes by differences, and which windows could be followed.

        Differences are exact enough for steps. Constants are moved in proportion to their size, which counts
        as `typical` at least; as many of them as that is said for.
        """
        scale = self._windows.scale
        n, p = len(scale), len(typical)
        step = self._steps(theta[:p], typical)
        thetas = np.repeat(theta[:, None], 1 + p + n, axis=1)
        begins = np.repeat(starts[:, :, None], 1 + p + n, axis=2)
        for j in range(p):
            thetas[j, 1 + j] += step[j]
        for i in range(n):
            begins[i, :, 1 + p + i] += _DIFFERENCE * scale[i]
        outputs = self._integrate(thetas, begins)
        residuals = self._windows.residuals(outputs)
        widths = np.concatenate([step, np.full(n, _DIFFERENCE)])
        slopes = (residuals[:, :, 1:] - residuals[:, :, :1]) / widths
        return _Linearised(residuals[:, :, 0], slopes[:, :, :p], slopes[:, :, p:]), self._followed(outputs)

    @staticmethod
    def _steps(theta: Array, typical: Array) -> Array:
        """Return by how much constants are moved for differences."""
        return _DIFFERENCE * np.maximum(np.abs(theta), typical)

    def _followed(self, outputs: Array) -> NDArray[np.bool_]:
        """Return which windows were integrated to their ends without running away from all data."""
        return self._windows.plan.within(outputs, _FAR * self._windows.largest)

    def _integrate(self, theta: Array, starts: Array) -> Array:
        """Return states at the samples of each window, shape (states, windows, variants, samples)."""
        return self._windows.plan.integrate(self._equations.tape, theta, starts)


def _solve(here: _Linearised, damping: float | Array, used: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
    """Solve the normal equations, the windows' own states eliminated first.

    Windows that are not used have no say in the constants. Returns the change of the constants, the changes
    of the initial states (windows, states), and the information matrix of the constants.
    """
    residual, by_theta, by_start = here.residual[:, :, None], here.by_theta, here.by_start
    p, n = by_theta.shape[2], by_start.shape[2]
    start_transposed = by_start.transpose(0, 2, 1)
    own = start_transposed @ by_start
    diagonal = np.arange(n)
    own[:, diagonal, diagonal] += damping * (own[:, diagonal, diagonal] + 1e-300) + 1e-14
    right = start_transposed @ np.concatenate([by_theta, residual], axis=2)
    gain = np.linalg.solve(own, right)
    if p:
        has_say = used[:, None, None]
        theta_transposed = by_theta.transpose(0, 2, 1)
        mixed = right[:, :, :p].transpose(0, 2, 1)
        information = np.sum(has_say * (theta_transposed @ by_theta - mixed @ gain[:, :, :p]), axis=0)
        pull = np.sum(has_say * (theta_transposed @ residual - mixed @ gain[:, :, p:]), axis=0)[:, 0]
        matrix = information + damping * np.diag(np.diag(information) + 1e-300)
        change: Array = -np.asarray(np.linalg.lstsq(matrix, pull, rcond=1e-14)[0], dtype=np.float64)
    else:
        information, change = np.zeros((0, 0)), np.zeros(0)
    return change, -gain[:, :, p] - gain[:, :, :p] @ change, information


def _sum_of_squares(residual: Array, used: NDArray[np.bool_]) -> float:
    return float(np.sum(residual[used] ** 2))
