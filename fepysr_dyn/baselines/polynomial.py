"""SINDy with polynomials of one degree in the states and inputs."""

from __future__ import annotations

from fepysr_dyn.baselines.libraries import polynomial
from fepysr_dyn.baselines.regression import LibraryRegression


def make_polynomial(degree: int) -> LibraryRegression:
    """Return the baseline of one degree."""
    return LibraryRegression(f"sindy-poly{degree}", {f"degree {degree}": polynomial(degree)})
