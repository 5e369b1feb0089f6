"""The report: one HTML file with everything in it, which fetches nothing and runs only its own script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy
from markupsafe import Markup

from fepysr_dyn.errors import DataError
from fepysr_dyn.expressions import parse, to_text
from fepysr_dyn.report.experiments import Group, group_view, score_held_out
from fepysr_dyn.report.fronts import front_views
from fepysr_dyn.report.latex import latex_system
from fepysr_dyn.report.mathml import equation, math, name_math
from fepysr_dyn.report.methods import method_table
from fepysr_dyn.report.numbers import with_error
from fepysr_dyn.report.origin import origin
from fepysr_dyn.report.verdict import verdict

if TYPE_CHECKING:
    import jinja2

    from fepysr_dyn.comparison import Comparison
    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.trajectories import Trajectories
    from fepysr_dyn.validation import RunScore

#: Features shown of every state.
MAX_FEATURES = 24
_MAX_NOTES = 100


def write_report(
    found: Discovery,
    path: str | Path,
    *,
    comparison: Comparison | Mapping[str, Any] | None = None,
    held_out: Trajectories | None = None,
) -> None:
    """Write the report of a discovery: one HTML file that needs no network.

    Parameters
    ----------
    found : Discovery
        What was found, or loaded by `fepysr_dyn.load_result`.
    path : str or Path
        The file, usually report.html.
    comparison : Comparison or mapping, optional
        Other methods on the same data, as `fepysr_dyn.compare` returns it or its JSON document.
    held_out : Trajectories, optional
        Experiments that took no part in the discovery: the equations are integrated under them as well.
    """
    text = render_report(found, comparison=comparison, held_out=held_out)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None


def render_report(
    found: Discovery,
    *,
    comparison: Comparison | Mapping[str, Any] | None = None,
    held_out: Trajectories | None = None,
) -> str:
    """Return the report as text."""
    style, script = _asset("report.css"), _asset("report.js")
    unseen = () if held_out is None else score_held_out(found.system, held_out)
    return (
        _environment()
        .get_template("report.html")
        .render(
            title=_title(found),
            found=found,
            size=_size(found),
            style=style,
            script=script,
            policy=_policy(style, script),
            verdict=verdict(found, unseen),
            equations=_equations(found),
            text=str(found),
            latex=latex_system(found.system),
            warnings=_warnings(found)[:_MAX_NOTES],
            conserved=[(math(parse(each.text)), each.kept) for each in found.validation.conserved],
            groups=_groups(found, unseen, held_out),
            fronts=front_views(found),
            features=_features(found),
            constants=[
                (constant.state, *with_error(constant.value, constant.standard_error))
                for constant in found.constants
            ],
            has_floats=any(rate.has(sympy.Float) for rate in found.system.rates.values()),
            methods=None if comparison is None else method_table(comparison),
            origin=origin(found),
        )
    )


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fepysr_dyn.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["name"] = name_math
    return environment


@cache
def _asset(name: str) -> Markup:
    """Return a file of ours that goes into the page as it is."""
    text = resources.files("fepysr_dyn.report").joinpath("templates", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 (shipped with the package)


def _policy(style: str, script: str) -> str:
    """Allow nothing but our own style and script, known by their hashes: what data smuggle in stays dead."""

    def known(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    return (
        f"default-src 'none'; style-src 'sha256-{known(style)}'; script-src 'sha256-{known(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _title(found: Discovery) -> str:
    if found.truth is not None:
        return found.truth.title or found.truth.name
    return f"Equations for {', '.join(found.system.states[:8])}" + (
        " …" if len(found.system.states) > 8 else ""
    )


def _warnings(found: Discovery) -> list[str]:
    """Return what to be careful about; that a quantity is conserved is said elsewhere."""
    good = {str(quantity) for quantity in found.validation.conserved if quantity.kept}
    return [*found.warnings, *(note for note in found.validation.notes if note not in good)]


def _size(found: Discovery) -> list[tuple[str, str]]:
    """Return how large the data are, in a few words."""
    runs = [run.simulated for run in found.validation.runs]
    samples = sum(run.sizes["time"] for run in runs)
    inputs = list(found.system.inputs)
    facts = [
        ("states", ", ".join(found.system.states)),
        ("inputs", ", ".join(inputs) or "none"),
        ("experiments", str(len(runs))),
        ("samples", f"{samples:,}".replace(",", " ")),
    ]
    return [fact for fact in facts if fact[1]]


def _equations(found: Discovery) -> list[dict[str, Any]]:
    truth = {} if found.truth is None else found.truth.explicit_rates()
    structure = found.validation.structure
    return [
        {
            "state": state,
            "found": equation(state, rate),
            "true": equation(state, truth[state]) if state in truth else None,
            "score": structure.get(state),
            "form": found.forms.get(state, "pointwise"),
            "confidence": found.confidence.get(state),
            "alternatives": len(found.alternatives.get(state, ())),
        }
        for state, rate in found.system.rates.items()
    ]


def _groups(found: Discovery, unseen: tuple[RunScore, ...], held_out: Trajectories | None) -> list[Group]:
    time_name = "time"
    if found.data is not None:
        unit = found.data[0]["time"].attrs.get("units", "")
        time_name = f"time [{unit}]" if unit else time_name
    groups = [group_view("Training", "training", found.validation.runs, found.data, time_name)]
    if unseen:
        groups.append(group_view("Held out", "held-out", unseen, held_out, time_name))
    return groups


def _features(found: Discovery) -> list[dict[str, Any]]:
    return [
        {
            "state": state,
            "shown": [(math(feature, digits=4), to_text(feature)) for feature in features[:MAX_FEATURES]],
            "total": len(features),
        }
        for state, features in found.features.items()
        if features
    ]
