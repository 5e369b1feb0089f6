"""One reference system from its own simulated data: discovered by this package, or by PySINDy's methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from fepysr_dyn.benchmarks.problems import far_box
from fepysr_dyn.benchmarks.unseen import unseen_runs
from fepysr_dyn.comparison import OURS, compare, outcome_of
from fepysr_dyn.expressions import same_structure
from fepysr_dyn.model_files import load_model
from fepysr_dyn.simulation import simulate
from fepysr_dyn.structure import equal_beyond
from fepysr_dyn.validation import data_box

if TYPE_CHECKING:
    from fepysr_dyn.benchmarks.units import Line, Unit
    from fepysr_dyn.comparison import Comparison, Entry
    from fepysr_dyn.expressions.equivalence import Box
    from fepysr_dyn.system import OdeSystem
    from fepysr_dyn.trajectories import Trajectories
    from fepysr_dyn.validation import Validation

TASK = "fepysr_dyn.benchmarks.discovery:discover_unit"
#: The other side: every baseline that can run here.
PEERS = "pysindy"


def discover_unit(unit: Unit) -> Line:
    """Let one side find a system: this package, or all PySINDy baselines.

    The setting has ``side`` (`OURS` or `PEERS`), ``noise`` and ``cap``: seconds of search per state, and
    seconds of each baseline. Generalization is measured without noise on other initial states and stimuli.
    """
    system = load_model(unit.problem)
    runs = simulate(system, noise=unit.setting["noise"], seed=unit.seed)
    unseen = unseen_runs(system, unit.seed)
    judge = Judge.of(system, runs)
    find = _found if unit.setting["side"] == OURS else _found_by_peers
    return find(runs, unseen, judge, unit.seed, unit.setting["cap"])


def _found(runs: Trajectories, unseen: Trajectories, judge: Judge, seed: int, cap: float) -> Line:
    from fepysr_dyn.discovery import DiscoveryConfig, discover

    found = discover(runs, config=replace(DiscoveryConfig(), seconds_per_state=cap), seed=seed)
    comparison = compare(runs, held_out=unseen, ours=found, baselines=(), seed=seed)
    states = {
        state: {
            "expression": equation,
            "confidence": found.confidence.get(state),
            **judge.verdict(state, found.system),
        }
        for state, equation in found.equations().items()
    }
    return {
        "recovered": all(state["recovered"] for state in states.values()),
        "states": states,
        "methods": _results(comparison, judge),
        "warnings": list(found.warnings),
        "complete": found.complete,
        "seconds": round(found.seconds, 3),
    }


def _found_by_peers(runs: Trajectories, unseen: Trajectories, judge: Judge, seed: int, cap: float) -> Line:
    comparison = compare(runs, held_out=unseen, ours=False, seed=seed, time_limit=cap)
    return {"methods": _results(comparison, judge)}


def _results(comparison: Comparison, judge: Judge) -> dict[str, Any]:
    return {entry.name: method_result(entry, judge) for entry in comparison.entries}


@dataclass(frozen=True)
class Judge:
    """The truth, and the boxes on which equations are compared with it.

    Right means right also far from the data: along a trajectory a series can follow anything.
    """

    rates: Mapping[str, sympy.Expr]
    near: Box
    far: Box

    @classmethod
    def of(cls, truth: OdeSystem, runs: Trajectories) -> Judge:
        """Return the judge for a system and the data it was found from."""
        names = (*runs.states, *runs.inputs)
        columns = {name: np.concatenate([run[name].to_numpy() for run in runs]) for name in names}
        return cls(truth.explicit_rates(), data_box(runs), far_box(columns))

    def verdict(self, state: str, found: OdeSystem) -> dict[str, bool]:
        """Return whether an equation is the truth, and whether it has its structure."""
        rate, truth = found.explicit_rates()[state], self.rates[state]
        is_recovered = equal_beyond(rate, truth, self.near, self.far)
        is_similar = is_recovered or same_structure(rate, truth, self.far)
        return {"recovered": is_recovered, "same_structure": is_similar}


def method_result(entry: Entry, judge: Judge) -> dict[str, Any]:
    """Return the scores of one method; no answer has none."""
    system = entry.system
    verdicts = [] if system is None else [judge.verdict(state, system) for state in judge.rates]
    return {
        "reconstruction": _scores(entry.reconstruction),
        "generalization": _scores(entry.generalization),
        "recovered": sum(verdict["recovered"] for verdict in verdicts),
        "same_structure": sum(verdict["same_structure"] for verdict in verdicts),
        "seconds": round(entry.seconds, 3),
        "message": entry.message,
    }


def _scores(scores: Validation | None) -> dict[str, Any] | None:
    if scores is None:
        return None
    return {"r2": scores.worst_r2, "nrmse": scores.worst_nrmse, "outcome": outcome_of(scores)}
