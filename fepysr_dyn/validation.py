"""Scores of a system by re-integration, and of its structure where the truth is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.conservation import Conserved, conserved_quantities
from fepysr_dyn.integration import Integration, Outcome, RightHandSide, SolverOptions
from fepysr_dyn.replay import recorded_inputs, replay
from fepysr_dyn.structure import StructureScore, structure_score, structure_scores
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories, make_experiment

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

__all__ = [
    "R2_THRESHOLD",
    "RunScore",
    "StructureScore",
    "Validation",
    "data_box",
    "structure_score",
    "structure_scores",
    "validate",
]

#: How many widths of the data the far box reaches on which equations are compared with the truth.
_FAR = 30.0
#: Norm of a matrix above which its exponential is not a Taylor series, and the terms of that series.
_STIFF = 20.0
_TERMS = 10
#: R² from which a re-integrated run counts as reproduced.
R2_THRESHOLD = 0.9


@dataclass(frozen=True)
class RunScore:
    """One experiment, integrated again and compared.

    Parameters
    ----------
    r2, nrmse : mapping of str to float
        Per state; the root mean square error is divided by the state's standard deviation. Both are over
        the whole experiment, or up to `horizon` for a chaotic system; a run that ended early has R² of
        minus infinity and an infinite NRMSE.
    diverged_at : float or None
        First time at which some state is off by more than its standard deviation.
    horizon : float or None
        Time up to which a chaotic system is compared: about one Lyapunov time after the start.
    """

    experiment: str
    outcome: Outcome
    message: str
    r2: Mapping[str, float]
    nrmse: Mapping[str, float]
    diverged_at: float | None
    horizon: float | None
    simulated: xr.Dataset

    @property
    def worst_r2(self) -> float:
        """The smallest R² over the states."""
        return min(self.r2.values())

    @property
    def worst_nrmse(self) -> float:
        """The largest NRMSE over the states."""
        return max(self.nrmse.values())

    @property
    def lyapunov_time(self) -> float | None:
        """The time in which small differences grow by the factor e, for a chaotic system."""
        return None if self.horizon is None else self.horizon - float(self.simulated["time"][0])

    @property
    def reproduced(self) -> bool:
        """Whether every state has an R² above the threshold."""
        return self.worst_r2 > R2_THRESHOLD

    def to_dict(self) -> dict[str, Any]:
        """Return what a JSON document holds of this score."""
        return {
            "experiment": self.experiment,
            "outcome": str(self.outcome),
            "message": self.message,
            "r2": dict(self.r2),
            "nrmse": dict(self.nrmse),
            "diverged_at": self.diverged_at,
            "horizon": self.horizon,
            "lyapunov_time": self.lyapunov_time,
        }


@dataclass(frozen=True)
class Validation:
    """Scores of all experiments, and of the structure where the truth is known.

    Parameters
    ----------
    conserved : tuple of Conserved
        Combinations of states that the data keep constant, and whether the equations keep them.
    """

    runs: tuple[RunScore, ...]
    structure: Mapping[str, StructureScore] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    conserved: tuple[Conserved, ...] = ()

    @property
    def reproduced(self) -> bool:
        """Whether every experiment is reproduced."""
        return all(run.reproduced for run in self.runs)

    @property
    def worst_r2(self) -> float:
        """The smallest R² over experiments and states."""
        return min(run.worst_r2 for run in self.runs)

    @property
    def worst_nrmse(self) -> float:
        """The largest NRMSE over experiments and states."""
        return max(run.worst_nrmse for run in self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Return what a JSON document holds of this validation."""
        return {
            "reproduced": self.reproduced,
            "worst_r2": self.worst_r2,
            "worst_nrmse": self.worst_nrmse,
            "runs": [run.to_dict() for run in self.runs],
            "structure": {state: score.to_dict() for state, score in self.structure.items()},
            "notes": list(self.notes),
            "conserved": [quantity.to_dict() for quantity in self.conserved],
        }


def validate(
    system: OdeSystem,
    trajectories: Trajectories,
    *,
    truth: OdeSystem | None = None,
    initial: Sequence[Array] | None = None,
    options: SolverOptions | None = None,
    conservation: bool = True,
    chaos: bool = True,
) -> Validation:
    """Integrate a system again under every experiment and compare.

    Parameters
    ----------
    truth : OdeSystem, optional
        Also score the structure of each equation against this system.
    initial : sequence of initial states, optional
        One per experiment; the first measured values if not given.
    options : SolverOptions, optional
        The tolerances are looser than for simulating data: scores need no twelve digits.
    conservation : bool
        Whether to look for what the data keep constant; it takes a while and is the same for every system.
    chaos : bool
        Whether to score a chaotic system only as long as it can be predicted; finding out takes a while.
    """
    options = options or SolverOptions(rtol=1e-9, atol=1e-11, time_limit=20.0)
    right_hand_side = RightHandSide(system)
    scores, notes = [], []
    for index, run in enumerate(trajectories):
        start = None if initial is None else initial[index]
        result = replay(system, run, initial=start, options=options, right_hand_side=right_hand_side)
        # A run that ended early is judged as such, not as a short chaotic one.
        horizon = _predictable_until(run, result, right_hand_side) if chaos and result.complete else None
        scores.append(_score(system, run, result, horizon))
        notes.extend(_negative_states(run, scores[-1].simulated, system.states))
    structure = {}
    if truth is not None:
        far = data_box(trajectories, widen=_FAR)
        structure = structure_scores(system, truth, data_box(trajectories), far)
    conserved = conserved_quantities(system, trajectories) if conservation else ()
    notes.extend(str(quantity) for quantity in conserved)
    return Validation(tuple(scores), structure, tuple(dict.fromkeys(notes)), conserved)


