"""The experiments for the report: scores, charts over time, phase portraits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from fepysr_dyn.report.charts.phase import MAX_EXPERIMENTS as MAX_IN_PHASE
from fepysr_dyn.report.charts.phase import phase_chart
from fepysr_dyn.report.charts.series import Series, series_chart
from fepysr_dyn.report.numbers import r2_text, short
from fepysr_dyn.validation import R2_THRESHOLD

if TYPE_CHECKING:
    from fepysr_dyn.system import OdeSystem
    from fepysr_dyn.trajectories import Trajectories
    from fepysr_dyn.validation import RunScore

#: Charts of more experiments or states than these are left out; their scores are in the table.
MAX_EXPERIMENTS = 24
MAX_STATES = 20
#: Experiments whose charts are open when the page is; the others are a click away.
OPEN = 4


@dataclass(frozen=True)
class StateView:
    """One state of one experiment."""

    state: str
    r2: str
    nrmse: str
    reproduced: bool
    chart: Markup | None


@dataclass(frozen=True)
class RunView:
    """One experiment."""

    name: str
    outcome: str
    message: str
    reproduced: bool
    ended_early: bool
    diverged_at: str
    horizon: str
    states: tuple[StateView, ...]
    is_open: bool
    has_charts: bool


@dataclass(frozen=True)
class Group:
    """Experiments that were seen in training, or that were not."""

    title: str
    kind: str
    runs: tuple[RunView, ...]
    charts_left_out: int
    phases: tuple[Markup, ...]
    phase_names: tuple[str, ...]


def group_view(
    title: str, kind: str, scores: Sequence[RunScore], data: Trajectories | None, time_name: str
) -> Group:
    """Return all that is shown of some experiments."""
    series = list(paired(scores, data, time_name))
    pairs = zip(scores, series, strict=True)
    runs = tuple(_run_view(score, each, kind, index) for index, (score, each) in enumerate(pairs))
    states = tuple(scores[0].r2)
    phases = []
    if 2 <= len(states) <= 3:
        phases = [
            phase_chart(series, across, up, f"{kind}-phase-{number}")
            for number, (across, up) in enumerate(itertools.combinations(states, 2))
        ]
    return Group(
        title,
        kind,
        runs,
        max(0, len(runs) - MAX_EXPERIMENTS),
        tuple(phases),
        tuple(score.experiment for score in scores[:MAX_IN_PHASE]),
    )


def score_held_out(system: OdeSystem, held_out: Trajectories) -> tuple[RunScore, ...]:
    """Integrate a system under experiments it was not found from, and score it as in training.

    It starts from the smoothed states and is compared with them: against noisy samples, R² would mostly
    tell how noisy they are.
    """
    from fepysr_dyn.derivatives import estimate_derivatives
    from fepysr_dyn.trajectories import Trajectories
    from fepysr_dyn.validation import validate

    return validate(system, Trajectories(tuple(estimate_derivatives(held_out)))).runs


def paired(
    scores: Sequence[RunScore], data: Trajectories | None, time_name: str = "time"
) -> Iterator[Series]:
    """Put each score together with the data it was made on."""
    for index, score in enumerate(scores):
        measured = None
        if data is not None and index < len(data):
            candidate = data[index]
            # Another number of samples would be another experiment.
            if candidate.sizes["time"] == score.simulated.sizes["time"]:
                measured = candidate
        yield Series(measured, score.simulated, score.horizon, time_name)


def _run_view(score: RunScore, series: Series, kind: str, index: int) -> RunView:
    drawn = index < MAX_EXPERIMENTS
    states = tuple(
        StateView(
            state,
            r2_text(r2),
            short(score.nrmse[state], 2),
            r2 > R2_THRESHOLD,
            series_chart(series, state, f"{kind}-{index}-{number}")
            if drawn and number < MAX_STATES
            else None,
        )
        for number, (state, r2) in enumerate(score.r2.items())
    )
    return RunView(
        score.experiment,
        str(score.outcome),
        score.message,
        score.reproduced,
        str(score.outcome) != "complete",
        "" if score.diverged_at is None else short(score.diverged_at),
        "" if score.horizon is None else short(score.horizon),
        states,
        index < OPEN,
        drawn,
    )
