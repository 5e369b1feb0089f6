"""``fepysr-dyn models``: what reference systems there are, or one of them in full."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from fepysr_dyn.cli.options import Json, model_completion
from fepysr_dyn.cli.output import number, print_json, print_table, print_text

if TYPE_CHECKING:
    from fepysr_dyn.system import OdeSystem

EXAMPLES = ("fepysr-dyn models", "fepysr-dyn models tyson_two_protein", "fepysr-dyn models lorenz --json")


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A model, or a path to a model file.",
            show_default=False,
            autocompletion=model_completion,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the reference systems, or show one: equations, parameters, protocol, reference."""
    from fepysr_dyn.model_files import load_model, model_names, system_to_toml

    if name is not None:
        system = load_model(name)
        if json:
            print_json(tomllib.loads(system_to_toml(system)))
        else:
            _show(system)
        return
    systems = [load_model(known) for known in model_names()]
    if json:
        print_json(
            [
                {"name": s.name, "title": s.title, "states": s.states, "inputs": list(s.inputs)}
                for s in systems
            ]
        )
        return
    rows = [(s.name, ", ".join(s.states), ", ".join(s.inputs), s.title) for s in systems]
    print_table("", ("name", "states", "inputs", "title"), rows)


def _show(system: OdeSystem) -> None:
    from fepysr_dyn.expressions import to_text

    print_text(f"{system.name}: {system.title}" if system.title else system.name)
    if system.description:
        print_text(system.description)
    print_text("\nEquations")
    for name, formula in system.rates.items():
        print_text(f"  d{name}/dt = {to_text(formula)}")
    if system.assignments:
        print_text("with")
        for name, formula in system.assignments.items():
            print_text(f"  {name} = {to_text(formula)}")
    print_text()
    for title, values in (("Initial values", system.initial), ("Parameters", system.parameters)):
        if values:
            _show_values(title, values, system.units)
    if system.inputs:
        rows = [(name, _described(stimulus.to_dict())) for name, stimulus in system.inputs.items()]
        print_table("Inputs", ("input", "stimulus"), rows)
    protocol = system.protocol
    unit = f" {system.units['time']}" if "time" in system.units else ""
    print_text(
        f"Protocol: {protocol.samples} samples over {number(protocol.duration)}{unit} in each of "
        f"{len(protocol.experiments)} experiment{'s' if len(protocol.experiments) > 1 else ''}"
    )
    for plan in protocol.experiments:
        changes = [f"{key}(0) = {number(value)}" for key, value in plan.initial.items()]
        changes += [f"{key}: {_described(stimulus.to_dict())}" for key, stimulus in plan.inputs.items()]
        if changes:
            print_text(f"  {plan.name}: {'; '.join(changes)}")
    if system.reference:
        print_text(f"Reference: {system.reference}")


def _show_values(title: str, values: Mapping[str, float], units: Mapping[str, str]) -> None:
    rows = [(name, value, units.get(name, "")) for name, value in values.items()]
    if any(unit for *_, unit in rows):
        print_table(title, ("name", "value", "unit"), rows)
    else:
        print_table(title, ("name", "value"), [row[:2] for row in rows])


def _described(table: dict[str, object]) -> str:
    """Return a stimulus in one line."""
    parts = []
    for key, value in table.items():
        if key == "kind":
            continue
        shown = value if not isinstance(value, list) else ", ".join(number(item) for item in value)
        parts.append(f"{key} {number(shown) if isinstance(shown, float) else shown}")
    return f"{table['kind']} ({'; '.join(parts)})"
