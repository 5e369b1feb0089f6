"""Right-hand sides found in data as a system, with the data's own experiments as its protocol."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.replay import recorded_inputs
from fepysr_dyn.system import ExperimentPlan, OdeSystem, Protocol
from fepysr_dyn.trajectories import Trajectories


def measured_system(name: str, rates: Mapping[str, sympy.Expr], trajectories: Trajectories) -> OdeSystem:
    """Return the system with these rates that was measured as the data were."""
    plans = tuple(
        ExperimentPlan(
            str(run.attrs["name"]),
            {state: _first(run[state].to_numpy()) for state in trajectories.states},
            recorded_inputs(run),
        )
        for run in trajectories
    )
    if len({plan.name for plan in plans}) < len(plans):
        plans = tuple(
            ExperimentPlan(f"{plan.name} {i}", plan.initial, plan.inputs) for i, plan in enumerate(plans, 1)
        )
    duration = max(float(run["time"][-1] - run["time"][0]) for run in trajectories)
    return OdeSystem(
        name=name,
        rates={state: rates[state] for state in trajectories.states},
        initial=dict(plans[0].initial),
        inputs=dict(plans[0].inputs),
        protocol=Protocol(duration=duration, samples=trajectories[0].sizes["time"], experiments=plans),
    )


def _first(values: NDArray[np.float64]) -> float:
    present = values[np.isfinite(values)]
    return float(present[0]) if len(present) else 0.0
