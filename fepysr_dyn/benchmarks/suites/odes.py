"""All reference systems at several noise levels: what is discovered, and what PySINDy finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fepysr_dyn.benchmarks.discovery import PEERS, TASK
from fepysr_dyn.benchmarks.intervals import rate_text
from fepysr_dyn.benchmarks.suites.base import Plan, Suite
from fepysr_dyn.benchmarks.suites.ode_tables import joined, ode_tables, right_states
from fepysr_dyn.benchmarks.units import Line, Unit
from fepysr_dyn.comparison import OURS
from fepysr_dyn.model_files import model_names

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def ode_units(plan: Plan) -> list[Unit]:
    """Return one discovery per noise level, system and seed, and the same for the peers.

    They are units apart, because the peers take longer and do not change when the package does.
    """
    return [
        Unit("odes", name, seed, {"side": side, "noise": level, "cap": float(plan.cap), "clock": plan.clock})
        for side in (OURS, PEERS)
        for level in plan.noise
        for name in plan.chosen(model_names())
        for seed in plan.seeds
    ]


def _headline(lines: Sequence[Line]) -> str:
    good, count = right_states(lines, "recovered")
    return f"equations recovered {rate_text(good, count)}"


def _figures(lines: Sequence[Line]) -> dict[str, Figure]:
    from fepysr_dyn.benchmarks.figures.odes import odes_figure

    return {"odes": odes_figure(joined(lines))}


SUITE = Suite(
    name="odes",
    title="all reference systems at several noise levels, beside PySINDy",
    task=TASK,
    units=ode_units,
    tables=ode_tables,
    headline=_headline,
    figures=_figures,
    runs=1,
    cap=30.0,
    noise=(0.0, 0.01, 0.05),
    # Several states, each with its cap, eight baselines, and integrations that can be slow.
    searches=20.0,
    patience=1200.0,
)
