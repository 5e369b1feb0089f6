"""Two states against each other: all experiments, measured and integrated again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from fepysr_dyn.report.charts.axes import NAME_ROW, TICK_ROW, Panel, chart
from fepysr_dyn.report.charts.lines import line_path
from fepysr_dyn.report.charts.scales import padded
from fepysr_dyn.report.charts.series import Series
from fepysr_dyn.report.markup import Element, element, markup

#: Colours and dashes of the style sheet: more experiments cannot be told apart.
MAX_EXPERIMENTS = 6
_HEIGHT = 300.0
_MAX_DOTS = 400


def phase_chart(experiments: Sequence[Series], across: str, up: str, identity: str) -> Markup:
    """Draw the state `up` over the state `across`."""
    shown = experiments[:MAX_EXPERIMENTS]
    panel = Panel.of(_range(shown, across), _range(shown, up), 4.0, _HEIGHT)
    drawn: list[Element] = [*panel.frame(x_ticks=5, y_ticks=5), panel.clip(identity)]
    inside = element("g", clip_path=f"url(#{identity})")
    for series in shown:
        if series.measured is not None:
            every = max(1, series.measured.sizes["time"] // _MAX_DOTS)
            x = panel.x(series.measured[across].to_numpy()[::every])
            y = panel.y(series.measured[up].to_numpy()[::every])
            present = np.isfinite(x) & np.isfinite(y)
            places = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(x[present], y[present], strict=True))
            inside.append(element("path", class_="data", d=places))
    marks: list[Element] = []
    for number, series in enumerate(shown):
        x = panel.x(series.simulated[across].to_numpy())
        y = panel.y(series.simulated[up].to_numpy())
        inside.append(element("path", class_=f"model run{number}", d=line_path(x, y)))
        marks += _ends(x, y, number)
    drawn += [inside, *marks, panel.x_name(across), panel.y_name(up)]
    height = panel.bottom + TICK_ROW + NAME_ROW
    return markup(chart(height, f"phase portrait: {up} over {across}, starts are open circles", *drawn))


def _range(shown: Sequence[Series], name: str) -> tuple[float, float]:
    """Return the range of the data, or of the model where there are none."""
    runs = [series.simulated if series.measured is None else series.measured for series in shown]
    values = np.concatenate([run[name].to_numpy() for run in runs])
    values = values[np.isfinite(values)]
    return padded(float(values.min()), float(values.max()), 0.08) if len(values) else (0.0, 1.0)


def _ends(x: np.ndarray, y: np.ndarray, number: int) -> list[Element]:
    present = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not len(present):
        return []
    first, last = present[0], present[-1]
    return [
        element("circle", class_=f"start run{number}", cx=float(x[first]), cy=float(y[first]), r="4.5"),
        element(
            "rect",
            class_=f"end run{number}",
            x=float(x[last]) - 3.5,
            y=float(y[last]) - 3.5,
            width="7",
            height="7",
        ),
    ]
