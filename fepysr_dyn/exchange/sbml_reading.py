"""SBML and Antimony to OdeSystem: rate rules as they are, reactions as the rates they add up to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import sympy

from fepysr_dyn.errors import ExpressionError, FepysrDynError, ModelError
from fepysr_dyn.exchange.formulas import Tree, names_in, renamed
from fepysr_dyn.exchange.recognition import stimulus_of
from fepysr_dyn.exchange.sbml_model import SbmlModel
from fepysr_dyn.exchange.sbml_writing import free_name, identifier
from fepysr_dyn.exchange.spelling import spelled
from fepysr_dyn.exchange.strangers import read_confined
from fepysr_dyn.expressions import is_name, parse
from fepysr_dyn.plain_files import read_bounded
from fepysr_dyn.stimulus import Constant, Steps, Stimulus
from fepysr_dyn.system import COLUMN_NAMES, MAX_SAMPLES, OdeSystem, Protocol

MAX_FILE_BYTES = 20_000_000
#: Endings of files that are read here, with the language they are in.
LANGUAGES = {".xml": "sbml", ".sbml": "sbml", ".ant": "antimony", ".antimony": "antimony"}


def read_foreign(path: str | Path) -> OdeSystem:
    """Read a system from an SBML or Antimony file; errors name the file and the element."""
    path = Path(path)
    content = read_bounded(path, MAX_FILE_BYTES, "a model file")
    read = from_antimony if LANGUAGES.get(path.suffix.lower()) == "antimony" else from_sbml
    try:
        return read(content, default_name=path.stem)
    except FepysrDynError as error:
        raise type(error)(f"{path}: {error}") from None


def from_sbml(content: str | bytes, *, default_name: str = "system") -> OdeSystem:
    """Read a system from the text of an SBML file of any level.

    Raises
    ------
    ModelError
        For what cannot be an OdeSystem: events other than steps of an input at a fixed time, algebraic rules,
        delays; the message names the element.
    """
    return _read("sbml", content, default_name)


def from_antimony(content: str | bytes, *, default_name: str = "system") -> OdeSystem:
    """Read a system from an Antimony text, which may not import other files."""
    return _read("antimony", content, default_name)


def _read(language: str, content: str | bytes, default_name: str) -> OdeSystem:
    if isinstance(content, str):
        content = content.encode("utf-8")
    data = read_confined(language, content)
    return _Assembly(SbmlModel(data), default_name).system()


class _Assembly:
    """Puts the parts of an SBML model into the places they have in an OdeSystem."""

    def __init__(self, model: SbmlModel, default_name: str) -> None:
        self._model = model
        self._default_name = default_name
        self._rates: dict[str, Tree] = dict(model.rates)
        self._assignments: dict[str, Tree] = {**model.assignments, **model.laws}
        self._initial: dict[str, float] = {}
        self._inputs: dict[str, Stimulus] = {}

    def system(self) -> OdeSystem:
        model = self._model
        self._take_inputs()
        for name in model.moving:
            if name not in model.rates:
                self._add_species(name)
        for name in model.rates:
            self._initial[name] = model.value(name)
        self._drop_unused_reactions()
        self._add_clock()
        parameters = self._parameters()
        for name, value in self._initial.items():
            if not math.isfinite(value):
                raise ModelError(f"'{name}' has no finite value at the start")
        order = [name for name in (*model.species, *self._rates) if name in self._rates]
        ours = self._names([*order, *self._inputs, *parameters, *self._assignments])
        symbols = list(ours.values())
        about = model.data["annotation"]
        known = {*ours, "time"}
        return OdeSystem(
            name=model.data["id"] or self._default_name,
            title=model.data["name"],
            description=" ".join(model.data["notes"]),
            rates={ours[n]: _parsed(self._rates[n], n, ours, symbols) for n in dict.fromkeys(order)},
            initial={ours[n]: self._initial[n] for n in dict.fromkeys(order)},
            inputs={ours[n]: stimulus for n, stimulus in self._inputs.items()},
            parameters={ours[n]: value for n, value in parameters.items()},
            assignments={ours[n]: _parsed(tree, n, ours, symbols) for n, tree in self._assignments.items()},
            units={ours.get(n, n): unit for n, unit in about["units"].items() if n in known},
            protocol=_protocol(about),
        )

    def _take_inputs(self) -> None:
        model = self._model
        for name, levels in model.steps.items():
            times = sorted(levels)
            start = model.value(name)
            if 0.0 in levels:
                start = levels[0.0]
                times.remove(0.0)
            self._inputs[name] = Steps((0.0, *times), (start, *(levels[t] for t in times)))
        for name in model.data["annotation"]["inputs"]:
            if name in model.parameters and name not in {*self._inputs, *model.assignments, *model.rates}:
                self._inputs[name] = Constant(model.value(name))
        for name, tree in model.assignments.items():
            if "time" in set(names_in(tree)):
                stimulus = stimulus_of(tree, model.constant_value)
                if stimulus is not None:
                    self._inputs[name] = stimulus
                    del self._assignments[name]

    def _add_species(self, name: str) -> None:
        """Add up what the reactions do to a species."""
        model = self._model
        item = model.species[name]
        terms: list[Tree] = []
        for reaction, entry in model.reactions.items():
            for index, change in enumerate(entry["changes"]):
                if change["species"] == name:
                    count = model.stoichiometry[reaction, index]
                    terms.append(_times(change["sign"], count, ["name", reaction]))
        total: Tree = ["plus", *terms]
        factor = item["conversion_factor"] or model.data["conversion_factor"]
        if factor is not None:
            total = ["times", ["name", factor], total]
        compartment = item["compartment"]
        value = model.value(name)
        if item["substance_only"] or model.has_no_size(compartment):
            self._rates[name], self._initial[name] = total, value
        elif not model.varies(compartment):
            self._rates[name], self._initial[name] = ["divide", total, ["name", compartment]], value
        else:
            # Where the volume changes, the amount is what reactions change; the concentration follows.
            amount = model.new_name(f"{name}_amount")
            self._rates[amount], self._initial[amount] = total, value * model.size(compartment)
            self._assignments[name] = ["divide", ["name", amount], ["name", compartment]]

    def _drop_unused_reactions(self) -> None:
        """Leave out the rates of reactions that change nothing and are used nowhere."""
        used = set(self._used())
        for name in self._model.laws:
            if name not in used:
                del self._assignments[name]

    def _add_clock(self) -> None:
        """Where formulas use the time, it becomes a state that grows with slope 1."""
        if "time" not in set(self._used()):
            return
        clock = self._model.new_name("t")
        for table in (self._rates, self._assignments):
            for name, tree in table.items():
                table[name] = _with_clock(tree, clock)
        self._rates[clock], self._initial[clock] = ["number", 1], 0.0

    def _used(self) -> Iterable[str]:
        for table in (self._rates, self._assignments):
            for tree in table.values():
                yield from names_in(tree)

    def _parameters(self) -> dict[str, float]:
        model, used = self._model, set(self._used())
        elsewhere = {*self._rates, *self._assignments, *self._inputs}
        values = {}
        for name in dict.fromkeys([*model.parameters, *model.compartments, *model.species, *sorted(used)]):
            if name in elsewhere or (name not in used and name not in model.parameters):
                continue
            value = model.value(name)
            if math.isfinite(value):
                values[name] = value
            elif name in used:
                raise ModelError(f"'{name}' has no finite value")
        return values

    def _names(self, wanted: list[str]) -> dict[str, str]:
        """Return names that formulas can have: most stay, some get _ behind them."""
        names: dict[str, str] = {}
        free = {name for name in wanted if _usable(name)}
        taken = set(free)
        for name in dict.fromkeys(wanted):
            if name in free:
                names[name] = name
                continue
            new = identifier(name)[:80]
            while not _usable(new):
                new += "_"
            names[name] = free_name(new, taken)
        return names


def _usable(name: str) -> bool:
    return is_name(name) and name not in COLUMN_NAMES


def _times(sign: int, count: Tree, rate: Tree) -> Tree:
    term = rate if count == ["number", 1] else ["times", count, rate]
    return term if sign > 0 else ["minus", term]


def _with_clock(tree: Tree, clock: str) -> Tree:
    if tree[0] == "time":
        return ["name", clock]
    return [_with_clock(part, clock) if isinstance(part, list) else part for part in tree]


def _parsed(tree: Tree, name: str, ours: Mapping[str, str], symbols: list[str]) -> sympy.Expr:
    try:
        return parse(spelled(renamed(tree, ours)), symbols)
    except (ExpressionError, ModelError) as error:
        raise ModelError(f"formula of '{name}': {error}") from None


def _protocol(about: Mapping[str, Any]) -> Protocol:
    """Return the protocol of our own annotation, where there is one that makes sense."""
    duration, samples = str(about.get("duration", "")), str(about.get("samples", ""))
    if not re.fullmatch(r"[0-9.e+-]{1,30}", duration) or not re.fullmatch(r"[0-9]{1,8}", samples):
        return Protocol()
    try:
        return Protocol(float(duration), min(int(samples), MAX_SAMPLES))
    except (ModelError, ValueError):
        return Protocol()
