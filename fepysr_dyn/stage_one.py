"""Stage 1 under the time limit and the cancellation of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.features import FeatureLibrary
from fepysr_dyn.features.extract import extract_features

if TYPE_CHECKING:
    from fepysr_dyn.features import FmnConfig
    from fepysr_dyn.search.problem import Runtime

Array = NDArray[np.float64]
#: Stage 1 may use this share of the fit's progress bar.
SHARE = 0.1


class _StopTraining(Exception):  # noqa: N818
    """Raised inside the training's own progress report to end it."""


def run_stage_one(
    matrix: Array,
    target: Array,
    names: tuple[str, ...],
    config: FmnConfig | None,
    seed: int,
    runtime: Runtime,
) -> FeatureLibrary | None:
    """Return the features of the network, or None if it was told to stop before it had any."""

    def report(fraction: float, message: str) -> None:
        if runtime.must_stop():
            raise _StopTraining
        runtime.report("features", SHARE * fraction, message)

    try:
        return extract_features(matrix, target, names=names, config=config, seed=seed, progress=report)
    except _StopTraining:
        return None
