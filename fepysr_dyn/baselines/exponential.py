"""SINDy with exponentials of the states and inputs beside quadratic terms."""

from __future__ import annotations

from fepysr_dyn.baselines.libraries import exponential
from fepysr_dyn.baselines.regression import LibraryRegression


def make_exponential() -> LibraryRegression:
    """Return the baseline."""
    return LibraryRegression("sindy-exp", {"exponentials": exponential(2)})
