"""The evolution engine beside pyoperon and gplearn: evaluations per second, and time to an answer."""

from __future__ import annotations

from collections.abc import Sequence

from fepysr_dyn.benchmarks.engine_speed import TASK, TOOLS, TREE, installed_tools
from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.benchmarks.suites.base import Plan, Suite, conditions_note, goal, grouped, is_recovered
from fepysr_dyn.benchmarks.table import Table
from fepysr_dyn.benchmarks.units import Line, Unit

OURS = "fepysr_dyn"
ROWS = (500, 50_000)
RATE = "evaluations"


def speed_units(plan: Plan) -> list[Unit]:
    """Return the rates of all tools, and their searches on the Recover equations."""
    tools = installed_tools()
    chosen = plan.chosen((RATE, *(problem.id for problem in load_problems("recover"))))
    rates = [
        Unit("engine-speed", RATE, plan.seed, {"tool": tool, "rows": rows}) for rows in ROWS for tool in tools
    ]
    searches = [
        Unit("engine-speed", name, seed, {"tool": tool, "cap": float(plan.cap), "clock": plan.clock})
        for name in chosen
        if name != RATE
        for seed in plan.seeds
        for tool in tools
    ]
    return (rates if RATE in chosen else []) + searches


def speed_tables(lines: Sequence[Line]) -> list[Table]:
    """Return the rates, the times to a recovered answer, and how often ours is ahead."""
    rates = [line for line in lines if "rate" in line]
    searches = [line for line in lines if line["problem"] != RATE]
    tables = []
    if rates:
        tables.append(_rates(rates))
    if searches:
        tables += [_ahead(searches), _times(searches)]
    return tables


def ahead_of_all(lines: Sequence[Line]) -> tuple[int, int]:
    """Count the searches that any tool solves, and those of them that ours solves first."""
    ahead = solved = 0
    for group in grouped(lines, "problem", "seed").values():
        seconds = {line["tool"]: line["seconds"] for line in group if is_recovered(line)}
        if seconds:
            solved += 1
            ahead += min(seconds, key=lambda tool: seconds[tool]) == OURS
    return ahead, solved


def _rates(lines: Sequence[Line]) -> Table:
    rows, own = [], None
    for (tool,), group in grouped(lines, "tool").items():
        rates = {line["rows"]: line["rate"] for line in group}
        rows.append((tool, *(round(rates[size]) if size in rates else None for size in ROWS)))
        own = rates.get(ROWS[0]) if tool == OURS else own
    notes = (
        f"Evaluations per second of one core on a tree of 17 nodes: {TREE}. fepysr_dyn works in float64 and "
        "fits the linear coefficients each time; pyoperon (float32) and gplearn only evaluate.",
        goal("evaluations per second at 500 rows", own, at_least=50_000),
        *conditions_note(lines),
    )
    columns = ("tool", *(f"{size:,} rows" for size in ROWS))
    return Table("rates", "engine-speed: evaluations per second and core", columns, tuple(rows), notes)


def _ahead(lines: Sequence[Line]) -> Table:
    rows = []
    for (tool,), group in grouped(lines, "tool").items():
        good = sum(map(is_recovered, group))
        rows.append((tool, f"{good}/{len(group)}", rate_text(good, len(group))))
    ahead, solved = ahead_of_all(lines)
    notes = (
        f"Ours is the first on {ahead} of the {solved} that any tool solves: {rate_text(ahead, solved)}.",
        goal("share of these", ahead / solved if solved else None, at_least=0.8),
        "Recovered: equal to the truth to three digits on a wider box, as pyoperon has seven. The evolution "
        "engine alone, without stage 1 and the other engines.",
        *conditions_note(lines),
    )
    return Table(
        "summary", "engine-speed: searches", ("tool", "recovered", "95 % interval"), tuple(rows), notes
    )


def _times(lines: Sequence[Line]) -> Table:
    tools = [tool for tool in TOOLS if any(line.get("tool") == tool for line in lines)]
    rows = []
    for (problem, seed), group in grouped(lines, "problem", "seed").items():
        seconds = {line["tool"]: line["seconds"] for line in group if is_recovered(line)}
        rows.append((problem, seed, *(seconds.get(tool) for tool in tools)))
    columns = ("problem", "seed", *tools)
    title = "engine-speed: processor seconds to a recovered answer"
    return Table("problems", title, columns, tuple(rows), conditions_note(lines))


def _headline(lines: Sequence[Line]) -> str:
    ahead, solved = ahead_of_all([line for line in lines if line["problem"] != RATE])
    return f"first on {rate_text(ahead, solved)}" if solved else ""


SUITE = Suite(
    name="engine-speed",
    title="the evolution engine beside pyoperon and gplearn",
    task=TASK,
    units=speed_units,
    tables=speed_tables,
    headline=_headline,
    runs=1,
    cap=60.0,
    searches=4.0,
    patience=120.0,
)
