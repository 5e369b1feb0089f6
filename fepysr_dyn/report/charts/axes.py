"""A rectangle with two axes: frame, grid, ticks, and what every chart draws into it."""

from __future__ import annotations

from dataclasses import dataclass

from fepysr_dyn.report.charts.scales import Scale, decade_text, tick_text
from fepysr_dyn.report.markup import Element, element

#: Width of a chart in its own units; the page stretches it.
WIDTH = 460.0
LEFT, RIGHT = 62.0, 12.0
#: Places for time labels, and for the axis' name below.
TICK_ROW, NAME_ROW = 17.0, 17.0


@dataclass(frozen=True)
class Panel:
    """A rectangle of a chart with its two scales."""

    x: Scale
    y: Scale

    @classmethod
    def of(cls, x: tuple[float, float], y: tuple[float, float], top: float, height: float) -> Panel:
        """Return a panel as wide as the chart."""
        return cls(Scale(*x, LEFT, WIDTH - RIGHT), Scale(*y, top + height, top))

    @property
    def top(self) -> float:
        """The upper edge."""
        return self.y.stop

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y.start

    def frame(self, *, x_ticks: int = 5, y_ticks: int = 4, x_labels: bool = True) -> list[Element]:
        """Return grid, frame and labels."""
        made = []
        values = self.y.ticks(y_ticks)
        for value, text in zip(values, _labels(values, self.y), strict=True):
            place = self.y.at(value)
            made.append(_line("grid", self.x.start, place, self.x.stop, place))
            made.append(
                element("text", text, class_="tick", x=self.x.start - 5, y=place + 4, text_anchor="end")
            )
        values = self.x.ticks(x_ticks)
        for value, text in zip(values, _labels(values, self.x), strict=True):
            place = self.x.at(value)
            made.append(_line("grid", place, self.top, place, self.bottom))
            if x_labels:
                made.append(
                    element("text", text, class_="tick", x=place, y=self.bottom + 14, text_anchor="middle")
                )
        made.append(
            element(
                "rect",
                class_="frame",
                x=self.x.start,
                y=self.top,
                width=self.x.stop - self.x.start,
                height=self.bottom - self.top,
            )
        )
        return made

    def x_name(self, text: str) -> Element:
        """Return the name of the horizontal axis."""
        middle = (self.x.start + self.x.stop) / 2
        return element(
            "text", text, class_="axis", x=middle, y=self.bottom + TICK_ROW + 14, text_anchor="middle"
        )

    def y_name(self, text: str) -> Element:
        """Return the name of the vertical axis, written upwards."""
        middle = (self.top + self.bottom) / 2
        return element(
            "text",
            text,
            class_="axis",
            text_anchor="middle",
            transform=f"translate(13 {middle:g}) rotate(-90)",
        )

    def label(self, text: str) -> Element:
        """Return a small title above the panel's upper left corner."""
        return element("text", text, class_="label", x=self.x.start, y=self.top - 5)

    def clip(self, identity: str) -> Element:
        """Return a clipping path of the panel's shape."""
        shape = element(
            "rect",
            x=self.x.start,
            y=self.top - 1,
            width=self.x.stop - self.x.start,
            height=self.bottom - self.top + 2,
        )
        return element("clipPath", shape, id=identity)


def chart(height: float, label: str, *children: Element, role: str = "img", class_: str = "chart") -> Element:
    """Return the SVG element that holds a chart."""
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        class_=class_,
        role=role,
        aria_label=label,
    )


def _line(class_: str, x1: float, y1: float, x2: float, y2: float) -> Element:
    return element("line", class_=class_, x1=x1, y1=y1, x2=x2, y2=y2)


def _labels(values: list[float], scale: Scale) -> list[str]:
    if scale.logarithmic:
        return [decade_text(value) for value in values]
    step = values[1] - values[0] if len(values) > 1 else abs(values[0]) if values and values[0] else 1.0
    return [tick_text(value, step) for value in values]
