"""Systems to trajectories: every experiment of the protocol, integrated and measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import OptionError, SimulationError
from fepysr_dyn.integration import Integration, RightHandSide, SolverOptions, integrate
from fepysr_dyn.measurement import Measurement
from fepysr_dyn.system import ExperimentPlan, OdeSystem
from fepysr_dyn.trajectories import Trajectories, make_experiment

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]


def simulate(
    system: OdeSystem,
    *,
    noise: float = 0.0,
    seed: int = 0,
    rates: bool = False,
    measurement: Measurement | None = None,
    options: SolverOptions | None = None,
    throw: bool = True,
) -> Trajectories:
    """Simulate a system under its protocol.

    Parameters
    ----------
    system : OdeSystem
        Use ``dataclasses.replace(system, protocol=...)`` for other durations, samples or experiments.
    noise : float
        Gaussian noise with α times the RMS of each state; `measurement` has more kinds.
    seed : int
        Decides noise, missing samples and irregular times.
    rates : bool
        Also return the exact right-hand sides at the samples, as variables dX beside each state X.
    measurement : Measurement, optional
        How the states are measured; replaces `noise`.
    throw : bool
        Raise SimulationError if an integration ends early. Otherwise what was integrated until then is
        returned, with ``attrs["outcome"]`` and ``attrs["message"]``.

    Examples
    --------
    >>> from fepysr_dyn import load_model
    >>> run = simulate(load_model("tyson_two_protein"))[0]
    >>> run.attrs["breakpoints"], run.sizes["time"]
    ([20.0, 40.0], 3000)
    """
    if measurement is not None and noise:
        raise OptionError("give either noise or measurement, not both")
    measurement = measurement or Measurement(noise=noise)
    right_hand_side = RightHandSide(system)
    plans = system.protocol.experiments
    streams = [child.spawn(2) for child in np.random.SeedSequence(seed).spawn(len(plans))]
    results = []
    for plan, (time_stream, _) in zip(plans, streams, strict=True):
        times = measurement.move_times(_times(system), np.random.default_rng(time_stream))
        initial = list(system.initial_of(plan).values())
        result = integrate(right_hand_side, initial, system.inputs_of(plan), times, options)
        if throw and not result.complete:
            raise SimulationError(
                f"{system.name}, experiment '{plan.name}': {result.outcome}: {result.message}"
            )
        results.append(result)
    everything = np.concatenate([result.states for result in results], axis=1)
    rms = np.sqrt(np.mean(everything**2, axis=1))
    runs = []
    for plan, result, (_, noise_stream) in zip(plans, results, streams, strict=True):
        measured = measurement.measure(result.states, rms, np.random.default_rng(noise_stream))
        exact = _exact_rates(system, right_hand_side, plan, result) if rates else None
        runs.append(_experiment(system, plan, result, measured, exact))
    return Trajectories(tuple(runs))


def resampled(system: OdeSystem, *, samples: int | None = None, duration: float | None = None) -> OdeSystem:
    """Return the system with another number of samples or another duration in its protocol."""
    changes: dict[str, Any] = {"samples": samples, "duration": duration}
    given = {key: value for key, value in changes.items() if value is not None}
    protocol = replace(system.protocol, **given)
    return replace(system, protocol=protocol)


def _times(system: OdeSystem) -> Array:
    protocol = system.protocol
    return np.asarray(np.linspace(0.0, protocol.duration, protocol.samples, endpoint=False))


def _exact_rates(
    system: OdeSystem, right_hand_side: RightHandSide, plan: ExperimentPlan, result: Integration
) -> dict[str, Array]:
    drives = [stimulus(result.times).tolist() for stimulus in system.inputs_of(plan).values()]
    levels = list(zip(*drives, strict=True)) if drives else [()] * len(result.times)
    columns = [
        right_hand_side.rates(state, level) for state, level in zip(result.states.T, levels, strict=True)
    ]
    return dict(zip(system.states, np.array(columns).T, strict=True))


def _experiment(
    system: OdeSystem,
    plan: ExperimentPlan,
    result: Integration,
    measured: Array,
    exact: dict[str, Array] | None,
) -> xr.Dataset:
    inputs = system.inputs_of(plan)
    start, stop = result.times[0], result.times[-1]
    points = {
        point for stimulus in inputs.values() for point in stimulus.breakpoints if start < point <= stop
    }
    run = make_experiment(
        result.times,
        states=dict(zip(system.states, measured, strict=True)),
        inputs={name: stimulus(result.times) for name, stimulus in inputs.items()},
        rates=exact,
        name=plan.name,
        breakpoints=points,
    )
    run.attrs["outcome"] = str(result.outcome)
    run.attrs["message"] = result.message
    return run
