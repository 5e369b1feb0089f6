"""The Pareto front as a figure: loss against complexity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fepysr_dyn.expressions import to_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fepysr_dyn.search.front import ParetoFront
    from fepysr_dyn.search.selection import Choice

#: Losses below this are drawn here: rounding has no size worth showing.
_LEAST_LOSS = 1e-32
_LONGEST_TITLE = 90


def front_figure(front: ParetoFront, choice: Choice) -> Figure:
    """Draw the front, the chosen formula and the alternatives the data cannot tell from it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), dpi=150, layout="constrained")
    panel = figure.subplots()
    sizes = [candidate.complexity for candidate in front]
    losses = [max(candidate.loss, _LEAST_LOSS) for candidate in front]
    panel.step(sizes, losses, where="post", color="0.6", linewidth=1.0)
    panel.plot(sizes, losses, "o", color="tab:blue", markersize=4, label="front")
    others = [candidate for candidate in choice.alternatives if candidate.loss < float("inf")]
    if others:
        points = [(c.complexity, max(c.loss, _LEAST_LOSS)) for c in others]
        panel.plot(*zip(*points, strict=True), "s", color="tab:orange", markersize=5, label="as good")
    chosen = choice.candidate
    panel.plot(
        [chosen.complexity],
        [max(chosen.loss, _LEAST_LOSS)],
        "*",
        color="tab:red",
        markersize=13,
        label="chosen",
    )
    panel.set_yscale("log")
    panel.set_xlabel("complexity (nodes)")
    panel.set_ylabel("loss (share of the target's variance)")
    text = to_text(chosen.expression)
    panel.set_title(text if len(text) <= _LONGEST_TITLE else text[:_LONGEST_TITLE] + " …", fontsize=9)
    panel.legend(frameon=False)
    panel.grid(alpha=0.25)
    return figure
