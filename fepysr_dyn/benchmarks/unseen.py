"""Experiments that nobody was fitted on: other initial states and other stimuli of the same system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import SimulationError
from fepysr_dyn.simulation import simulate
from fepysr_dyn.stimulus import Constant, Ramps, Sampled, Sine, Steps, Stimulus
from fepysr_dyn.system import ExperimentPlan, OdeSystem
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: How far an initial state is moved towards the mean of the trajectory that starts there, or away from it.
_TOWARDS = (0.35, 0.65)
_AWAY = (-0.25, -0.1)
#: How far a level of a stimulus is moved towards the next one.
_BETWEEN = (0.2, 0.4)


def unseen_runs(system: OdeSystem, seed: int) -> Trajectories:
    """Simulate a system, without noise, from states and under stimuli that its protocol does not have.

    Every experiment of the protocol gives two: one starts between its initial state and the mean of its
    trajectory, one a little beyond if that makes sense, and levels of stimuli move between those that were
    seen. Moving along that line keeps whatever linear combination of states the system conserves.
    """
    seen = simulate(system)
    random = np.random.default_rng([seed, 3])
    plans = []
    for plan, run in zip(system.protocol.experiments, seen, strict=True):
        table = {state: run[state].to_numpy() for state in system.states}
        for name, (low, high) in (("between", _TOWARDS), ("beyond", _AWAY)):
            initial = _moved_state(table, float(random.uniform(low, high)))
            inputs = _moved_inputs(system, plan, random)
            plans.append(ExperimentPlan(f"{plan.name}, {name}", initial, inputs))
    runs: list[xr.Dataset] = []
    for plan in plans:
        try:
            runs += simulate(replace(system, protocol=replace(system.protocol, experiments=(plan,))))
        except SimulationError:
            # Beyond what was seen, the system itself may not exist.
            continue
    if not runs:
        raise SimulationError(f"{system.name}: no other initial state or stimulus could be simulated")
    return Trajectories(tuple(runs))


def _moved_state(table: Mapping[str, Array], share: float) -> dict[str, float]:
    """Move an initial state along the line to the mean of its trajectory.

    What was never negative stays so: where the way away from the mean is blocked, the state moves towards it.
    """

    def moved(share: float) -> dict[str, float]:
        return {
            state: float(values[0] + share * (np.mean(values) - values[0])) for state, values in table.items()
        }

    beyond = moved(share)
    blocked = any(beyond[state] < 0 <= np.min(values) for state, values in table.items())
    return moved(-share) if blocked else beyond


def _moved_inputs(
    system: OdeSystem, plan: ExperimentPlan, random: np.random.Generator
) -> Mapping[str, Stimulus]:
    inputs = {}
    for name, stimulus in system.inputs_of(plan).items():
        others = [system.inputs_of(one)[name] for one in system.protocol.experiments]
        levels = [one.value for one in others if isinstance(one, Constant)]
        inputs[name] = moved_stimulus(stimulus, levels, random)
    return inputs


def moved_stimulus(stimulus: Stimulus, levels: Sequence[float], random: np.random.Generator) -> Stimulus:
    """Return a stimulus with other levels at the same times.

    Parameters
    ----------
    levels : sequence of float
        Constant levels of all experiments: a constant one moves towards the next of them.
    """
    share = float(random.uniform(*_BETWEEN))
    if isinstance(stimulus, Constant):
        return Constant(_towards_next(sorted(set(levels)) or [stimulus.value], stimulus.value, share))
    if isinstance(stimulus, Steps | Ramps):
        following = np.roll(stimulus.values, -1)
        values = (1 - share) * np.asarray(stimulus.values) + share * following
        return replace(stimulus, values=tuple(map(float, values)))
    if isinstance(stimulus, Sampled):
        middle = float(np.mean(stimulus.values))
        return replace(
            stimulus, values=tuple(middle + (1 - 0.5 * share) * (v - middle) for v in stimulus.values)
        )
    if isinstance(stimulus, Sine):
        return replace(
            stimulus, amplitude=(1 - 0.5 * share) * stimulus.amplitude, phase=stimulus.phase + share
        )
    return stimulus


def _towards_next(levels: Sequence[float], level: float, share: float) -> float:
    """Move a level towards the next larger one, the largest towards the one before, a single one up."""
    if len(levels) == 1:
        return level * (1 + 0.5 * share) if level else 0.5 * share
    place = levels.index(level)
    other = levels[place + 1] if place + 1 < len(levels) else levels[place - 1]
    return level + share * (other - level)
