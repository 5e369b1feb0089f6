"""The forms in which a right-hand side is searched.

Derivatives sample by sample, with everything; integrals against test functions, with the quick engines;
derivatives again, with nothing but the terms of rate laws; and these once more, with the errors of the
smoothed states counted in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fepysr_dyn.derivatives import Derivatives
from fepysr_dyn.discovery.config import DiscoveryConfig
from fepysr_dyn.discovery.problems import pointwise_problem, tolerant_problem, weak_problem
from fepysr_dyn.errors import DataError
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.trajectories import Trajectories

POINTWISE, WEAK, KINETIC, TOLERANT = "pointwise", "weak", "kinetic", "tolerant"

#: Forms by name. New ones are added at the end, so that the random streams of the others stay what they are.
FORMS: dict[str, Callable[[str, Trajectories, Derivatives, DiscoveryConfig, int], RegressionProblem]] = {
    POINTWISE: pointwise_problem,
    WEAK: weak_problem,
    KINETIC: pointwise_problem,
    TOLERANT: tolerant_problem,
}

#: Share of a state's time that each form gets where all are tried.
SHARES = {POINTWISE: 0.35, WEAK: 0.1, KINETIC: 0.2, TOLERANT: 0.35}

#: Derivatives with a smaller error than this, relative to their spread, count as free of noise.
_NOISY = 1e-4
#: The weak form's operator has a column per sample and a row per test function.
_MOST_SAMPLES = 10_000


def forms_for(
    state: str, trajectories: Trajectories, derivatives: Derivatives, config: DiscoveryConfig
) -> tuple[str, ...]:
    """Return the forms worth trying for a state: without noise derivatives are as good as the samples.

    What most states are measured with counts for all: the slopes of one that jumps once are large, so that
    its noise looks small beside them.
    """
    errors = {name: _relative_error(name, derivatives) for name in trajectories.states}
    if max(errors[state], float(np.median(list(errors.values())))) <= _NOISY:
        return (POINTWISE,)
    forms = [POINTWISE]
    if _has_weak_form(state, trajectories, derivatives, config):
        forms.append(WEAK)
    if config.engine == "portfolio":
        # Who asks for an engine gets that one.
        forms += [KINETIC, TOLERANT]
    return tuple(forms)


def _has_weak_form(
    state: str, trajectories: Trajectories, derivatives: Derivatives, config: DiscoveryConfig
) -> bool:
    if sum(run.sizes["time"] for run in derivatives) > _MOST_SAMPLES:
        return False
    try:
        weak_problem(state, trajectories, derivatives, config, 0)
    except DataError:
        # Too few samples between breakpoints for test functions.
        return False
    return True


def _relative_error(state: str, derivatives: Derivatives) -> float:
    """Return the typical standard error of a state's derivative relative to the derivative's spread."""
    slopes = np.concatenate([run[f"d{state}"].to_numpy() for run in derivatives])
    errors = np.concatenate([run[f"d{state}_se"].to_numpy() for run in derivatives])
    return float(np.nanmedian(errors) / (np.nanstd(slopes) or 1.0))
