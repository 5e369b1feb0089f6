"""From the fronts of all states to one system with its constants and its confidence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.derivatives import Derivatives
from fepysr_dyn.discovery.assembly import choose_system
from fepysr_dyn.discovery.confidence import structure_confidence
from fepysr_dyn.discovery.config import DiscoveryConfig
from fepysr_dyn.discovery.documents import Settled
from fepysr_dyn.discovery.states import StateSearch, fitted_constants
from fepysr_dyn.refinement import refine
from fepysr_dyn.replay import recorded_inputs
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.system import ExperimentPlan, OdeSystem, Protocol
from fepysr_dyn.trajectories import Trajectories

#: (state, form of the problem)
SearchKey = tuple[str, str]


def settle(
    searches: Mapping[SearchKey, StateSearch],
    problems: Mapping[SearchKey, RegressionProblem],
    trajectories: Trajectories,
    derivatives: Derivatives,
    config: DiscoveryConfig,
    seed: int,
) -> Settled:
    """Return the final equations with their constants, and the confidence in each structure.

    Right-hand sides that fit exact derivatives exactly leave the trajectories nothing to decide. All others
    are chosen and refitted on the trajectories.
    """
    chosen = better_forms(searches)
    own = {state: searches[state, form] for state, form in chosen.items()}
    system = assemble(
        trajectories, {state: search.choice.candidate.expression for state, search in own.items()}
    )
    if all(search.choice.exact for search in own.values()):
        return Settled(
            system.rates,
            chosen,
            tuple(
                constant
                for state, form in chosen.items()
                for constant in fitted_constants(own[state], problems[state, form])
            ),
            tuple(np.array([run[state].to_numpy()[0] for state in system.states]) for run in derivatives),
            {
                state: structure_confidence(own[state], problems[state, form], config.resamples, seed)
                for state, form in chosen.items()
            },
        )
    smoothed = list(derivatives)
    best = choose_system(system, own, trajectories, smoothed, resamples=config.resamples, seed=seed)
    refined = refine(best.system, trajectories, smoothed)
    return Settled(
        refined.system.rates, chosen, refined.constants, refined.initial, best.confidence, refined.message
    )


def better_forms(searches: Mapping[SearchKey, StateSearch]) -> dict[str, str]:
    """Return for each state the form of the problem whose answer is kept: for now the first."""
    forms: dict[str, str] = {}
    for state, form in searches:
        forms.setdefault(state, form)
    return forms


def assemble(trajectories: Trajectories, rates: Mapping[str, sympy.Expr]) -> OdeSystem:
    """Return the system of these right-hand sides, with the data's own experiments as its protocol."""
    first = trajectories[0]
    plans = tuple(
        ExperimentPlan(
            str(run.attrs["name"]),
            {state: _first(run[state].to_numpy()) for state in trajectories.states},
            recorded_inputs(run),
        )
        for run in trajectories
    )
    duration = max(float(run["time"][-1] - run["time"][0]) for run in trajectories)
    return OdeSystem(
        name="discovered",
        rates=dict(rates),
        initial=dict(plans[0].initial),
        inputs=recorded_inputs(first),
        protocol=Protocol(duration=duration, samples=first.sizes["time"], experiments=plans),
    )


def _first(values: NDArray[np.float64]) -> float:
    return float(values[np.isfinite(values)][0])
