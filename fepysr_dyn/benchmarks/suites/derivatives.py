"""Derivatives of all reference systems: exact and noisy data, beside PySINDy's, and the speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fepysr_dyn.benchmarks.derivatives import LINEAR, TASK
from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.peers import SMOOTHED
from fepysr_dyn.benchmarks.suites.base import Plan, Suite, conditions_note, goal, grouped
from fepysr_dyn.benchmarks.table import Table
from fepysr_dyn.benchmarks.units import Line, Unit
from fepysr_dyn.model_files import model_names

SIZES = (10_000, 100_000, 1_000_000)
_PEERS = (SMOOTHED, "best setting per system", "best setting per state")


def derivative_units(plan: Plan) -> list[Unit]:
    """Return one unit per system and noise level, exact data once, and one per estimator and size."""
    names = plan.chosen((*model_names(), *LINEAR))
    systems = [
        Unit("derivatives", name, seed, {"noise": level})
        for level in plan.noise
        for name in names
        if name not in LINEAR
        for seed in (plan.seeds if level else plan.seeds[:1])
    ]
    speed = [
        Unit("derivatives", name, plan.seed, {"samples": size})
        for name in names
        if name in LINEAR
        for size in SIZES
    ]
    return systems + speed


def derivative_tables(lines: Sequence[Line]) -> list[Table]:
    """Return the tables of what there is: noisy data, exact data, speed."""
    noisy = [line for line in lines if line.get("noise") and "rows" in line]
    exact = [line for line in lines if line.get("noise") == 0 and "rows" in line]
    speed = [line for line in lines if "samples" in line and "seconds" in line]
    tables = []
    if noisy:
        tables += [_shares(noisy), _states(noisy)]
    if exact:
        tables.append(_exact(exact))
    if speed:
        tables.append(_speed(speed))
    return tables


def best_for_system(rows: Sequence[dict[str, Any]]) -> str:
    """Return PySINDy's setting with the smallest geometric mean error over the states of a system."""
    common: set[str] = set.intersection(*(set(row["peers"]) for row in rows)) - {SMOOTHED}
    return min(sorted(common), key=lambda key: float(np.mean([np.log(row["peers"][key]) for row in rows])))


def peer_ratios(line: Line) -> list[tuple[float, float, float]]:
    """Return our error relative to three of PySINDy's, per state of a system."""
    best = best_for_system(line["rows"])
    ratios = []
    for row in line["rows"]:
        peers = row["peers"]
        own = min(error for key, error in peers.items() if key != SMOOTHED)
        ratios.append((row["error"] / peers[SMOOTHED], row["error"] / peers[best], row["error"] / own))
    return ratios


def _shares(lines: Sequence[Line]) -> Table:
    rows, notes = [], []
    for (level,), group in grouped(lines, "noise").items():
        ratios = np.array([ratio for line in group for ratio in peer_ratios(line)])
        for index, peer in enumerate(_PEERS):
            below = int(np.sum(ratios[:, index] < 1))
            typical = float(np.exp(np.mean(np.log(ratios[:, index]))))
            rows.append((level, peer, below, rate_text(below, len(ratios)), typical))
        states = [row for line in group for row in line["rows"]]
        covered = np.average([row["covered"] for row in states], weights=[row["samples"] for row in states])
        share = float(np.mean(ratios[:, 1] < 1))
        notes.append(goal(f"α = {level:g}, share of states below the best per system", share, at_least=0.9))
        notes.append(
            f"α = {level:g}: {len(states)} states; the 95 % intervals cover {100 * float(covered):.1f} % "
            f"of all samples, per state {100 * min(row['covered'] for row in states):.1f} to "
            f"{100 * max(row['covered'] for row in states):.1f} %."
        )
    columns = (
        "α",
        "PySINDy",
        "states with a smaller error",
        "share, 95 % interval",
        "error ratio, geometric mean",
    )
    title = "derivatives: the automatic estimate against PySINDy"
    return Table("shares", title, columns, tuple(rows), (*notes, *conditions_note(lines)))


def _states(lines: Sequence[Line]) -> Table:
    rows = []
    for line in lines:
        best = best_for_system(line["rows"])
        for row in line["rows"]:
            peers = row["peers"]
            rows.append(
                (
                    *(line["problem"], row["state"], line["noise"], line["seed"], row["error"]),
                    *(peers[SMOOTHED], peers[best], round(100 * row["covered"], 1), row["method"], best),
                )
            )
    columns = (
        *("system", "state", "α", "seed", "RMSE", SMOOTHED, "best per system"),
        *("covered %", "our method", "best setting"),
    )
    return Table("states", "derivatives: noisy data, state by state", columns, tuple(rows))


def _exact(lines: Sequence[Line]) -> Table:
    rows = tuple(
        (line["problem"], row["state"], row["largest"], row["relative"], row["method"])
        for line in lines
        for row in line["rows"]
    )
    columns = ("system", "state", "largest error", "relative to the RMS", "method")
    return Table("exact", "derivatives: exact data", columns, rows, conditions_note(lines))


def _speed(lines: Sequence[Line]) -> Table:
    rows = []
    for (name,), group in grouped(lines, "problem").items():
        seconds = {line["samples"]: line["seconds"] for line in group}
        first, last = min(seconds), max(seconds)
        growth = seconds[last] / seconds[first] / (last / first) if last > first else None
        rows.append((name, *(seconds.get(size) for size in SIZES), growth))
    columns = ("estimator", *(f"{size:,} samples, s" for size in SIZES), "growth per sample")
    note = "Seconds of the processor; growth of the cost per sample from the smallest to the largest series."
    return Table("speed", "derivatives: speed", columns, tuple(rows), (note, *conditions_note(lines)))


def _headline(lines: Sequence[Line]) -> str:
    ratios = [
        ratio[1] for line in lines if line.get("noise") and "rows" in line for ratio in peer_ratios(line)
    ]
    if not ratios:
        return ""
    return f"below PySINDy {rate_text(sum(ratio < 1 for ratio in ratios), len(ratios))}"


SUITE = Suite(
    name="derivatives",
    title="derivatives of all reference systems, beside PySINDy's; speed",
    task=TASK,
    units=derivative_units,
    tables=derivative_tables,
    headline=_headline,
    runs=1,
    cap=None,
    noise=(0.0, 0.01, 0.05),
    patience=3600.0,
)
