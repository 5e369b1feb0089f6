"""Shooting windows: pieces of trajectories with free initial states, fitted together with the constants.

Windows and parameter perturbations are integrated together by one compiled loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.expressions import Template, free_constants
from fepysr_dyn.expressions.tape import Tape, record
from fepysr_dyn.replay import recorded_inputs
from fepysr_dyn.shooting_plan import Plan, Steps
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

Array = NDArray[np.float64]

_MAX_ITERATIONS = 30
#: A step that lowers the sum of squares by less than this share ends a fit.
_CONVERGED = 1e-10
#: Relative steps of differences: half of the digits.
_DIFFERENCE = 1e-7
#: States this many times larger than any sample are running away; squares of them would overflow.
_FAR = 1e6


@dataclass(frozen=True)
class Equations:
    """The rates with their constants as parameters, compiled for arrays."""

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    templates: Mapping[str, Template]
    tape: Tape

    @classmethod
    def of(cls, system: OdeSystem, held: Collection[str] = ()) -> Equations:
        """Take the floating-point numbers of a system's rates as parameters, but for rates that are held."""
        templates = {
            state: Template(rate, (), ()) if state in held else free_constants(rate, prefix=f"c_{state}_")
            for state, rate in system.explicit_rates().items()
        }
        parameters = [name for template in templates.values() for name in template.parameters]
        arguments = [*parameters, *system.states, *system.inputs]
        tape = record([template.expression for template in templates.values()], arguments)
        return cls(system.states, tuple(system.inputs), templates, tape)

    @property
    def values(self) -> list[float]:
        """Constants as they stand, equation by equation."""
        return [value for template in self.templates.values() for value in template.values]

    def with_values(self, theta: Array) -> dict[str, sympy.Expr]:
        """Return the rates with other constants."""
        rates, position = {}, 0
        for state, template in self.templates.items():
            count = len(template.values)
            rates[state] = template.with_values(theta[position : position + count].tolist())
            position += count
        return rates

    @property
    def owners(self) -> list[str]:
        """State whose rate holds each constant."""
        return [state for state, template in self.templates.items() for _ in template.values]


@dataclass(frozen=True)
class WindowFit:
    """Constants, initial states of the windows, and how well they follow the data."""

    theta: Array
    starts: Array
    window_chi2: Array
    samples: int
    standard_errors: Array

    @property
    def chi2(self) -> float:
        """Sum of squared residuals, each divided by the spread of its state."""
        return float(np.sum(self.window_chi2))

    def is_as_good_as(self, other: WindowFit) -> bool:
        """Longer windows may fit a little worse (fewer free states), not a lot."""
        return self.chi2 / self.samples <= 2.0 * other.chi2 / other.samples + 1e-18


