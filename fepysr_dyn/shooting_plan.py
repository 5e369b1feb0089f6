"""The steps of shooting windows: they end at samples and breakpoints and never pass over one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.expressions.tape import Tape

Array = NDArray[np.float64]


class Tableau(NamedTuple):
    """Coefficients of an explicit Runge-Kutta method."""

    a: Array
    b: Array
    c: Array


class Stepping(NamedTuple):
    """How to get from a sample or breakpoint to the next: in so many steps of order 8, or else of order 4."""

    substeps: int = 1
    precise: bool = True

    @property
    def tableau(self) -> Tableau:
        """The method."""
        return _order_eight() if self.precise else _order_four()


@cache
def _order_eight() -> Tableau:
    from scipy.integrate import DOP853

    return Tableau(np.ascontiguousarray(DOP853.A), np.ascontiguousarray(DOP853.B), DOP853.C)


@cache
def _order_four() -> Tableau:
    a = np.zeros((4, 4))
    a[1, 0], a[2, 1], a[3, 2] = 0.5, 0.5, 1.0
    return Tableau(a, np.array([1.0, 2.0, 2.0, 1.0]) / 6.0, np.array([0.0, 0.5, 0.5, 1.0]))


@dataclass(frozen=True)
class Steps:
    """Steps of one window: they end at samples and breakpoints and never pass over one."""

    begin: Array
    size: Array
    sample: NDArray[np.int64]
    inputs: Array

    @classmethod
    def over(
        cls,
        times: Array,
        breakpoints: Array,
        stimuli: Sequence[Callable[[Array], Array]],
        stepping: Stepping,
    ) -> Steps:
        """Return the steps over the samples of a window, the stimuli evaluated at all stages."""
        inner = breakpoints[(breakpoints > times[0]) & (breakpoints < times[-1])]
        corners = np.unique(np.concatenate([times, inner]))
        within = np.diff(corners)[:, None] * np.arange(stepping.substeps) / stepping.substeps
        grid = np.append(corners[:-1, None] + within, corners[-1])
        begin, size = grid[:-1], np.diff(grid)
        sample = np.searchsorted(times, grid[1:])
        reaches = np.isin(grid[1:], times)
        nodes = begin[:, None] + stepping.tableau.c[None, :] * size[:, None]
        # The last stages lie on the end of the step, which belongs to the next piece of the stimulus.
        nodes = np.minimum(nodes, np.nextafter(grid[1:], -np.inf)[:, None])
        inputs = np.array([stimulus(nodes) for stimulus in stimuli]).reshape(len(stimuli), *nodes.shape)
        return cls(begin, size, np.where(reaches, sample, -1), inputs)


class Plan:
    """Steps of all windows side by side, the short ones filled up with steps of no length."""

    def __init__(self, windows: Sequence[Steps], tableau: Tableau) -> None:
        self._tableau = tableau
        count = max(len(window.size) for window in windows)
        n_inputs, _, stages = windows[0].inputs.shape
        self._size = np.zeros((count, len(windows)))
        self._sample = np.full((count, len(windows)), -1, dtype=np.int64)
        self._inputs = np.zeros((count, stages, n_inputs, len(windows)))
        samples = max(int(window.sample.max(initial=0)) for window in windows) + 1
        self._sampled = np.zeros((len(windows), samples), dtype=bool)
        self._sampled[:, 0] = True
        for w, window in enumerate(windows):
            k = len(window.size)
            self._size[:k, w] = window.size
            self._sample[:k, w] = window.sample
            self._inputs[:k, :, :, w] = window.inputs.transpose(1, 2, 0)
            if k:
                self._inputs[k:, :, :, w] = window.inputs[:, -1, -1]
            self._sampled[w, window.sample[window.sample >= 0]] = True

    @property
    def samples(self) -> int:
        """Samples of the longest window, its first one included."""
        return self._sampled.shape[1]

    def within(self, outputs: Array, largest: Array) -> NDArray[np.bool_]:
        """Return which windows all variants followed to their ends, with states no larger than that."""
        inside = np.all(np.abs(outputs) <= largest[:, None, None, None], axis=(0, 2))
        return np.asarray(np.all(inside | ~self._sampled, axis=1))

    def integrate(self, tape: Tape, theta: Array, starts: Array) -> Array:
        """Return states at the samples, shape (states, windows, variants, samples), NaN beyond a failure."""
        from fepysr_dyn.shooting_kernel import shoot

        outputs = np.full((*starts.shape, self.samples), np.nan)
        shoot(
            (tape.operations, tape.first_result, tape.outputs),
            tape.constants,
            (self._tableau.a, self._tableau.b),
            (self._size, self._sample, self._inputs),
            (np.ascontiguousarray(theta), np.ascontiguousarray(starts)),
            outputs,
        )
        return outputs
