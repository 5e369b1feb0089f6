"""OdeSystem to SBML Level 3: rate rules, assignment rules, and an event for each step of an input.

The XML is written here rather than by libsbml, which rounds numbers to 15 digits; so no extra is needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import sympy

from fepysr_dyn.errors import ModelError, did_you_mean
from fepysr_dyn.exchange.driving import Piece, formula_of, is_level, pieces_of
from fepysr_dyn.exchange.mathml import TIME, math_element
from fepysr_dyn.stimulus import Stimulus
from fepysr_dyn.system import ExperimentPlan, OdeSystem

CORE = "http://www.sbml.org/sbml/level3/version1/core"
#: The namespace of our own annotation: what SBML has no place for.
ABOUT = "urn:fepysr-dyn:about"
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_sbml(system: OdeSystem, experiment: str | None = None) -> str:
    """Return the text of an SBML file.

    Parameters
    ----------
    system : OdeSystem
        Each state, input, parameter and assignment becomes a parameter of the same name.
    experiment : str, optional
        Take the initial values and inputs of this experiment of the protocol; the system's own if not given.

    Examples
    --------
    >>> from fepysr_dyn import load_model
    >>> to_sbml(load_model("lorenz")).startswith("<?xml")
    True
    """
    initial, inputs = conditions(system, experiment)
    pieces = {name: pieces_of(name, stimulus) for name, stimulus in inputs.items()}
    rules = [rule_element("assignmentRule", name, value) for name, value in system.assignments.items()]
    values: dict[str, float | None] = {**dict.fromkeys(system.assignments), **initial}
    for name, stimulus in inputs.items():
        if is_level(pieces[name]):
            values[name] = float(stimulus([0.0])[0])
        else:
            values[name] = None
            rules.append(rule_element("assignmentRule", name, formula_of(name, stimulus, TIME)))
    rules += [rule_element("rateRule", name, rate) for name, rate in system.rates.items()]
    model = model_element(system)
    append_all(
        model,
        "listOfParameters",
        [
            *(parameter_element(name, value, constant=True) for name, value in system.parameters.items()),
            *(parameter_element(name, value, constant=False) for name, value in values.items()),
        ],
    )
    append_all(model, "listOfRules", rules)
    append_all(model, "listOfEvents", _events(pieces, taken=set(system.symbols)))
    return as_text(model)


def conditions(system: OdeSystem, experiment: str | None) -> tuple[dict[str, float], Mapping[str, Stimulus]]:
    """Return the initial values and inputs of an experiment, or the system's own."""
    plan = ExperimentPlan("default")
    if experiment is not None:
        plans = {plan.name: plan for plan in system.protocol.experiments}
        if experiment not in plans:
            hint = did_you_mean(experiment, plans) or f"; there are {', '.join(plans)}"
            raise ModelError(f"system '{system.name}' has no experiment '{experiment}'{hint}")
        plan = plans[experiment]
    return system.initial_of(plan), system.inputs_of(plan)


def identifier(name: str) -> str:
    """Return a name made of letters, digits and _ only."""
    cleaned = re.sub(r"[^A-Za-z0-9_]", "_", name) or "model"
    return f"_{cleaned}" if cleaned[0].isdigit() else cleaned


def as_text(model: Element) -> str:
    """Return the SBML document around a model."""
    root = Element("sbml", {"xmlns": CORE, "level": "3", "version": "1"})
    root.append(model)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def model_element(system: OdeSystem) -> Element:
    """Return an empty model with what is known about the system."""
    model = Element("model", {"id": identifier(system.name), "name": _clean(system.title or system.name)})
    remarks = [text for text in (system.description, system.reference) if text]
    if remarks:
        body = SubElement(SubElement(model, "notes"), "body", {"xmlns": "http://www.w3.org/1999/xhtml"})
        for text in remarks:
            SubElement(body, "p").text = _clean(text)
    protocol = system.protocol
    about = SubElement(
        SubElement(model, "annotation"),
        "about",
        {"xmlns": ABOUT, "duration": repr(float(protocol.duration)), "samples": str(protocol.samples)},
    )
    for name in system.inputs:
        # A level that never steps would look like a parameter.
        SubElement(about, "input", {"of": name})
    for name, unit in system.units.items():
        SubElement(about, "unit", {"of": name}).text = _clean(unit)
    return model


def parameter_element(name: str, value: float | None, *, constant: bool) -> Element:
    """Return a parameter, with a value where a rule does not give it."""
    about = {"id": name, "constant": "true" if constant else "false"}
    if value is not None:
        about["value"] = repr(float(value))
    return Element("parameter", about)


def rule_element(kind: str, name: str, expression: sympy.Expr) -> Element:
    """Return a rule, or another element of that kind for a variable."""
    rule = Element(kind, {"variable": name})
    rule.append(math_element(expression))
    return rule


def _events(pieces: Mapping[str, tuple[Piece, ...] | None], taken: set[str]) -> list[Element]:
    """Return one event per time at which inputs step."""
    steps: dict[float, dict[str, float]] = {}
    for name, parts in pieces.items():
        if parts is not None and is_level(parts):
            for part in parts[1:]:
                if part.start > 0:
                    steps.setdefault(part.start, {})[name] = part.value
    events = []
    for index, (time, levels) in enumerate(sorted(steps.items()), start=1):
        event = Element(
            "event", {"id": free_name(f"step_{index}", taken), "useValuesFromTriggerTime": "true"}
        )
        trigger = SubElement(event, "trigger", {"initialValue": "true", "persistent": "true"})
        trigger.append(math_element(sympy.Ge(TIME, sympy.Float(time), evaluate=False)))
        assignments = SubElement(event, "listOfEventAssignments")
        for stepped, level in levels.items():
            assignment = SubElement(assignments, "eventAssignment", {"variable": stepped})
            assignment.append(math_element(sympy.Float(level)))
        events.append(event)
    return events


def free_name(name: str, taken: set[str]) -> str:
    """Return the name, with _ behind it as often as it takes to be new."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def append_all(model: Element, kind: str, children: list[Element]) -> None:
    """Append a list of elements, if there are any: SBML allows no empty lists."""
    if children:
        SubElement(model, kind).extend(children)


def _clean(text: str) -> str:
    """Return text without the characters that XML does not have."""
    return _NOT_IN_XML.sub("", text)
