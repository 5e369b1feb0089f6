"""The Pareto front of a state for the report: its points, their formulas, and which one was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy
from markupsafe import Markup

from fepysr_dyn.expressions import complexity, to_text
from fepysr_dyn.report.charts.front import Point, front_chart
from fepysr_dyn.report.mathml import formula
from fepysr_dyn.report.numbers import short

if TYPE_CHECKING:
    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.search.front import Candidate, ParetoFront

#: More candidates than these are left out of chart and table.
MAX_CANDIDATES = 60
_LONGEST_LABEL = 300


@dataclass(frozen=True)
class Row:
    """One candidate."""

    key: str
    kind: str
    complexity: int
    loss: str
    engine: str
    formula: Markup
    text: str


@dataclass(frozen=True)
class FrontView:
    """One state's candidates as chart and table."""

    state: str
    chart: Markup
    rows: tuple[Row, ...]
    left_out: int
    note: str


def front_views(found: Discovery) -> list[FrontView]:
    """Return the fronts of all states, in their order."""
    return [_front_view(found, state, number) for number, state in enumerate(found.system.states)]


def chosen_index(front: ParetoFront, rate: sympy.Expr) -> int | None:
    """Return which candidate of a front a chosen right-hand side is: itself, or with other constants."""
    from fepysr_dyn.discovery.confidence import structure_of

    for index, candidate in enumerate(front):
        if candidate.expression == rate:
            return index
    structure = structure_of(rate)
    for index, candidate in enumerate(front):
        if structure_of(candidate.expression) == structure:
            return index
    return None


def _front_view(found: Discovery, state: str, number: int) -> FrontView:
    front = found.fronts[state]
    rate = found.system.rates[state]
    others = found.alternatives.get(state, ())
    chosen = chosen_index(front, rate)
    entries = [
        (candidate, "chosen" if index == chosen else "alternative" if candidate in others else "front")
        for index, candidate in enumerate(front)
    ]
    entries += [(candidate, "alternative") for candidate in others if candidate not in front.candidates]
    note = ""
    if chosen is None:
        entries.append((_refitted(front, rate), "chosen"))
        note = "The chosen formula was changed after the search; its loss is that of its neighbour."
    entries.sort(key=lambda entry: (entry[0].complexity, -entry[0].loss))
    kept = [entry for entry in entries if entry[1] == "chosen"]
    kept += [entry for entry in entries if entry[1] != "chosen"][: MAX_CANDIDATES - len(kept)]
    kept.sort(key=lambda entry: (entry[0].complexity, -entry[0].loss))
    points, rows = [], []
    for index, (candidate, kind) in enumerate(kept):
        row = _row(candidate, kind, f"front-{number}-{index}", rate)
        rows.append(row)
        label = f"{_KINDS[kind]}complexity {row.complexity}, loss {row.loss}: {row.text}"
        points.append(Point(candidate.complexity, candidate.loss, kind, row.key, label[:_LONGEST_LABEL]))
    return FrontView(state, front_chart(points, state), tuple(rows), len(entries) - len(kept), note)


_KINDS = {"chosen": "chosen, ", "alternative": "fits as well, ", "front": ""}


def _row(candidate: Candidate, kind: str, key: str, rate: sympy.Expr) -> Row:
    # The chosen formula is shown as it is in the result: with its final constants.
    expression = rate if kind == "chosen" else candidate.expression
    return Row(
        key,
        kind,
        candidate.complexity,
        short(candidate.loss, 2),
        candidate.engine,
        formula(expression, digits=4),
        to_text(expression),
    )


def _refitted(front: ParetoFront, rate: sympy.Expr) -> Candidate:
    """Return a candidate for a formula that is not on the front, at the front's height."""
    from fepysr_dyn.search.front import Candidate

    size = complexity(rate)
    simpler = [candidate.loss for candidate in front if candidate.complexity <= size]
    return Candidate(rate, size, min(simpler, default=1.0), "refinement")
