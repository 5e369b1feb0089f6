"""Tables of recovery lines beside the paper's figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import mean, median
from typing import Any

from fepysr_dyn.benchmarks.problems import BenchmarkProblem, load_problems

Line = dict[str, Any]


def print_tables(lines: Sequence[Line]) -> None:
    """Print one table per engine, with and without stage 1, and a summary."""
    groups: dict[tuple[str, bool, float], list[Line]] = {}
    for line in lines:
        groups.setdefault((line["engine"], line["features"], line["noise"]), []).append(line)
    for (engine, features, noise), group in groups.items():
        stage = "with stage 1" if features else "without stage 1"
        added = f", noise α = {noise:g}" if noise else ""
        _write(f"\n{engine}, {stage}{added}")
        _write(problem_table(group))
        _write(summary(group))


def problem_table(lines: Sequence[Line]) -> str:
    """Return one row per problem: recovery, median time, error, and the paper's figures."""
    rows = [
        f"{'problem':<14}{'recovered':>10}{'on front':>10}{'seconds':>9}{'mse':>10}{'paper':>8}{'PySR':>8}"
    ]
    for name, group in _by_problem(lines).items():
        (problem,) = load_problems(name)
        rate = f"{sum(line['recovered'] for line in group)}/{len(group)}"
        front = sum(line.get("on_front", False) for line in group)
        seconds = median(line["seconds"] for line in group)
        error = min(line.get("mse", float("inf")) for line in group)
        figures = _paper_recovery(problem, group) or problem.paper.get("min_mse") or {}
        paper, pysr = (_figure(figures.get(key)) for key in ("fepysr", "pysr"))
        rows.append(f"{name:<14}{rate:>10}{front:>10}{seconds:>9.1f}{error:>10.2g}{paper:>8}{pysr:>8}")
    return "\n".join(rows)


def summary(lines: Sequence[Line]) -> str:
    """Return mean recovery and times, and how often the error is below what the paper reports."""
    groups = _by_problem(lines)
    rates = {name: mean(line["recovered"] for line in group) for name, group in groups.items()}
    fronts = [mean(line.get("on_front", False) for line in group) for group in groups.values()]
    done = [line["seconds"] for line in lines if line["recovered"]]
    text = f"mean recovery {100 * mean(rates.values()):.1f} % of {len(rates)} problems, {len(lines)} fits"
    text += f" (on the front {100 * mean(fronts):.1f} %)"
    if done:
        text += f"; median time to a recovered answer {median(done):.1f} s"
    problems = [load_problems(name)[0] for name in rates]
    paper = [problem.paper for problem in problems]
    figures = [_paper_recovery(problem, groups[problem.id]) for problem in problems]
    known = [entry["fepysr"] for entry in figures if "fepysr" in entry]
    if known:
        text += f"; paper {100 * mean(known):.1f} %"
    limits = {
        name: entry["min_mse"]["fepysr"]
        for name, entry in zip(rates, paper, strict=True)
        if "min_mse" in entry
    }
    if limits:
        chosen, front = (_lower(groups, limits, key) for key in ("mse", "front_mse"))
        text += f"; lower error than the paper's on {chosen} of {len(limits)} (best of the front: {front})"
    failed = sum("error" in line for line in lines)
    return text + (f"; {failed} fits failed" if failed else "")


def _paper_recovery(problem: BenchmarkProblem, group: Sequence[Line]) -> dict[str, float]:
    """Return the paper's recovery of a problem; at every noise level it tried it recovered nothing."""
    if any(line.get("noise") for line in group):
        return {"fepysr": 0.0}
    recovery: dict[str, float] = problem.paper.get("recovery") or {}
    return recovery


def _lower(groups: dict[str, list[Line]], limits: dict[str, float], key: str) -> int:
    """Count the problems whose best run is below a limit."""
    best = {name: min(line.get(key, float("inf")) for line in groups[name]) for name in limits}
    return sum(best[name] < limit for name, limit in limits.items())


def _by_problem(lines: Sequence[Line]) -> dict[str, list[Line]]:
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line["problem"], []).append(line)
    return groups


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _write(text: str) -> None:
    sys.stdout.write(text + "\n")
