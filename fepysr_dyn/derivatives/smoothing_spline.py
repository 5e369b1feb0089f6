"""Smoothing splines of degree 3, 5, 7 or 9 in linear time, with automatic smoothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fepysr_dyn.derivatives.base import Estimate, Series
from fepysr_dyn.derivatives.fallback import with_fallback
from fepysr_dyn.errors import OptionError

CRITERIA = ("reml", "gcv")


@dataclass(frozen=True)
class SmoothingSpline:
    """The function that balances squared residuals against its squared (degree + 1) / 2-th derivative.

    It equals the posterior mean of an integrated Wiener process, so a Kalman smoother gives it in linear
    time, with the standard errors of Wahba (1983). Pieces are smoothed on their own, with one common amount.

    Parameters
    ----------
    degree : int
        3 (the usual cubic), 5, 7 or 9. Five bends less at the ends and gives better derivatives than three.
    criterion : "reml" or "gcv"
        Restricted likelihood, or generalised cross-validation, which undersmooths more often.
    """

    degree: int = 5
    criterion: str = "reml"

    def __post_init__(self) -> None:
        if self.degree not in (3, 5, 7, 9):
            raise OptionError(f"expected a smoothing spline of degree 3, 5, 7 or 9, got {self.degree}")
        if self.criterion not in CRITERIA:
            raise OptionError(f"expected a criterion out of {', '.join(CRITERIA)}, got '{self.criterion}'")

    @property
    def name(self) -> str:
        """The registered name."""
        return "smoothing_spline"

    def estimate(self, series: Series) -> Estimate:
        """Smooth all pieces with one common amount."""
        return with_fallback(series, self.degree + 2, self._smooth)

    def _smooth(self, series: Series) -> Estimate:
        from fepysr_dyn.derivatives.chains import Filtered, few_samples_factor, make_chain, smooth
        from fepysr_dyn.derivatives.hyperparameters import homogeneous_model

        def gcv(walk: Filtered) -> float:
            # With unit noise, u is the residual of the fit and D one minus the leverage.
            left = float(np.mean(walk.precisions[chain.seen]))
            return float(np.mean(walk.misses[chain.seen] ** 2)) / max(left, 1e-12) ** 2

        chain = make_chain(series, linked=False)
        model = homogeneous_model(chain, (self.degree - 1) // 2, gcv if self.criterion == "gcv" else None)
        own = chain.samples >= 0
        values, values_se, rates, rates_se = (part[own] for part in smooth(chain, model))
        wider = few_samples_factor(chain, model.q)
        noise = chain.unit * model.noise**0.5
        settings = f"degree {self.degree}, smoothing over {model.scale:.3g} time units"
        reason = f"the smoothing that {self.criterion.upper()} prefers, which leaves noise of {noise:.2g}"
        return Estimate(values, wider * values_se, rates, wider * rates_se, self.name, settings, reason)