class Shooting:
    """All windows of one length, integrated together."""

    def __init__(
        self,
        equations: Equations,
        trajectories: Trajectories,
        data: Sequence[Array],
        guesses: Sequence[Array],
        window: int,
    ) -> None:
        self._equations = equations
        together = np.concatenate(data, axis=1)
        self._scale = np.array([np.nanstd(values) or 1.0 for values in together])
        self._largest = np.nanmax(np.abs(together), axis=1)
        self._windows: list[tuple[int, slice]] = []
        steps, targets, starts = [], [], []
        for index, run in enumerate(trajectories):
            times = run["time"].to_numpy()
            stimuli = list(recorded_inputs(run).values())
            breakpoints = np.asarray(run.attrs["breakpoints"], dtype=float)
            for first in range(0, max(1, len(times) - 1), window):
                # A window ends at the first sample of the next one, which ties them together.
                piece = slice(first, min(first + window + 1, len(times)))
                self._windows.append((index, piece))
                steps.append(Steps.over(times[piece], breakpoints, stimuli))
                targets.append(data[index][:, piece])
                starts.append(guesses[index][:, first])
        self._plan = Plan(steps)
        self._targets = targets
        self._starts = np.array(starts).T

    def standing_still(self) -> Array:
        """Return the squared residuals of each window if no state changed in it."""
        scaled = [target / self._scale[:, None] for target in self._targets]
        return np.array([np.nansum((own - np.nanmean(own, axis=1, keepdims=True)) ** 2) for own in scaled])

    def fit(
        self,
        theta: Array,
        *,
        starts: Array | None = None,
        training: NDArray[np.bool_] | None = None,
        iterations: int = _MAX_ITERATIONS,
        converged: float = _CONVERGED,
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
        """
        starts = self._starts if starts is None else starts
        used = np.ones(len(self._windows), dtype=bool) if training is None else training
        try:
            return self._gauss_newton(theta, starts, used, iterations, converged)
        except np.linalg.LinAlgError:
            # Slopes of a system that is about to run away can be anything.
            return None

    def _gauss_newton(
        self, theta: Array, starts: Array, used: NDArray[np.bool_], iterations: int, converged: float
    ) -> WindowFit | None:
        damping = 1e-6
        residual, slope_theta, slope_start = self._linearised(theta, starts)
        if residual is None:
            return None
        chi2 = _sum_of_squares(residual, used)
        for _ in range(iterations):
            change, changes, _ = _solve(residual, slope_theta, slope_start, damping, used)
            trial_theta = theta + change
            trial_starts = starts + changes.T * self._scale[:, None]
            trial = self._residuals(trial_theta, trial_starts)
            trial_chi2 = np.inf if trial is None else _sum_of_squares(trial, used)
            if trial_chi2 <= chi2:
                gain = chi2 - trial_chi2
                theta, starts, chi2, damping = trial_theta, trial_starts, trial_chi2, damping / 10
                residual, slope_theta, slope_start = self._linearised(theta, starts)
                if residual is None:
                    return None
                if gain <= converged * chi2:
                    break
            else:
                damping *= 10
                if damping > 1e8:
                    break
        samples = sum(int(np.isfinite(target).sum()) for target in self._targets)
        _, _, information = _solve(residual, slope_theta, slope_start, 0.0, used)
        freedom = max(1, samples - len(theta) - starts.size)
        covariance = np.linalg.pinv(information) * chi2 / freedom if len(theta) else np.zeros((0, 0))
        per_window = np.array([float(part @ part) for part in residual])
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        return WindowFit(theta, starts, per_window, samples, errors)

    def simulated(self, fit: WindowFit) -> list[Array]:
        """Return the fitted states per experiment, put together from the windows."""
        outputs = self._integrate(fit.theta[:, None], fit.starts[:, :, None])
        pieces: dict[int, list[Array]] = {}
        for w, (index, piece) in enumerate(self._windows):
            count = piece.stop - piece.start
            pieces.setdefault(index, []).append(outputs[:, w, 0, :count])
        return [
            np.concatenate([part[:, :-1] for part in parts[:-1]] + [parts[-1]], axis=1)
            for parts in pieces.values()
        ]

    def _residuals(self, theta: Array, starts: Array) -> list[Array] | None:
        outputs = self._integrate(theta[:, None], starts[:, :, None])
        if not self._stays(outputs):
            return None
        return [
            _flat((outputs[:, w, 0, : target.shape[1]] - target) / self._scale[:, None])
            for w, target in enumerate(self._targets)
        ]

    def _linearised(
        self, theta: Array, starts: Array
    ) -> tuple[list[Array], list[Array], list[Array]] | tuple[None, list[Array], list[Array]]:
        """Return residuals per window and their slopes by differences, which are exact enough for steps."""
        n, p = len(self._scale), len(theta)
        step = _DIFFERENCE * np.maximum(np.abs(theta), 1e-3)
        thetas = np.repeat(theta[:, None], 1 + p + n, axis=1)
        begins = np.repeat(starts[:, :, None], 1 + p + n, axis=2)
        for j in range(p):
            thetas[j, 1 + j] += step[j]
        for i in range(n):
            begins[i, :, 1 + p + i] += _DIFFERENCE * self._scale[i]
        outputs = self._integrate(thetas, begins)
        if not self._stays(outputs):
            return None, [], []
        residuals, slopes_theta, slopes_start = [], [], []
        widths = np.concatenate([step, np.full(n, _DIFFERENCE)])
        for w, target in enumerate(self._targets):
            found = outputs[:, w, :, : target.shape[1]] / self._scale[:, None, None]
            present = np.isfinite(target)
            residuals.append((found[:, 0] - target / self._scale[:, None])[present])
            slopes = (found[:, 1:] - found[:, :1]) / widths[None, :, None]
            rows = slopes.transpose(0, 2, 1)[present]
            slopes_theta.append(rows[:, :p])
            slopes_start.append(rows[:, p:])
        return residuals, slopes_theta, slopes_start

    def _stays(self, outputs: Array) -> bool:
        """Return whether all windows were integrated to their ends without running away from all data."""
        if not self._plan.all_finite(outputs):
            return False
        size = np.nanmax(np.abs(outputs), axis=(1, 2, 3))
        return bool(np.all(size <= _FAR * self._largest))

    def _integrate(self, theta: Array, starts: Array) -> Array:
        """Return states at the samples of each window, shape (states, windows, variants, samples)."""
        return self._plan.integrate(self._equations.tape, theta, starts)


def _solve(
    residual: Sequence[Array],
    slope_theta: Sequence[Array],
    slope_start: Sequence[Array],
    damping: float,
    used: NDArray[np.bool_],
) -> tuple[Array, Array, Array]:
    """Solve the normal equations, the windows' own states eliminated first.

    Windows that are not used have no say in the constants. Returns the change of the constants, the changes
    of the initial states (windows, states), and the information matrix of the constants.
    """
    p, n = slope_theta[0].shape[1], slope_start[0].shape[1]
    matrix, right = np.zeros((p, p)), np.zeros(p)
    locals_ = []
    for r, jt, js, has_say in zip(residual, slope_theta, slope_start, used, strict=True):
        own = js.T @ js
        own += damping * np.diag(np.diag(own) + 1e-300) + 1e-14 * np.eye(n)
        gain = np.linalg.solve(own, np.column_stack([js.T @ jt, js.T @ r]))
        if has_say:
            matrix += jt.T @ jt - (jt.T @ js) @ gain[:, :p]
            right += jt.T @ r - (jt.T @ js) @ gain[:, p]
        locals_.append(gain)
    information = matrix.copy()
    if p:
        matrix += damping * np.diag(np.diag(matrix) + 1e-300)
        change: Array = -np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-14)[0], dtype=np.float64)
    else:
        change = np.zeros(0)
    changes = np.array([-gain[:, p] - gain[:, :p] @ change for gain in locals_])
    return change, changes, information


def _sum_of_squares(parts: Sequence[Array], used: NDArray[np.bool_]) -> float:
    return float(sum(np.nansum(part**2) for part, counts in zip(parts, used, strict=True) if counts))


def _flat(values: Array) -> Array:
    return values[np.isfinite(values)]
