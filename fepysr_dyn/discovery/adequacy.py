"""What the data cannot decide, and which experiment would help."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.discovery.problems import all_columns

if TYPE_CHECKING:
    from fepysr_dyn.derivatives import Derivatives
    from fepysr_dyn.trajectories import Trajectories

Array = NDArray[np.float64]

#: Fewer levels of an input than this cannot tell 1, u, u², exp(u) apart.
_ENOUGH_LEVELS = 5
_COLLINEAR = 0.9995
_ENOUGH_SAMPLES = 50
_UNEXCITED = 1e-6


def data_warnings(trajectories: Trajectories, derivatives: Derivatives) -> tuple[str, ...]:
    """Return one sentence for each thing the data cannot decide."""
    columns = all_columns(derivatives)
    return tuple(
        itertools.chain(
            _short_series(trajectories),
            _few_levels(trajectories),
            _unexcited(trajectories),
            _collinear(columns, trajectories.states),
        )
    )


def _short_series(trajectories: Trajectories) -> list[str]:
    total = sum(run.sizes["time"] for run in trajectories)
    if total >= _ENOUGH_SAMPLES:
        return []
    return [f"only {total} samples in all: several structures will fit; sample more densely or longer"]


def _few_levels(trajectories: Trajectories) -> list[str]:
    messages = []
    for name in trajectories.inputs:
        values = np.concatenate([run[name].to_numpy() for run in trajectories])
        levels = np.unique(values[np.isfinite(values)])
        if 1 < len(levels) < _ENOUGH_LEVELS:
            messages.append(
                f"input '{name}' has only {len(levels)} levels: functions that agree on these cannot be "
                f"told apart; an experiment with at least {_ENOUGH_LEVELS} levels would decide"
            )
        elif len(levels) == 1:
            messages.append(
                f"input '{name}' never changes: its effect is unknown; an experiment must vary it"
            )
    return messages


def _unexcited(trajectories: Trajectories) -> list[str]:
    messages = []
    for name in trajectories.states:
        values = np.concatenate([run[name].to_numpy() for run in trajectories])
        if np.nanstd(values) <= _UNEXCITED * (np.nanmax(np.abs(values)) or 1.0):
            messages.append(
                f"state '{name}' hardly moves: nothing can be said about its effect; start it elsewhere"
            )
    return messages


def _collinear(columns: dict[str, Array], states: tuple[str, ...]) -> list[str]:
    messages = []
    usable = np.all(np.isfinite(list(columns.values())), axis=0)
    for first, second in itertools.combinations(columns, 2):
        a, b = columns[first][usable], columns[second][usable]
        if np.std(a) == 0 or np.std(b) == 0:
            continue
        correlation = float(np.corrcoef(a, b)[0, 1])
        if abs(correlation) > _COLLINEAR:
            mend = "another initial state" if second in states else "a stimulus with another time course"
            messages.append(
                f"'{first}' and '{second}' move together (correlation {correlation:.5f}): either can stand "
                f"for the other; {mend} would tell them apart"
            )
    return messages
