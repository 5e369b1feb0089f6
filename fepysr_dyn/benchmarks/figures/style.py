"""What all figures share: sizes for a printed page, colours, bare axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fepysr_dyn.report.figures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

OURS, PAPER, OTHER = COLOURS[0], COLOURS[1], "0.65"
#: Letters of a printed figure.
SMALL, NORMAL = 7.0, 8.0
#: Losses and errors below this are drawn here: rounding has no size worth showing.
FLOOR = 1e-32


def panels(
    rows: int, columns: int, *, width: float = 7.2, height: float = 2.4, **options: Any
) -> tuple[Figure, NDArray[Any]]:
    """Return a figure of panels, `height` inches a row, as wide as a page."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height * rows + 0.4), layout="constrained", dpi=200)
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    for panel in grid.flat:
        bare(panel)
    return figure, grid


def bare(panel: Axes) -> None:
    """Take away what carries no data."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=SMALL, length=2.5, width=0.6)
    for spine in panel.spines.values():
        spine.set_linewidth(0.6)


def label(panel: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Name the axes and the panel."""
    if x:
        panel.set_xlabel(x, fontsize=NORMAL)
    if y:
        panel.set_ylabel(y, fontsize=NORMAL)
    if title:
        panel.set_title(title, fontsize=NORMAL)


def legend_above(figure: Figure, panel: Axes, columns: int = 4) -> None:
    """Put the legend of one panel above all of them."""
    handles, labels = panel.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles, labels, loc="outside upper center", ncols=columns, frameon=False, fontsize=NORMAL
        )
