"""One reference system: discovered from its own simulated data, beside every PySINDy baseline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fepysr_dyn.benchmarks.problems import far_box
from fepysr_dyn.benchmarks.recovery import equal_beyond
from fepysr_dyn.benchmarks.unseen import unseen_runs
from fepysr_dyn.expressions import same_structure
from fepysr_dyn.model_files import load_model
from fepysr_dyn.simulation import simulate
from fepysr_dyn.validation import data_box

if TYPE_CHECKING:
    from fepysr_dyn.benchmarks.units import Line, Unit
    from fepysr_dyn.comparison import Entry
    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.system import OdeSystem
    from fepysr_dyn.trajectories import Trajectories
    from fepysr_dyn.validation import Validation

TASK = "fepysr_dyn.benchmarks.discovery:discover_unit"


def discover_unit(unit: Unit) -> Line:
    """Discover a system and let all baselines do the same.

    The setting has ``noise`` and ``cap``, seconds of search per state and seconds of each baseline.
    Generalization is measured without noise on other initial states and stimuli.
    """
    from fepysr_dyn.comparison import OURS, compare
    from fepysr_dyn.discovery import DiscoveryConfig, discover

    system = load_model(unit.problem)
    noise, cap = unit.setting["noise"], unit.setting["cap"]
    runs = simulate(system, noise=noise, seed=unit.seed)
    found = discover(runs, config=replace(DiscoveryConfig(), seconds_per_state=cap), seed=unit.seed)
    comparison = compare(
        runs,
        held_out=unseen_runs(system, unit.seed),
        truth=system,
        ours=found,
        seed=unit.seed,
        time_limit=cap,
    )
    states = state_results(found, system, runs)
    return {
        "recovered": all(state["recovered"] for state in states.values()),
        "states": states,
        "methods": {entry.name: method_result(entry) for entry in comparison.entries},
        "warnings": list(found.warnings),
        "complete": found.complete,
        "seconds": round(comparison[OURS].seconds, 3),
    }


def state_results(found: Discovery, truth: OdeSystem, runs: Trajectories) -> dict[str, dict[str, Any]]:
    """Return what was found for each state, whether it is right, and how sure we were.

    Right means right also far from the data: along a trajectory a series can follow anything.
    """
    columns = {
        name: np.concatenate([run[name].to_numpy() for run in runs]) for name in (*runs.states, *runs.inputs)
    }
    near, far = data_box(runs), far_box(columns)
    rates, true_rates, equations = found.system.explicit_rates(), truth.explicit_rates(), found.equations()
    results = {}
    for state, true_rate in true_rates.items():
        is_recovered = equal_beyond(rates[state], true_rate, near, far)
        results[state] = {
            "expression": equations[state],
            "confidence": found.confidence.get(state),
            "recovered": is_recovered,
            "same_structure": is_recovered or same_structure(rates[state], true_rate, far),
        }
    return results


def method_result(entry: Entry) -> dict[str, Any]:
    """Return the scores of one method; no answer has none."""
    structure = {} if entry.reconstruction is None else entry.reconstruction.structure
    return {
        "reconstruction": _scores(entry.reconstruction),
        "generalization": _scores(entry.generalization),
        "recovered": sum(score.recovered for score in structure.values()),
        "same_structure": sum(score.same_structure for score in structure.values()),
        "seconds": round(entry.seconds, 3),
        "message": entry.message,
    }


def _scores(scores: Validation | None) -> dict[str, Any] | None:
    if scores is None:
        return None
    from fepysr_dyn.comparison import outcome_of

    return {"r2": scores.worst_r2, "nrmse": scores.worst_nrmse, "outcome": outcome_of(scores)}
