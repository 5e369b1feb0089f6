"""discover(): straight-line composition of derivatives, search, refinement and validation."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.discovery.adequacy import data_warnings
from fepysr_dyn.discovery.assembly import choose_system
from fepysr_dyn.discovery.confidence import structure_confidence
from fepysr_dyn.discovery.config import DiscoveryConfig
from fepysr_dyn.discovery.problems import pointwise_problem
from fepysr_dyn.discovery.provenance import provenance_of
from fepysr_dyn.discovery.result import Discovery
from fepysr_dyn.discovery.states import StateSearch, fitted_constants, search_state
from fepysr_dyn.errors import OptionError
from fepysr_dyn.refinement import Refinement, refine
from fepysr_dyn.replay import recorded_inputs
from fepysr_dyn.search.problem import Progress, ProgressCallback, RegressionProblem, Runtime
from fepysr_dyn.system import ExperimentPlan, OdeSystem, Protocol
from fepysr_dyn.trajectories import Trajectories
from fepysr_dyn.validation import validate

if TYPE_CHECKING:
    import threading

    from fepysr_dyn.derivatives import Derivatives


def discover(
    trajectories: Trajectories,
    *,
    config: DiscoveryConfig | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    cancelled: threading.Event | None = None,
    truth: OdeSystem | None = None,
) -> Discovery:
    """Find the differential equations behind trajectories.

    Parameters
    ----------
    trajectories : Trajectories
        Measured or simulated experiments.
    config : DiscoveryConfig, optional
        Effort, operators, and what is known about each equation.
    seed : int
        Decides everything random.
    time_limit : float, optional
        Seconds for the whole search; it only cuts short, and the result says so.
    progress : callable, optional
        Called with a `Progress`.
    truth : OdeSystem, optional
        Only scored against, never used in the search.
    """
    from fepysr_dyn.derivatives import estimate_derivatives

    started = time.monotonic()
    config = config or DiscoveryConfig()
    config.check(trajectories.states, trajectories.inputs)
    if time_limit is not None:
        if not time_limit > 0:
            raise OptionError(f"a time limit must be positive seconds, got {time_limit}")
        share = 0.9 * time_limit / len(trajectories.states)
        config = replace(config, seconds_per_state=min(config.seconds_per_state, share))
    runtime = Runtime(progress=progress, cancelled=cancelled)
    runtime.report("derivatives", 0.0, "estimating derivatives")
    derivatives = estimate_derivatives(trajectories)
    problems = _problems(derivatives, config, seed)
    searches = _search_all(problems, config, runtime)
    system = assemble(trajectories, searches)
    runtime.report("system", 0.95, "choosing and refitting the equations together")
    refinement, confidence = _settled(system, searches, problems, trajectories, derivatives, config, seed)
    runtime.report("validation", 0.97, "integrating the system again")
    # Against the smoothed states: against the samples, R² would mostly tell how noisy they are.
    smoothed = Trajectories(tuple(derivatives))
    validation = validate(refinement.system, smoothed, truth=truth, initial=refinement.initial)
    runtime.report("done", 1.0, "done")
    return Discovery(
        system=refinement.system,
        fronts={state: search.front for state, search in searches.items()},
        alternatives={state: search.choice.alternatives for state, search in searches.items()},
        confidence=confidence,
        constants=refinement.constants,
        validation=validation,
        features={state: search.features for state, search in searches.items()},
        warnings=(*data_warnings(trajectories, derivatives), *filter(None, [refinement.message])),
        provenance=provenance_of(trajectories, config, seed, derivatives),
        seconds=time.monotonic() - started,
        complete=all(search.front.complete or search.choice.exact for search in searches.values()),
        data=trajectories,
        truth=truth,
    )


def assemble(trajectories: Trajectories, searches: dict[str, StateSearch]) -> OdeSystem:
    """Return the system of the chosen right-hand sides, with the data's own experiments as its protocol."""
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
        rates={state: search.choice.candidate.expression for state, search in searches.items()},
        initial=dict(plans[0].initial),
        inputs=recorded_inputs(first),
        protocol=Protocol(duration=duration, samples=first.sizes["time"], experiments=plans),
    )


def _problems(derivatives: Derivatives, config: DiscoveryConfig, seed: int) -> dict[str, RegressionProblem]:
    seeds = np.random.SeedSequence(seed).generate_state(len(derivatives.states))
    return {
        state: pointwise_problem(state, derivatives, config, int(own))
        for state, own in zip(derivatives.states, seeds, strict=True)
    }


def _search_all(
    problems: dict[str, RegressionProblem], config: DiscoveryConfig, runtime: Runtime
) -> dict[str, StateSearch]:
    searches = {}
    for index, (state, problem) in enumerate(problems.items()):
        begin, width = 0.05 + 0.9 * index / len(problems), 0.9 / len(problems)

        forward = partial(_forward, runtime, state, begin, width)
        deadline = time.monotonic() + problem.budget.seconds
        own = replace(runtime, progress=forward, deadline=deadline)
        searches[state] = search_state(state, problem, config, own)
    return searches


def _forward(runtime: Runtime, state: str, begin: float, width: float, report: Progress) -> None:
    """Pass on the progress of one state as part of the whole."""
    fraction = begin + width * report.fraction
    runtime.report(report.engine, fraction, f"d{state}/dt: {report.message}", report.best_loss)


def _settled(
    system: OdeSystem,
    searches: dict[str, StateSearch],
    problems: dict[str, RegressionProblem],
    trajectories: Trajectories,
    derivatives: Derivatives,
    config: DiscoveryConfig,
    seed: int,
) -> tuple[Refinement, dict[str, float]]:
    """Return the final equations with their constants, and the confidence in each structure.

    Right-hand sides that fit exact derivatives exactly leave the trajectories nothing to decide. All others
    are chosen and refitted on the trajectories.
    """
    if all(search.choice.exact for search in searches.values()):
        starts = tuple(np.array([run[state].to_numpy()[0] for state in system.states]) for run in derivatives)
        constants = tuple(
            constant for state in searches for constant in fitted_constants(searches[state], problems[state])
        )
        confidence = {
            state: structure_confidence(searches[state], problems[state], config.resamples, seed)
            for state in searches
        }
        return Refinement(system, constants, starts), confidence
    smoothed = list(derivatives)
    chosen = choose_system(system, searches, trajectories, smoothed, resamples=config.resamples, seed=seed)
    return refine(chosen.system, trajectories, smoothed), chosen.confidence


def _first(values: NDArray[np.float64]) -> float:
    return float(values[np.isfinite(values)][0])
