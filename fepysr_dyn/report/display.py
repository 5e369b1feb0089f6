"""What a notebook shows of systems, fronts and discoveries: HTML with MathML, LaTeX, figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from fepysr_dyn.exchange.latex import expression_in_latex, number_in_latex
from fepysr_dyn.report.latex import latex_system
from fepysr_dyn.report.mathml import equation, math
from fepysr_dyn.report.numbers import short
from fepysr_dyn.report.verdict import verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.search.front import ParetoFront
    from fepysr_dyn.system import OdeSystem
    from fepysr_dyn.trajectories import Trajectories

_ROW = Markup('<div style="line-height: 2.6; overflow-x: auto">{}</div>')
_CELL = Markup('<td style="text-align: {}">{}</td>')


def system_html(system: OdeSystem) -> str:
    """Return the equations of a system, assignments below."""
    rows = [_ROW.format(equation(state, rate)) for state, rate in system.rates.items()]
    for name, expression in system.assignments.items():
        rows.append(_ROW.format(Markup("{} = {}").format(name, math(expression))))
    title = Markup("<div><strong>{}</strong></div>").format(system.title or system.name)
    return str(title + Markup("").join(rows))


def system_latex(system: OdeSystem) -> str:
    """Return the equations as displayed LaTeX."""
    return f"$\\displaystyle {latex_system(system)}$"


def front_html(front: ParetoFront) -> str:
    """Return the candidates as a table."""
    head = Markup("<tr><th>complexity</th><th>loss</th><th>engine</th><th>formula</th></tr>")
    rows = [
        Markup("<tr>{}{}{}{}</tr>").format(
            _CELL.format("right", candidate.complexity),
            _CELL.format("right", short(candidate.loss, 3)),
            _CELL.format("left", candidate.engine),
            _CELL.format("left", math(candidate.expression)),
        )
        for candidate in front
    ]
    return str(Markup("<table>{}{}</table>").format(head, Markup("").join(rows)))


def front_latex(front: ParetoFront) -> str:
    """Return the candidates as an array of LaTeX."""
    rows = [
        f"{candidate.complexity} & {number_in_latex(candidate.loss, 3)} & "
        f"{expression_in_latex(candidate.expression)}"
        for candidate in front
    ]
    lines = " \\\\\n".join([r"\text{complexity} & \text{loss} & \text{formula}", *rows])
    return f"$\\displaystyle \\begin{{array}}{{rrl}}\n{lines}\n\\end{{array}}$"


def discovery_html(found: Discovery) -> str:
    """Return the verdict, the equations with their confidence, and the warnings."""
    judged = verdict(found)
    parts = [Markup("<p><strong>{}.</strong> {}</p>").format(judged.headline, judged.sentence)]
    for state, rate in found.system.rates.items():
        parts.append(_ROW.format(equation(state, rate)))
    if found.warnings:
        items = Markup("").join(Markup("<li>{}</li>").format(warning) for warning in found.warnings)
        parts.append(Markup("<ul>{}</ul>").format(items))
    return str(escape(Markup("").join(parts)))


def discovery_latex(found: Discovery) -> str:
    """Return the equations that were found as displayed LaTeX."""
    return system_latex(found.system)


def plot_discovery(found: Discovery) -> Figure:
    """Draw data and model."""
    from fepysr_dyn.report.discovery_figure import discovery_figure

    return discovery_figure(found)


def plot_front(front: ParetoFront) -> Figure:
    """Draw loss over complexity."""
    from fepysr_dyn.report.front_figure import front_figure

    return front_figure(front)


def plot_trajectories(trajectories: Trajectories) -> Figure:
    """Draw states and inputs over time."""
    from fepysr_dyn.report.figures import trajectories_figure

    return trajectories_figure(trajectories)
