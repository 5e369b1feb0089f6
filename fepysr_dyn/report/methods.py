"""The comparison with other methods for the report, from a `Comparison` or its saved JSON document."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from fepysr_dyn.errors import DataError, FepysrDynError
from fepysr_dyn.expressions import parse
from fepysr_dyn.report.mathml import equation
from fepysr_dyn.report.numbers import NONE, r2_text, short

if TYPE_CHECKING:
    from fepysr_dyn.comparison import Comparison

_HELD_OUT = {
    "experiment": "the last experiment, which no method had seen",
    "window": "the last quarter of the time, which no method had seen",
    "given": "experiments that no method had seen",
}
#: More methods or states than these are left out.
_MAX_METHODS = 60
_MAX_STATES = 30


@dataclass(frozen=True)
class MethodRow:
    """One method."""

    name: str
    reconstruction: tuple[str, str]
    generalization: tuple[str, str]
    right: str
    seconds: str
    message: str
    reproduced: bool
    equations: tuple[Markup, ...]


@dataclass(frozen=True)
class MethodTable:
    """All methods on the same data."""

    rows: tuple[MethodRow, ...]
    held_out: str
    has_truth: bool
    has_generalization: bool


def method_table(comparison: Comparison | Mapping[str, Any]) -> MethodTable:
    """Return the table of a comparison; a document of another form is refused."""
    document = comparison if isinstance(comparison, Mapping) else comparison.to_dict()
    try:
        methods = document["methods"][:_MAX_METHODS]
        rows = tuple(_row(method) for method in methods)
        return MethodTable(
            rows,
            _HELD_OUT.get(str(document["held_out"]), ""),
            any(row.right for row in rows),
            any(method["generalization"] for method in methods),
        )
    except (KeyError, TypeError, ValueError, AttributeError, FepysrDynError) as error:
        raise DataError(f"expected the JSON document of a comparison, found another form: {error}") from None


def _row(method: Mapping[str, Any]) -> MethodRow:
    scores = method["reconstruction"]
    structure = scores["structure"].values() if scores else ()
    right = sum(bool(score["recovered"]) for score in structure)
    equations = list(method["equations"].items())[:_MAX_STATES]
    return MethodRow(
        name=str(method["name"]),
        reconstruction=_scores(scores) if scores else ("no answer", NONE),
        generalization=_scores(method["generalization"]),
        right=f"{right} of {len(structure)}" if structure else "",
        seconds=f"{float(method['seconds']):.1f}",
        message=str(method["message"]),
        reproduced=bool(scores and scores["reproduced"]),
        equations=tuple(equation(str(state), parse(text), digits=4) for state, text in equations),
    )


def _scores(scores: Mapping[str, Any] | None) -> tuple[str, str]:
    """Return the smallest R² and the largest NRMSE, or how the worst integration ended."""
    if not scores:
        return NONE, NONE
    ended = [str(run["outcome"]) for run in scores["runs"] if run["outcome"] != "complete"]
    if ended:
        return ended[0], NONE
    return r2_text(_number(scores["worst_r2"])), short(_number(scores["worst_nrmse"]), 2)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
