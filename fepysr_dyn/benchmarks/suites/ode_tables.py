"""Tables of the reference systems: shares by noise level, method by method, calibration, every system."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.suites.base import conditions_note, goal, grouped
from fepysr_dyn.benchmarks.table import Table
from fepysr_dyn.benchmarks.units import Line
from fepysr_dyn.comparison import OURS
from fepysr_dyn.validation import R2_THRESHOLD

#: Differences of R² below this are rounding.
_ROUNDING = 1e-6
#: Lower ends of the classes of confidence.
_CLASSES = (0.0, 0.5, 0.7, 0.9)
#: What this version wants, by noise level: share of equations recovered, share of systems that generalize.
_GOALS: dict[float, tuple[float | None, float]] = {0.0: (0.75, 0.9), 0.01: (None, 0.8), 0.05: (None, 0.6)}


def ode_tables(lines: Sequence[Line]) -> list[Table]:
    """Return all tables of the suite."""
    lines = joined(lines)
    return [_shares(lines), _methods(lines), calibration_table(lines), _systems(lines)]


def joined(lines: Sequence[Line]) -> list[Line]:
    """Return one line per system, level and seed: ours, with what the peers found there.

    Peers that failed, or have not had their turn, have no answers.
    """
    together = []
    for group in grouped(lines, "problem", "noise", "seed").values():
        ours = [line for line in group if line.get("side", OURS) == OURS]
        peers = [line for line in group if line.get("side", OURS) != OURS]
        if ours:
            methods = [line.get("methods", {}) for line in (ours[-1], *peers[-1:])]
            together.append({**ours[-1], "methods": {k: v for part in methods for k, v in part.items()}})
    return together


def right_states(lines: Sequence[Line], key: str) -> tuple[int, int]:
    """Count the equations that are right in some sense, and all of them; a failed unit has none."""
    states = [state for line in lines for state in line.get("states", {}).values()]
    return sum(bool(state[key]) for state in states), len(states)


def r2_of(line: Line, method: str, kind: str) -> float:
    """Return the worst R² of a method, minus infinity if it has no answer or its run ended early."""
    scores = (line.get("methods", {}).get(method) or {}).get(kind)
    return float("-inf") if scores is None or scores["r2"] is None else float(scores["r2"])


def best_baseline(line: Line, kind: str) -> tuple[str, float]:
    """Return the baseline with the largest R² in this line."""
    names = [name for name in line.get("methods", {}) if name != OURS]
    scores = {name: r2_of(line, name, kind) for name in names}
    best = max(scores, key=lambda name: scores[name], default="")
    return best, scores.get(best, float("-inf"))


def share_above(lines: Sequence[Line], method: str, kind: str) -> float:
    """Return the share of systems whose R² is above the threshold; one that failed is below it."""
    return sum(r2_of(line, method, kind) > R2_THRESHOLD for line in lines) / len(lines)


def _shares(lines: Sequence[Line]) -> Table:
    rows, notes = [], []
    for (level,), group in grouped(lines, "noise").items():
        recovered, states = right_states(group, "recovered")
        same, _ = right_states(group, "same_structure")
        reproduced, generalized = (
            sum(r2_of(line, OURS, kind) > R2_THRESHOLD for line in group)
            for kind in ("reconstruction", "generalization")
        )
        others = {name: share_above(group, name, "generalization") for name in _baselines(group)}
        best = max(others, key=lambda name: others[name], default="")
        below = [line["problem"] for line in group if _is_below(line)]
        seconds = [line["seconds"] for line in group if "seconds" in line]
        rows.append(
            (
                *(level, len(group), states, rate_text(recovered, states), rate_text(same, states)),
                *(rate_text(reproduced, len(group)), rate_text(generalized, len(group))),
                f"{best} {100 * others[best]:.1f} %" if best else None,
                *(len(below), median(seconds) if seconds else None),
            )
        )
        notes += _goals(level, group, recovered, states, generalized, others)
        if below:
            notes.append(f"α = {level:g}: reconstruction below the best baseline: {', '.join(below)}.")
    columns = (
        *("α", "systems", "equations", "recovered", "same structure", "reconstruction R² > 0.9"),
        *("generalization R² > 0.9", "best PySINDy there", "below PySINDy", "median s"),
    )
    notes.append(
        "R² is the worst over states and experiments. Below PySINDy: systems whose reconstruction is below "
        "the best baseline of the same run. With noise, reconstruction is compared with the noisy samples, "
        "which the truth does not reach either; generalization with exact ones. The paper has no such table."
    )
    return Table("shares", "odes: shares", columns, tuple(rows), (*notes, *conditions_note(lines)))


def _goals(
    level: float,
    group: Sequence[Line],
    recovered: int,
    states: int,
    generalized: int,
    others: dict[str, float],
) -> list[str]:
    if level not in _GOALS:
        return []
    wanted, general = _GOALS[level]
    share = generalized / len(group)
    notes = []
    if wanted is not None and states:
        notes.append(
            goal(f"α = {level:g}, share of equations recovered", recovered / states, at_least=wanted)
        )
    notes.append(goal(f"α = {level:g}, share of systems that generalize", share, at_least=general))
    if others:
        lead = share - max(others.values())
        notes.append(goal(f"α = {level:g}, lead over every baseline's share", lead, at_least=0.01))
    return notes


def _methods(lines: Sequence[Line]) -> Table:
    groups = grouped(lines, "noise")
    rows: list[tuple[Any, ...]] = []
    notes = []
    for method in (OURS, *_baselines(lines)):
        cells: list[Any] = [method]
        for group in groups.values():
            for kind in ("reconstruction", "generalization"):
                good = sum(r2_of(line, method, kind) > R2_THRESHOLD for line in group)
                cells.append(rate_text(good, len(group)) if _has_answers(lines, method) else None)
        equations = [line["methods"][method] for line in lines if method in line.get("methods", {})]
        cells.append(sum(one["recovered"] for one in equations))
        cells.append(median(one["seconds"] for one in equations) if equations else None)
        rows.append(tuple(cells))
        if equations and not _has_answers(lines, method):
            notes.append(f"{method} has no answer anywhere: {equations[0]['message']}.")
    titles = [
        f"{kind}, α = {level:g}" for (level,) in groups for kind in ("reconstruction", "generalization")
    ]
    columns = ("method", *titles, "equations recovered", "median s")
    return Table(
        "methods", "odes: share of systems with R² > 0.9, by method", columns, tuple(rows), tuple(notes)
    )


def calibration_table(lines: Sequence[Line]) -> Table:
    """Return how often equations of a confidence are structurally right."""
    states = [state for line in lines for state in line.get("states", {}).values()]
    known = [state for state in states if state.get("confidence") is not None]
    rows, last = [], None
    for low, high in zip(_CLASSES, (*_CLASSES[1:], float("inf")), strict=True):
        inside = [state for state in known if low <= state["confidence"] < high]
        good = sum(bool(state["same_structure"]) for state in inside)
        last = good / len(inside) if inside else None
        top = f"{low:g}–{min(high, 1.0):g}"
        rows.append((top, len(inside), good, rate_text(good, len(inside))))
    note = goal("share that is right among equations of confidence 0.9 and more", last, at_least=0.9)
    columns = ("confidence", "equations", "structurally right", "share, 95 % interval")
    return Table("calibration", "odes: what confidence means", columns, tuple(rows), (note,))


def _systems(lines: Sequence[Line]) -> Table:
    rows = []
    for line in lines:
        recovered, states = right_states([line], "recovered")
        same, _ = right_states([line], "same_structure")
        cells: list[Any] = [line["problem"], line["noise"], f"{recovered}/{states}", f"{same}/{states}"]
        for kind in ("reconstruction", "generalization"):
            name, best = best_baseline(line, kind)
            cells += [_finite(r2_of(line, OURS, kind)), _finite(best), name]
        rows.append((*cells, line.get("seconds")))
    columns = (
        *("system", "α", "recovered", "same structure", "reconstruction R²", "best PySINDy", "which"),
        *("generalization R²", "best PySINDy, gen.", "which, gen.", "s"),
    )
    return Table("systems", "odes: system by system", columns, tuple(rows), conditions_note(lines))


def methods_of(lines: Sequence[Line]) -> list[str]:
    """Return the names of all methods, ours first."""
    return [OURS, *_baselines(lines)]


def _baselines(lines: Sequence[Line]) -> list[str]:
    names = dict.fromkeys(name for line in lines for name in line.get("methods", {}))
    return [name for name in names if name != OURS]


def _has_answers(lines: Sequence[Line], method: str) -> bool:
    """Return whether a method could be run at all: one whose package is missing has no share."""
    answers = [line["methods"][method] for line in lines if method in line.get("methods", {})]
    return any(answer["reconstruction"] is not None for answer in answers)


def _is_below(line: Line) -> bool:
    return r2_of(line, OURS, "reconstruction") < best_baseline(line, "reconstruction")[1] - _ROUNDING


def _finite(value: float) -> float | None:
    return value if value > float("-inf") else None
