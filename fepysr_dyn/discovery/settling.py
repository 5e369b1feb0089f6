"""From the fronts of all states to one system with its constants and its confidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import sympy

from fepysr_dyn.derivatives import Derivatives
from fepysr_dyn.discovery.assembly import choose_system
from fepysr_dyn.discovery.confidence import (
    share_explained,
    share_followed,
    structure_confidence,
    unrefuted,
)
from fepysr_dyn.discovery.config import DiscoveryConfig
from fepysr_dyn.discovery.documents import Settled
from fepysr_dyn.discovery.forms import POINTWISE, TOLERANT
from fepysr_dyn.discovery.offered import has_structure, likely_and_rest
from fepysr_dyn.discovery.problems import all_columns
from fepysr_dyn.discovery.states import StateSearch, fitted_constants, search_again, search_along
from fepysr_dyn.linearised import LinearisedSystem
from fepysr_dyn.measured_system import measured_system
from fepysr_dyn.refinement import Refinement
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.search.problem import RegressionProblem, Runtime
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

#: The name of a system that was discovered.
NAME = "discovered"

#: (state, form of the problem)
SearchKey = tuple[str, str]


def settle(
    searches: Mapping[SearchKey, StateSearch],
    problems: Mapping[SearchKey, RegressionProblem],
    trajectories: Trajectories,
    derivatives: Derivatives,
    config: DiscoveryConfig,
    seed: int,
    runtime: Runtime,
) -> Settled:
    """Return the final equations with their constants, and the confidence in each structure.

    Right-hand sides that fit exact derivatives exactly leave the trajectories nothing to decide. All others
    are chosen and refitted on the trajectories.
    """
    by_state = {state: _searches(state, searches) for state in trajectories.states}
    own = {state: found[0] for state, found in by_state.items()}
    chosen = {state: search.choice.candidate.expression for state, search in own.items()}
    system = measured_system(NAME, chosen, trajectories)
    exact = [state for state, search in own.items() if search.choice.exact]
    known = [c for state in exact for c in fitted_constants(own[state], problems[state, POINTWISE])]
    # What fits its derivative exactly is not doubted because another equation cannot be followed.
    certain = {
        state: structure_confidence(own[state], problems[state, POINTWISE], config.resamples, seed)
        for state in exact
    }
    if len(exact) == len(own):
        initial = [np.array([run[state].to_numpy()[0] for state in system.states]) for run in derivatives]
        return Settled(system.rates, dict.fromkeys(own, POINTWISE), tuple(known), tuple(initial), certain)
    smoothed = list(derivatives)

    def again(
        state: str,
        rates: Mapping[str, sympy.Expr],
        along: LinearisedSystem | None,
        thorough: bool,
        own_runtime: Runtime,
    ) -> tuple[list[Candidate], list[Candidate]]:
        if along is None:
            problem = problems[state, TOLERANT]
            return likely_and_rest(search_again(state, problem, rates[state], config, own_runtime))
        return search_along(state, rates, along.regression(state), config, own_runtime, thorough=thorough)

    best = choose_system(
        system,
        by_state,
        trajectories,
        smoothed,
        runtime,
        as_found=list(config.priors),
        again=again if all((state, TOLERANT) in problems for state in own if state not in exact) else None,
        resamples=config.resamples,
        seed=seed,
    )
    refined = _within_bounds(best.refinement, best.system, derivatives, config)
    forms = {state: _form(best.system.rates[state], state, searches) for state in own}
    cut_short = "" if best.complete else "not all combinations of equations were compared: they are too many"
    message = "; ".join(filter(None, [cut_short, refined.message]))
    followed = share_followed(refined, trajectories) * share_explained(refined, trajectories, smoothed)
    doubted = {
        state: share * followed * unrefuted(refined.system.rates[state], problems[state, POINTWISE])
        for state, share in best.confidence.items()
    }
    confidence = {state: certain.get(state, doubted[state]) for state in own}
    constants = (*known, *refined.constants)
    return Settled(refined.system.rates, forms, constants, refined.initial, confidence, message)


def _searches(state: str, searches: Mapping[SearchKey, StateSearch]) -> list[StateSearch]:
    """Return all searches for a state, that over derivatives first."""
    return [search for (owner, _), search in searches.items() if owner == state]


def _form(rate: sympy.Expr, state: str, searches: Mapping[SearchKey, StateSearch]) -> str:
    """Return the first form whose search offers a right-hand side; the last one is searched again."""
    own = {form: search for (owner, form), search in searches.items() if owner == state}
    return next((form for form, search in own.items() if has_structure(search, rate)), list(own)[-1])


def _within_bounds(
    refined: Refinement, before: OdeSystem, derivatives: Derivatives, config: DiscoveryConfig
) -> Refinement:
    """Give up a refit that breaks what is known about an equation."""
    columns = all_columns(derivatives)
    finite = np.all(np.isfinite(list(columns.values())), axis=0)
    columns = {name: values[finite] for name, values in columns.items()}
    for state, rate in refined.system.rates.items():
        prior = config.prior(state)
        if prior.allows(before.rates[state], columns) and not prior.allows(rate, columns):
            message = (
                f"constants were not refitted on trajectories: d{state}/dt would leave what is known of it"
            )
            return replace(refined, system=before, message=message)
    return refined
