"""The Pareto front of one state: every candidate a point that can be pointed at or reached by keyboard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fepysr_dyn.report.charts.axes import LEFT, NAME_ROW, RIGHT, TICK_ROW, WIDTH, Panel, chart
from fepysr_dyn.report.charts.scales import Scale
from fepysr_dyn.report.markup import Element, element, markup

#: Losses below this are drawn here: rounding has no size worth showing.
LEAST_LOSS = 1e-32
_HEIGHT = 190.0


@dataclass(frozen=True)
class Point:
    """A candidate of the chart.

    Parameters
    ----------
    kind : str
        "front", "alternative" (as good as the chosen one) or "chosen".
    key : str
        Identity of the row with its formula.
    """

    complexity: int
    loss: float
    kind: str
    key: str
    label: str


def front_chart(points: Sequence[Point], state: str) -> Markup:
    """Draw loss over complexity; points come in order of complexity."""
    panel = _panel(points)
    drawn: list[Element] = panel.frame(x_ticks=6, y_ticks=5)
    line = [point for point in points if point.kind != "alternative"]
    steps = "".join(
        f"{'M' if index == 0 else 'H'}{panel.x.at(point.complexity):.1f}"
        f"{' ' if index == 0 else 'V'}{panel.y.at(max(point.loss, LEAST_LOSS)):.1f}"
        for index, point in enumerate(line)
    )
    if steps:
        drawn.append(element("path", class_="steps", d=steps))
    # The chosen point is drawn last, above its neighbours, but keeps its place in the order of the keyboard.
    order = sorted(points, key=lambda point: point.kind == "chosen")
    drawn += [_mark(point, panel) for point in order]
    drawn += [panel.x_name("complexity (nodes of the formula)"), panel.y_name("loss")]
    height = panel.bottom + TICK_ROW + NAME_ROW
    label = f"Pareto front of d{state}/dt: {len(points)} candidates; arrow keys move between them"
    return markup(chart(height, label, *drawn, role="group", class_="chart front"))


def _panel(points: Sequence[Point]) -> Panel:
    sizes = [point.complexity for point in points] or [1]
    losses = [max(point.loss, LEAST_LOSS) for point in points if math.isfinite(point.loss)] or [1.0]
    low, high = min(losses), max(losses)
    air = max(2.0, (high / low) ** 0.07)
    width = max(4.0, max(sizes) - min(sizes))
    return Panel(
        Scale(min(sizes) - 0.06 * width, max(sizes) + 0.06 * width, LEFT, WIDTH - RIGHT),
        Scale(low / air, high * air, 6.0 + _HEIGHT, 6.0, logarithmic=True),
    )


def _mark(point: Point, panel: Panel) -> Element:
    x, y = panel.x.at(point.complexity), panel.y.at(max(point.loss, LEAST_LOSS))
    if point.kind == "chosen":
        shape = element("path", class_="mark", d="M0-9L9 0L0 9L-9 0Z")
    elif point.kind == "alternative":
        shape = element("rect", class_="mark", x="-5", y="-5", width="10", height="10")
    else:
        shape = element("circle", class_="mark", r="5")
    return element(
        "g",
        element("circle", class_="halo", r="13"),
        shape,
        class_=f"point {point.kind}",
        transform=f"translate({x:.1f} {y:.1f})",
        tabindex="0" if point.kind == "chosen" else "-1",
        role="button",
        aria_label=point.label,
        data_row=point.key,
    )
