"""The automatic choice of an estimator and its smoothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fepysr_dyn.derivatives.base import Array, Estimate, Series
from fepysr_dyn.derivatives.finite_differences import FiniteDifferences
from fepysr_dyn.derivatives.gaussian_process import GaussianProcess
from fepysr_dyn.derivatives.noise import noise_level

# Noise relative to the spread of the state: below the first, smoothing cannot gain anything that matters;
# above the second, differences cannot win.
EXACT = 1e-10
NOISY = 1e-3


@dataclass(frozen=True)
class Auto:
    """Pick the estimator from the data alone.

    Finite differences for data that are exact, a Gaussian process for noisy ones; in between, whichever
    expects the smaller error of the derivative.
    """

    @property
    def name(self) -> str:
        """The registered name."""
        return "auto"

    def estimate(self, series: Series) -> Estimate:
        """Return the answer of the estimator that was picked, with the reason."""
        noise = noise_level(series)
        spread = float(np.nanstd(series.values))
        relative = noise / spread if spread > 0 else 0.0
        found = f"noise is estimated at {noise:.2g} ({relative:.2g} of the state's standard deviation)"
        if relative < EXACT:
            answer = FiniteDifferences(noise=noise).estimate(series)
            return replace(answer, reason=f"{found}, too little to smooth; {answer.reason}")
        smooth = GaussianProcess().estimate(series)
        if relative > NOISY:
            return replace(smooth, reason=f"{found}, too much for differences; {smooth.reason}")
        sharp = FiniteDifferences(noise=noise).estimate(series)
        sharp_error, smooth_error = _size(sharp.rates_se), _size(smooth.rates_se)
        better, worse = (sharp, smooth) if sharp_error <= smooth_error else (smooth, sharp)
        errors = f"{min(sharp_error, smooth_error):.2g} against {max(sharp_error, smooth_error):.2g}"
        why = f"{found}, and {better.method} expects a smaller error than {worse.method} ({errors})"
        return replace(better, reason=f"{why}; {better.reason}")


def _size(errors: Array) -> float:
    """Return the root mean square where there is an answer."""
    known = errors[np.isfinite(errors)]
    return float(np.sqrt(np.mean(known**2))) if len(known) else np.inf
