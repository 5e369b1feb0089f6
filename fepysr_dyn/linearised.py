"""The rate of one state as a regression on what trajectories do, near a system that roughly follows them.

A small change of a rate changes trajectories linearly: it is integrated along them, and damped or amplified
as the system does with any disturbance. So every rate near the system's own has known trajectories, and what
is explained are the samples themselves, with their own independent errors. Rates are evaluated at states that
the system has smoothed: a state that a good equation follows over many samples is known much better than by
any smoothing without an equation, which is what steep laws need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, expm

from fepysr_dyn.expressions import compile_expression, free_constants
from fepysr_dyn.replay import recorded_inputs
from fepysr_dyn.shooting_plan import Stepping, Steps

if TYPE_CHECKING:
    import xarray as xr

    from fepysr_dyn.shooting_windows import Windows
    from fepysr_dyn.system import OdeSystem
    from fepysr_dyn.trajectories import Trajectories

Array = NDArray[np.float64]

#: Relative steps of differences.
_DIFFERENCE = 1e-6
#: A disturbance is damped or amplified by no more than this exponent in a step.
_STEEPEST = 30.0
#: A state whose misses within a window are so many times its noise is not smoothed by the system there.
_MISSED = 2.0
#: Directions so much weaker than the strongest one are rounding.
_HARDLY = 1e-8
#: A direction of the samples tells something of a rate if the whole of the rate moves it by so many standard
#: deviations.
_TELLING = 1.0
#: Samples at most that are looked at: every so many windows of longer data.
_MOST_SAMPLES = 6_000
#: Noise counts as at least this share of a state's spread.
_LEAST_NOISE = 1e-9
#: Where in a step the middle is among the stages of the method of order four.
_MIDDLE = 1


@dataclass(frozen=True)
class RateRegression:
    """What trajectories say about the rate of one state: ``measurement @ rate(columns) = target``.

    Parameters
    ----------
    columns : mapping of str to array
        States and inputs in the middle of each step.
    measurement : array, shape (rows, steps)
        What a rate does to the samples, in standard deviations of their noise.
    target : array, shape (rows,)
        With independent errors of standard deviation one.
    nuisance : array, shape (rows, count)
        Orthonormal directions that the constants of the other rates account for.
    """

    columns: Mapping[str, Array]
    measurement: Array
    target: Array
    nuisance: Array


class LinearisedSystem:
    """A system that was fitted to windows, with what small changes of its rates do to the samples.

    Parameters
    ----------
    system : OdeSystem
        With the fitted constants.
    windows : Windows
        The windows it was fitted to.
    outputs : array, shape (states, windows, samples)
        The fitted states at the samples of each window.
    smoothed : sequence of arrays, shape (states, samples)
        States of each experiment smoothed without an equation: for windows where the system is lost.
    """

    def __init__(
        self,
        system: OdeSystem,
        trajectories: Trajectories,
        windows: Windows,
        outputs: Array,
        smoothed: Sequence[Array],
    ) -> None:
        self._states = tuple(system.states)
        self._names = (*self._states, *system.inputs)
        rates = system.explicit_rates()
        self._rates = [compile_expression(rate, self._names) for rate in rates.values()]
        self._templates = {state: free_constants(rate) for state, rate in rates.items()}
        misses = np.concatenate(
            [
                np.vstack([run[state].to_numpy() for state in self._states]) - own
                for run, own in zip(trajectories, smoothed, strict=True)
            ],
            axis=1,
        )
        noise = np.sqrt(np.nanmean(misses**2, axis=1))
        noise = np.maximum(noise, _LEAST_NOISE * windows.scale)[:, None]
        kept = math.ceil(windows.count * min(1.0, _MOST_SAMPLES / max(windows.targets[0].size, 1)))
        self._windows = [
            _Window.of(
                trajectories[windows.pieces[w][0]],
                windows.pieces[w][1],
                windows.targets[:, w],
                outputs[:, w],
                smoothed[windows.pieces[w][0]][:, windows.pieces[w][1]],
                noise,
            )
            for w in np.unique(np.linspace(0, windows.count - 1, kept).round().astype(int)).tolist()
        ]
        self._ends = np.cumsum([len(window.size) for window in self._windows])[:-1]

    @cached_property
    def _columns(self) -> Array:
        return np.concatenate([window.columns for window in self._windows], axis=1)

    @cached_property
    def _step_maps(self) -> Array:
        """What each step does to a disturbance, and a change of the rates: shape (steps, n, 2 n)."""
        n, columns = len(self._states), self._columns
        slopes = np.empty((columns.shape[1], n, n))
        for j in range(n):
            step = _DIFFERENCE * (float(np.std(columns[j])) or 1.0)
            above, below = columns.copy(), columns.copy()
            above[j] += step
            below[j] -= step
            for i, rate in enumerate(self._rates):
                slopes[:, i, j] = (rate(*above) - rate(*below)) / (2.0 * step)
        size = np.concatenate([window.size for window in self._windows])[:, None, None]
        exponents = np.nan_to_num(slopes * size, posinf=_STEEPEST, neginf=-_STEEPEST)
        largest = np.max(np.abs(exponents), axis=(1, 2), keepdims=True)
        exponents *= np.minimum(1.0, _STEEPEST / np.maximum(largest, 1e-300))
        whole = np.zeros((len(slopes), 2 * n, 2 * n))
        whole[:, :n, :n] = exponents
        whole[:, :n, n:] = np.eye(n) * size
        return np.asarray(expm(whole)[:, :n], dtype=np.float64)

    def regression(self, state: str) -> RateRegression:
        """Return what the trajectories say about the rate of a state, the other rates as they are."""
        position = self._states.index(state)
        values = self._rates[position](*self._columns)
        others = self._by_other_constants(state)
        maps, forces = np.split(self._step_maps, self._ends), np.split(others, self._ends)
        size = float(np.sqrt(np.nanmean(values**2))) or 1.0
        blocks, targets, nuisance = [], [], []
        for window, steps, force, own in zip(
            self._windows, maps, forces, np.split(values, self._ends), strict=True
        ):
            measured, count = window.measured(steps, position, force), len(own)
            rotated = _telling(measured, count, _TELLING / (size * math.sqrt(count)))
            blocks.append(rotated[:, :count])
            nuisance.append(rotated[:, count:-1])
            targets.append(rotated[:, -1] + rotated[:, :count] @ own)
        columns = dict(zip(self._names, self._columns, strict=True))
        basis = _directions(np.concatenate(nuisance))
        target = np.concatenate(targets)
        target = target - basis @ (basis.T @ target)
        return RateRegression(columns, block_diag(*blocks), target, basis)

    def _by_other_constants(self, state: str) -> Array:
        """Return the derivatives of all rates by the constants of others, shape (steps, n, constants)."""
        n, count = len(self._states), self._columns.shape[1]
        result = [np.zeros((count, n, 0))]
        for i, (owner, template) in enumerate(self._templates.items()):
            if owner == state or not template.values:
                continue
            _, jacobian = template.functions(self._names)
            slopes = jacobian(np.array(template.values), *self._columns)
            force = np.zeros((count, n, slopes.shape[1]))
            force[:, i] = np.nan_to_num(slopes * np.abs(template.values), posinf=0.0, neginf=0.0)
            result.append(force)
        return np.concatenate(result, axis=2)


@dataclass(frozen=True)
class _Window:
    """One window: its steps, the columns in the middle of each, and how far the samples are off.

    Parameters
    ----------
    columns : array, shape (names, steps)
    size : array, shape (steps,)
    ends : array of int
        The step at whose end each sample but the first lies.
    misses : array, shape (samples, states)
        Measurements less fitted states, in standard deviations of the noise; NaN where nothing was measured.
    noise : array, shape (states,)
    """

    columns: Array
    size: Array
    ends: NDArray[np.int64]
    misses: Array
    noise: Array

    @classmethod
    def of(
        cls, run: xr.Dataset, piece: slice, target: Array, output: Array, smoothed: Array, noise: Array
    ) -> _Window:
        """Cut a window out of an experiment; arrays have a row per state, noise has one column."""
        times = run["time"].to_numpy()[piece]
        target, output = target[:, : len(times)], output[:, : len(times)]
        misses = (target - output) / noise
        with np.errstate(all="ignore"):
            lost = np.nan_to_num(np.nanmean(misses**2, axis=1, keepdims=True)) > _MISSED**2
        states = np.where(lost, smoothed, output)
        breakpoints = np.asarray(run.attrs["breakpoints"], dtype=float)
        stimuli = list(recorded_inputs(run).values())
        steps = Steps.over(times, breakpoints, stimuli, Stepping(1, precise=False))
        middles = steps.begin + 0.5 * steps.size
        columns = np.vstack(
            [*(np.interp(middles, times, values) for values in states), *steps.inputs[:, :, _MIDDLE]]
        )
        return cls(columns, steps.size, np.flatnonzero(steps.sample >= 0), misses.T, noise[:, 0])

    def measured(self, maps: Array, position: int, forces: Array) -> Array:
        """Return what a change of a rate in each step does to the samples, what forces do, and the misses.

        Side by side, as far as the initial state of the window cannot make up for it.
        """
        n, steps, others = len(self.noise), len(self.size), forces.shape[2]
        # Disturbances by the initial state, by the rate in each step, and by forces.
        here = np.zeros((n, n + steps + others))
        here[:, :n] = np.diag(self.noise)
        at_samples = [here]
        ends = set(self.ends.tolist())
        for k in range(steps):
            here = maps[k, :, :n] @ here
            here[:, n + k] += maps[k, :, n + position]
            here[:, n + steps :] += maps[k, :, n:] @ forces[k]
            if k in ends:
                at_samples.append(here)
        rows = np.concatenate(at_samples) / np.tile(self.noise, len(at_samples))[:, None]
        misses = self.misses.ravel()
        known = np.isfinite(misses)
        basis, _ = np.linalg.qr(rows[known, :n])
        away = np.column_stack([rows[known, n:], misses[known]])
        return np.asarray(away - basis @ (basis.T @ away), dtype=np.float64)


def _telling(measured: Array, count: int, least: float) -> Array:
    """Rotate samples so that few rows tell all that is to be known of the first columns, and keep these.

    Neighbouring samples say nearly the same: the slow changes of a rate show, and the fast ones hardly.
    """
    left, singular, _ = np.linalg.svd(measured[:, :count], full_matrices=False)
    return np.asarray(left[:, singular > least].T @ measured, dtype=np.float64)


def _directions(columns: Array) -> Array:
    """Return orthonormal directions that span columns, without those that are hardly there."""
    sizes = np.linalg.norm(columns, axis=0)
    columns = columns[:, sizes > 0] / sizes[sizes > 0]
    if not columns.shape[1]:
        return columns
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, singular > _HARDLY * singular[0]], dtype=np.float64)
