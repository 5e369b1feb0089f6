"""One state of one experiment: the data, the model integrated again, what is left over, and the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from fepysr_dyn.report.charts.axes import NAME_ROW, TICK_ROW, Panel, chart
from fepysr_dyn.report.charts.lines import dots_path, envelope, line_path, series_path
from fepysr_dyn.report.charts.scales import padded
from fepysr_dyn.report.markup import Element, element, markup
from fepysr_dyn.trajectories import segments

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: More switches than this would fill a panel with lines.
MAX_SWITCHES = 40
#: More inputs than this get no strip below every state.
MAX_INPUTS = 3
#: A strip's name stands in the gap above it.
_MAIN, _STRIP, _GAP = 150.0, 46.0, 20.0
#: Dots that touch hide the line; fewer columns than pixels keep them apart.
_DOT_COLUMNS = 60
#: A model that runs away may use so much of the data's height on either side.
_RUNAWAY = 0.35


@dataclass(frozen=True)
class Series:
    """What is drawn of one experiment.

    Parameters
    ----------
    measured : dataset or None
        None if the data were not kept with the result.
    simulated : dataset
        The model at the same times.
    horizon : float or None
        Time up to which a chaotic run is compared.
    """

    measured: xr.Dataset | None
    simulated: xr.Dataset
    horizon: float | None = None
    time_name: str = "time"


def series_chart(series: Series, state: str, identity: str) -> Markup:
    """Draw one state; `identity` is unique in the page."""
    times = series.simulated["time"].to_numpy()
    span = padded(float(times[0]), float(times[-1]), 0.0)
    model = series.simulated[state].to_numpy()
    data = None if series.measured is None else series.measured[state].to_numpy()
    main = Panel.of(span, _height(data, model), 4.0, _MAIN)
    panels, drawn = [main], [main.clip(identity)]
    lines = element("g", clip_path=f"url(#{identity})")
    if data is not None:
        lines.append(_path("data", dots_path(main.x(times), main.y(data), _DOT_COLUMNS)))
    lines.append(_path("model", series_path(main.x(times), main.y(model))))
    drawn.append(lines)
    if data is not None:
        panels.append(_residuals(drawn, times, data - model, panels[-1]))
    for name in _inputs(series.simulated):
        panels.append(_stimulus(drawn, series.simulated, name, panels[-1]))
    last = panels[-1]
    below = [*_horizon(series.horizon, panels), *main.frame(x_ticks=6, x_labels=last is main)]
    for panel in panels[1:]:
        below += panel.frame(x_ticks=6, x_labels=panel is last, y_ticks=2)
    below += _switches(series.simulated, panels)
    drawn.append(last.x_name(series.time_name))
    height = last.bottom + TICK_ROW + NAME_ROW
    label = f"{state} over time: {'' if data is None else 'measured dots and residuals, '}model line"
    return markup(chart(height, label, *below, *drawn))


def _residuals(drawn: list[Element], times: Array, left: Array, above: Panel) -> Panel:
    largest = float(np.nanmax(np.abs(left))) if np.any(np.isfinite(left)) else 0.0
    largest = 1.2 * largest or 1.0
    panel = _strip(above, (-largest, largest))
    zero = panel.y.at(0.0)
    drawn.append(element("line", class_="zero", x1=panel.x.start, x2=panel.x.stop, y1=zero, y2=zero))
    drawn.append(_path("residual", dots_path(panel.x(times), panel.y(left))))
    drawn.append(panel.label("data − model"))
    return panel


def _stimulus(drawn: list[Element], run: xr.Dataset, name: str, above: Panel) -> Panel:
    values = run[name].to_numpy()
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    panel = _strip(above, padded(low, high, 0.2))
    times, levels = _stepped(run, name, panel)
    drawn.append(_path("stimulus", line_path(panel.x(times), panel.y(levels))))
    drawn.append(panel.label(f"input {name}"))
    return panel


def _strip(above: Panel, y: tuple[float, float]) -> Panel:
    return Panel.of((above.x.low, above.x.high), y, above.bottom + _GAP, _STRIP)


def _stepped(run: xr.Dataset, name: str, panel: Panel) -> tuple[Array, Array]:
    """Return an input, thinned out between its jumps, which stand upright at the times they happen."""
    times, values = run["time"].to_numpy(), run[name].to_numpy()
    x: list[Array] = []
    y: list[Array] = []
    for piece in segments(run):
        kept = envelope(panel.x(times[piece]), values[piece])
        if not len(kept):
            continue
        t, v = times[piece][kept], values[piece][kept]
        if x:
            switch = _switch_before(run, t[0])
            x.append(np.array([switch, switch]))
            y.append(np.array([y[-1][-1], v[0]]))
        x.append(t)
        y.append(v)
    return (np.concatenate(x), np.concatenate(y)) if x else (times, values)


def _switch_before(run: xr.Dataset, time: float) -> float:
    return float(max(point for point in run.attrs["breakpoints"] if point <= time))


def _height(data: Array | None, model: Array) -> tuple[float, float]:
    """Return the range of the data and, as far as it stays near them, of the model."""
    shown = model if data is None or not np.any(np.isfinite(data)) else data
    finite = shown[np.isfinite(shown)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    room = _RUNAWAY * (high - low)
    reached = model[np.isfinite(model)]
    if len(reached):
        low = min(low, max(float(reached.min()), low - room))
        high = max(high, min(float(reached.max()), high + room))
    return padded(low, high)


def _inputs(run: xr.Dataset) -> list[str]:
    names = [str(name) for name, values in run.data_vars.items() if values.attrs.get("role") == "input"]
    return names[:MAX_INPUTS]


def _switches(run: xr.Dataset, panels: list[Panel]) -> list[Element]:
    x = panels[0].x
    points = [point for point in run.attrs.get("breakpoints", []) if x.low < point < x.high]
    return [
        element("line", class_="switch", x1=x.at(point), x2=x.at(point), y1=panel.top, y2=panel.bottom)
        for point in points[:MAX_SWITCHES]
        for panel in panels
    ]


def _horizon(horizon: float | None, panels: list[Panel]) -> list[Element]:
    """Shade the time in which a chaotic run is not compared."""
    x = panels[0].x
    if horizon is None or not x.low <= horizon < x.high:
        return []
    start = x.at(horizon)
    return [
        element(
            "rect",
            class_="beyond",
            x=start,
            y=panel.top,
            width=x.stop - start,
            height=panel.bottom - panel.top,
        )
        for panel in panels
    ]


def _path(class_: str, data: str) -> Element:
    return element("path", class_=class_, d=data)
