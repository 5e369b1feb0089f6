"""How ideal trajectories become measurements: noise, missing samples, irregular sampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import OptionError, did_you_mean

Array = NDArray[np.float64]

NOISE_KINDS = ("gaussian", "multiplicative", "relative-floor")


@dataclass(frozen=True)
class Measurement:
    """A measurement process.

    Parameters
    ----------
    noise : float
        The level α.
    kind : str
        "gaussian": standard deviation α × RMS of the state over all experiments. "multiplicative": α × the
        value itself. "relative-floor": α × the value plus `floor` × RMS.
    floor : float
        Only for "relative-floor".
    missing : float
        Share of the samples of each state that are lost.
    irregular : float
        Each time but the first is moved by up to this share of half a sampling interval.
    """

    noise: float = 0.0
    kind: str = "gaussian"
    floor: float = 0.01
    missing: float = 0.0
    irregular: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in NOISE_KINDS:
            hint = did_you_mean(self.kind, NOISE_KINDS)
            raise OptionError(f"noise kind must be one of {', '.join(NOISE_KINDS)}, got '{self.kind}'{hint}")
        if not 0 <= self.noise < np.inf:
            raise OptionError(f"noise must be a number of at least 0, got {self.noise}")
        if not 0 <= self.floor < np.inf:
            raise OptionError(f"floor must be a number of at least 0, got {self.floor}")
        if not 0 <= self.missing < 1:
            raise OptionError(f"missing must be a share of at least 0 and below 1, got {self.missing}")
        if not 0 <= self.irregular < 1:
            raise OptionError(f"irregular must be a share of at least 0 and below 1, got {self.irregular}")

    def move_times(self, times: Array, random: np.random.Generator) -> Array:
        """Return sampling times moved about their places, still ascending."""
        if self.irregular == 0 or len(times) < 2:
            return times
        room = np.diff(times).min() / 2
        moved: Array = times + random.uniform(-1, 1, len(times)) * self.irregular * room
        moved[0] = times[0]
        return moved

    def measure(self, values: Array, rms: Array, random: np.random.Generator) -> Array:
        """Return what is measured of the states, shape (states, times)."""
        level = rms[:, None]
        if self.kind == "gaussian":
            deviation = self.noise * level * np.ones_like(values)
        elif self.kind == "multiplicative":
            deviation = self.noise * np.abs(values)
        else:
            deviation = self.noise * np.abs(values) + (self.floor * level if self.noise else 0.0)
        measured = values + deviation * random.standard_normal(values.shape)
        if self.missing:
            measured[random.random(values.shape) < self.missing] = np.nan
        return measured
