"""Windows: pieces of trajectories that are followed one by one, each from its own initial state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.replay import recorded_inputs
from fepysr_dyn.shooting_plan import Plan, Stepping, Steps
from fepysr_dyn.trajectories import Trajectories

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Windows:
    """All windows of one length, side by side; they belong to the data and serve any equations.

    Parameters
    ----------
    plan : Plan
        The steps through all windows.
    pieces : sequence of (int, slice)
        Experiment and samples of each window.
    targets : array, shape (states, windows, samples)
        Measurements, NaN where there is none and beyond the end of a window.
    starts : array, shape (states, windows)
        First guess of the initial states.
    scale, largest : array, shape (states,)
        Spread of each state, and its largest measurement.
    stepping : Stepping
        How to get from one sample to the next.
    """

    plan: Plan
    pieces: Sequence[tuple[int, slice]]
    targets: Array
    starts: Array
    scale: Array
    largest: Array
    stepping: Stepping

    @classmethod
    def over(
        cls,
        trajectories: Trajectories,
        data: Sequence[Array],
        guesses: Sequence[Array],
        length: int,
        stepping: Stepping,
    ) -> Windows:
        """Cut experiments into windows.

        Parameters
        ----------
        data, guesses : sequence of arrays, shape (states, samples)
            Measurements of each experiment, and a guess of the states at its samples.
        length : int
            Samples from the beginning of a window to that of the next one.
        stepping : Stepping
            How to get from one sample to the next.
        """
        pieces, steps, targets, starts = [], [], [], []
        for index, run in enumerate(trajectories):
            times = run["time"].to_numpy()
            stimuli = list(recorded_inputs(run).values())
            breakpoints = np.asarray(run.attrs["breakpoints"], dtype=float)
            for first in range(0, max(1, len(times) - 1), length):
                # A window ends at the first sample of the next one, which ties them together.
                piece = slice(first, min(first + length + 1, len(times)))
                pieces.append((index, piece))
                steps.append(Steps.over(times[piece], breakpoints, stimuli, stepping))
                targets.append(data[index][:, piece])
                starts.append(guesses[index][:, first])
        together = np.concatenate(data, axis=1)
        plan = Plan(steps, stepping.tableau)
        padded = np.full((len(together), len(pieces), plan.samples), np.nan)
        for w, target in enumerate(targets):
            padded[:, w, : target.shape[1]] = target
        scale = np.array([np.nanstd(values) or 1.0 for values in together])
        return cls(
            plan, pieces, padded, np.array(starts).T, scale, np.nanmax(np.abs(together), axis=1), stepping
        )

    @property
    def count(self) -> int:
        """Number of windows."""
        return len(self.pieces)

    @property
    def samples(self) -> int:
        """Measurements in all windows; the first of a window counts in the one before as well."""
        return int(np.isfinite(self.targets).sum())

    def beginnings(self, shorter: Windows) -> list[int]:
        """Return the positions of the shorter windows that begin where these do."""
        position = {(index, piece.start): w for w, (index, piece) in enumerate(shorter.pieces)}
        return [position[index, piece.start] for index, piece in self.pieces]

    def residuals(self, outputs: Array) -> Array:
        """Return misses in spreads, shape (windows, values, variants); zero where nothing was measured.

        Parameters
        ----------
        outputs : array, shape (states, windows, variants, samples)
        """
        misses = (outputs - self.targets[:, :, None, :]) / self.scale[:, None, None, None]
        misses[np.isnan(misses)] = 0.0
        states, windows, variants, samples = outputs.shape
        return misses.transpose(1, 0, 3, 2).reshape(windows, states * samples, variants)

    def standing_still(self) -> Array:
        """Return the squared residuals of each window if no state changed in it."""
        scaled = self.targets / self.scale[:, None, None]
        present = np.isfinite(scaled)
        counts = np.maximum(present.sum(axis=2, keepdims=True), 1)
        means = np.nansum(scaled, axis=2, keepdims=True) / counts
        return np.asarray(np.nansum((scaled - means) ** 2, axis=(0, 2)), dtype=np.float64)

    def joined(self, states: Array) -> list[Array]:
        """Return states on windows, shape (states, windows, samples), as one array per experiment."""
        parts: dict[int, list[Array]] = {}
        for w, (index, piece) in enumerate(self.pieces):
            parts.setdefault(index, []).append(states[:, w, : piece.stop - piece.start])
        return [
            np.concatenate([own[:, :-1] for own in ones[:-1]] + [ones[-1]], axis=1) for ones in parts.values()
        ]
