"""Evaluate one program many times, for measuring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution.fitting import evaluate_terms, fit_terms
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.workspace import Data, Workspace


@kernel
def repeat_fit(
    codes: NDArray[np.int16], values: NDArray[np.float64], data: Data, work: Workspace, times: int
) -> float:
    """Evaluate and fit a program a number of times; return the loss."""
    loss = np.inf
    for _ in range(times):
        terms = evaluate_terms(codes, values, codes.shape[0], data, work)
        if terms >= 0:
            loss = fit_terms(terms, data, work)
    return loss
