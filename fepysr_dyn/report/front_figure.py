"""The Pareto front as a figure: loss against complexity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fepysr_dyn.expressions import to_text
from fepysr_dyn.report.figures import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from fepysr_dyn.search.front import ParetoFront
    from fepysr_dyn.search.selection import Choice

#: Losses below this are drawn here: rounding has no size worth showing.
_LEAST_LOSS = 1e-32
_LONGEST_TITLE = 90


def front_figure(front: ParetoFront, choice: Choice | None = None) -> Figure:
    """Draw the front and, if given, the chosen formula and what the data cannot tell from it."""
    from fepysr_dyn.report.shown_figure import ShownFigure

    figure = ShownFigure(figsize=(7.0, 4.2), dpi=150, layout="constrained")
    panel = figure.subplots()
    sizes = [candidate.complexity for candidate in front]
    losses = [max(candidate.loss, _LEAST_LOSS) for candidate in front]
    panel.step(sizes, losses, where="post", color="0.6", linewidth=1.0)
    panel.plot(sizes, losses, "o", color=COLOURS[0], markersize=4, label="front")
    if choice is not None:
        _draw_choice(panel, choice)
    panel.set_yscale("log")
    panel.set_xlabel("complexity (nodes)")
    panel.set_ylabel("loss (share of the target's variance)")
    panel.legend(frameon=False)
    panel.grid(alpha=0.25)
    return figure


def _draw_choice(panel: Axes, choice: Choice) -> None:
    others = [candidate for candidate in choice.alternatives if candidate.loss < float("inf")]
    if others:
        points = [(c.complexity, max(c.loss, _LEAST_LOSS)) for c in others]
        panel.plot(*zip(*points, strict=True), "s", color=COLOURS[2], markersize=5, label="as good")
    chosen = choice.candidate
    panel.plot(
        [chosen.complexity],
        [max(chosen.loss, _LEAST_LOSS)],
        "D",
        color=COLOURS[1],
        markersize=9,
        label="chosen",
    )
    text = to_text(chosen.expression)
    panel.set_title(text if len(text) <= _LONGEST_TITLE else text[:_LONGEST_TITLE] + " …", fontsize=9)
