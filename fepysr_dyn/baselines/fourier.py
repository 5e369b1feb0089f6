"""SINDy with sines and cosines of the states and inputs beside the linear terms."""

from __future__ import annotations

from fepysr_dyn.baselines.libraries import fourier
from fepysr_dyn.baselines.regression import LibraryRegression


def make_fourier() -> LibraryRegression:
    """Return the baseline."""
    return LibraryRegression("sindy-fourier", {"two frequencies": fourier(2)})
