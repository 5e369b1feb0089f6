"""What an SBML model says by its own scoping rules: values at the start, rules, reactions, steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from fepysr_dyn.errors import ModelError
from fepysr_dyn.exchange.formulas import Tree, evaluate, expanded, names_in, number_of, renamed
from fepysr_dyn.exchange.sbml_writing import free_name

_REFUSED = {"delay": "delays", "rateOf": "rates of change within formulas (rateOf)"}


class SbmlModel:
    """A model as the confined reader gives it, with functions and local parameters put in."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self._values: dict[str, float] = {}
        self._pending: set[str] = set()
        self.compartments: dict[str, dict[str, Any]] = _by_id(data["compartments"], "compartment")
        self.species: dict[str, dict[str, Any]] = _by_id(data["species"], "species")
        self.parameters: dict[str, float | None] = {
            name: _optional(item["value"]) for name, item in _by_id(data["parameters"], "parameter").items()
        }
        self.reactions = _by_id(data["reactions"], "reaction")
        self._taken = {
            *self.compartments,
            *self.species,
            *self.parameters,
            *self.reactions,
            *(change["id"] for item in self.reactions.values() for change in item["changes"]),
        }
        self.assignments: dict[str, Tree] = {}
        self.rates: dict[str, Tree] = {}
        self._read_rules()
        self.initial = {
            name: self._formula(tree, f"initial assignment of '{name}'")
            for name, tree in data["initial_assignments"].items()
        }
        self.laws = {name: self._law(name, item) for name, item in self.reactions.items()}
        self.stoichiometry = {
            (name, index): self._stoichiometry(name, change)
            for name, item in self.reactions.items()
            for index, change in enumerate(item["changes"])
        }

    @cached_property
    def moving(self) -> frozenset[str]:
        """Species that reactions change, and everything with a rate rule."""
        changed = {
            change["species"]
            for item in self.reactions.values()
            for change in item["changes"]
            if change["species"] in self.species
        }
        return frozenset(
            {
                name
                for name in changed
                if not self.species[name]["fixed"] and name not in self.assignments and name not in self.rates
            }
            | set(self.rates)
        )

    @cached_property
    def steps(self) -> dict[str, dict[float, float]]:
        """Inputs that events of a given time set to a given level: for each the levels over time."""
        steps: dict[str, dict[float, float]] = {}
        for event in self.data["events"]:
            where = f"event '{event['id']}'"
            time = self._time_of(event, where)
            for name, tree in event["assignments"].items():
                fixed = name in self.parameters or (name in self.species and self.species[name]["fixed"])
                if not fixed or name in self.moving or name in self.assignments:
                    raise ModelError(
                        f"{where} changes '{name}', which is not supported: only inputs may step"
                    )
                level = self.constant(self._formula(tree, where))
                if not math.isfinite(level):
                    raise ModelError(f"{where} sets '{name}' to a value that varies, which is not supported")
                if time < 0 or (time == 0 and event["initial_value"]):
                    continue
                if time in steps.setdefault(name, {}):
                    raise ModelError(f"{where} sets '{name}' at a time at which another event sets it too")
                steps[name][time] = level
        return steps

    def constant(self, tree: Tree) -> float:
        """Return the value of a formula of constants, NaN for any other."""
        return evaluate(tree, self.constant_value)

    def constant_value(self, name: str) -> float:
        """Return the value of a constant, NaN for what varies or is not known."""
        if name == "time" or name in self.moving or name in self._set_by_events or name in self.reactions:
            return math.nan
        if name in self.assignments:
            return math.nan if self._varies(name, frozenset()) else self.value(name)
        return self.value(name)

    def value(self, name: str) -> float:
        """Return the value of anything at the start, NaN for what has none."""
        if name == "time":
            return 0.0
        if name not in self._values:
            if name in self._pending:
                raise ModelError(f"the value of '{name}' at the start depends on itself")
            self._pending.add(name)
            try:
                self._values[name] = self._value(name)
            except RecursionError:
                raise ModelError(f"the value of '{name}' depends on too long a chain of others") from None
            self._pending.discard(name)
        return self._values[name]

    def varies(self, compartment: str) -> bool:
        """Return whether the size of a compartment changes."""
        return compartment in self.rates or compartment in self.assignments or compartment in self.steps

    def new_name(self, wanted: str) -> str:
        """Return a name that nothing in the model has."""
        return free_name(wanted, self._taken)

    @cached_property
    def _set_by_events(self) -> frozenset[str]:
        return frozenset(name for event in self.data["events"] for name in event["assignments"])

    def _varies(self, name: str, seen: frozenset[str]) -> bool:
        if name == "time" or name in self.moving or name in self._set_by_events or name in self.reactions:
            return True
        if name in seen or name not in self.assignments:
            return False
        return any(self._varies(used, seen | {name}) for used in set(names_in(self.assignments[name])))

    def _value(self, name: str) -> float:
        for table in (self.assignments, self.initial, self.laws):
            if name in table:
                return evaluate(table[name], self.value)
        if name in self.parameters:
            value = self.parameters[name]
            return math.nan if value is None else value
        if name in self.compartments:
            size = _optional(self.compartments[name]["size"])
            # Level 2 files often leave the size out and mean 1, which is how simulators read them.
            return 1.0 if size is None else size
        if name in self.species:
            return self._species_value(self.species[name])
        for item in self.reactions.values():
            for change in item["changes"]:
                if change["id"] == name:
                    return number_of(change["stoichiometry"])
        raise ModelError(f"there is nothing called '{name}' in the model")

    def _species_value(self, item: Mapping[str, Any]) -> float:
        amount, concentration = _optional(item["amount"]), _optional(item["concentration"])
        size = self.size(item["compartment"])
        if item["substance_only"]:
            return (
                amount if amount is not None else math.nan if concentration is None else concentration * size
            )
        if concentration is not None:
            return concentration
        return math.nan if amount is None else amount / size if size else math.nan

    def size(self, compartment: str) -> float:
        """Return the size of a compartment at the start; one without dimensions counts as 1."""
        if self.has_no_size(compartment):
            return 1.0
        return self.value(compartment)

    def has_no_size(self, compartment: str) -> bool:
        """Return whether a compartment is a point, in which only amounts are known."""
        item = self.compartments.get(compartment)
        return item is None or item["dimensions"] == 0

    def _formula(self, tree: Tree, where: str) -> Tree:
        try:
            result = expanded(tree, self.data["functions"])
            _refuse(result)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None
        return result

    def _read_rules(self) -> None:
        for index, rule in enumerate(self.data["rules"], start=1):
            if rule["kind"] == "algebraic":
                raise ModelError(f"rule {index} is an algebraic rule, which is not supported")
            name = rule["variable"]
            where = f"{rule['kind']} rule of '{name}'"
            if name not in self._taken:
                raise ModelError(f"{where}: there is nothing called '{name}' in the model")
            if name in self.assignments or name in self.rates:
                raise ModelError(f"{where}: '{name}' has another rule already")
            table = self.assignments if rule["kind"] == "assignment" else self.rates
            table[name] = self._formula(rule["math"], where)

    def _law(self, name: str, item: Mapping[str, Any]) -> Tree:
        where = f"reaction '{name}'"
        if item["law"] is None or item["law"] == ["nothing"]:
            raise ModelError(f"{where} has no kinetic law")
        tree = self._formula(item["law"], where)
        used = set(names_in(tree))
        local = {}
        for own, value in item["local"].items():
            if own in used:
                local[own] = self.new_name(own if own not in self._taken else f"{name}_{own}")
                self.parameters[local[own]] = _optional(value)
        return renamed(tree, local)

    def _stoichiometry(self, reaction: str, change: Mapping[str, Any]) -> Tree:
        """Return how many of a species one turn of a reaction makes, without the sign."""
        if change["math"] is not None:
            return self._formula(change["math"], f"reaction '{reaction}'")
        own = change["id"]
        if own is not None and (own in self.assignments or own in self.rates):
            return ["name", own]
        if own is not None and own in self.initial:
            return ["number", evaluate(self.initial[own], self.value)]
        if change["stoichiometry"] is None:
            raise ModelError(
                f"reaction '{reaction}': the stoichiometry of '{change['species']}' is not given"
            )
        value = number_of(change["stoichiometry"])
        return ["number", int(value) if value.is_integer() and abs(value) < 1e9 else value]

    def _time_of(self, event: Mapping[str, Any], where: str) -> float:
        if event["delayed"]:
            raise ModelError(f"{where} has a delay, which is not supported")
        match self._formula(event["trigger"], where):
            case [("geq" | "gt"), ["time"], bound] | [("leq" | "lt"), bound, ["time"]]:
                time = self.constant(bound)
                if math.isfinite(time):
                    return time
        raise ModelError(
            f"{where} is not supported: only steps of an input at a fixed time are (trigger: time >= number)"
        )


def _by_id(items: list[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for item in items:
        if item["id"] in table:
            raise ModelError(f"two elements have the id '{item['id']}' (the second is a {kind})")
        table[item["id"]] = item
    return table


def _optional(value: object) -> float | None:
    return None if value is None else number_of(value)


def _refuse(tree: Tree) -> None:
    if tree[0] in _REFUSED:
        raise ModelError(f"{_REFUSED[tree[0]]} are not supported")
    for part in tree[1:]:
        if isinstance(part, list):
            _refuse(part)