def data_box(trajectories: Trajectories, *, widen: float = 1.0) -> dict[str, tuple[float, float]]:
    """Return the range of each state and input, widened on both sides by a share of its width."""
    box = {}
    for name in (*trajectories.states, *trajectories.inputs):
        low = min(float(np.nanmin(run[name])) for run in trajectories)
        high = max(float(np.nanmax(run[name])) for run in trajectories)
        margin = widen * (high - low) or widen * abs(low) or widen
        # What was never negative stays so: roots and logarithms of concentrations are fine.
        box[name] = (max(low - margin, 0.0) if low >= 0 else low - margin, high + margin)
    return box


def _score(system: OdeSystem, run: xr.Dataset, result: Integration, horizon: float | None) -> RunScore:
    times = run["time"].to_numpy()
    reached = len(result.times)
    simulated = np.full((len(system.states), len(times)), np.nan)
    simulated[:, :reached] = result.states
    within = np.ones(len(times), dtype=bool) if horizon is None else times <= horizon
    r2, nrmse = {}, {}
    off_by = np.zeros(len(times))
    for state, values in zip(system.states, simulated, strict=True):
        data = run[state].to_numpy()
        spread = float(np.nanstd(data)) or 1.0
        error = (values - data) / spread
        off_by = np.fmax(off_by, np.abs(error))
        used = within & np.isfinite(data)
        if not result.complete:
            r2[state], nrmse[state] = -np.inf, np.inf
            continue
        mean_square = float(np.mean(error[used] ** 2))
        nrmse[state] = float(np.sqrt(mean_square))
        r2[state] = 1.0 - mean_square / float(np.var(data[used] / spread) or 1.0)
    late = np.flatnonzero(off_by > 1.0)
    diverged_at = (
        float(times[late[0]]) if len(late) else (None if result.complete else float(result.times[-1]))
    )
    dataset = make_experiment(
        times,
        states=dict(zip(system.states, simulated, strict=True)),
        inputs={name: run[name].to_numpy() for name in system.inputs},
        name=run.attrs["name"],
        breakpoints=run.attrs["breakpoints"],
    )
    return RunScore(
        run.attrs["name"], result.outcome, result.message, r2, nrmse, diverged_at, horizon, dataset
    )


def _predictable_until(run: xr.Dataset, result: Integration, rhs: RightHandSide) -> float | None:
    """Return the time up to which a chaotic run can be compared, None for one that is not chaotic.

    The largest Lyapunov exponent is the mean growth rate of a small difference along the simulated run.
    Growth by less than e⁶ over the whole run is what a transient or an oscillator can do as well.
    """
    if len(result.times) < 20:
        return None
    drives = [stimulus(result.times) for stimulus in recorded_inputs(run).values()]
    difference = np.ones(len(rhs.states)) / np.sqrt(len(rhs.states))
    stride = max(1, len(result.times) // 2000)
    growth = 0.0
    for k in range(0, len(result.times) - stride, stride):
        matrix = rhs.jacobian(result.states[:, k], [float(drive[k]) for drive in drives])
        if not np.all(np.isfinite(matrix)):
            return None
        difference = _carried(difference, matrix * (result.times[k + stride] - result.times[k]))
        size = float(np.linalg.norm(difference))
        if not 0 < size < np.inf:
            return None
        growth += np.log(size)
        difference /= size
    if growth < 6.0:
        return None
    duration = float(result.times[-1] - result.times[0])
    return float(result.times[0] + duration / growth)


def _carried(difference: Array, matrix: Array) -> Array:
    """Return the exponential of a matrix times a vector.

    A Taylor series in steps of norm one is many times faster than the whole exponential of a small matrix;
    stiff systems have matrices for which it is not.
    """
    norm = float(np.max(np.sum(np.abs(matrix), axis=1)))
    if norm > _STIFF:
        from scipy.linalg import expm

        return np.asarray(expm(matrix) @ difference)
    steps = max(1, math.ceil(norm))
    part = matrix / steps
    for _ in range(steps):
        term = difference
        for order in range(1, _TERMS + 1):
            term = part @ term / order
            difference = difference + term
    return difference


def _negative_states(run: xr.Dataset, simulated: xr.Dataset, states: Sequence[str]) -> list[str]:
    """Say which states leave the positive range that all their data keeps."""
    notes = []
    for state in states:
        lowest = float(np.nanmin(simulated[state])) if np.any(np.isfinite(simulated[state])) else 0.0
        if float(np.nanmin(run[state])) >= 0 and lowest < -1e-6 * float(np.nanmax(np.abs(run[state]))):
            notes.append(f"{state} becomes negative ({lowest:.3g}) in experiment '{run.attrs['name']}'")
    return notes
