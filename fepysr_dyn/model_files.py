"""OdeSystem to and from TOML, and where the reference systems are found."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sympy

from fepysr_dyn.errors import ExpressionError, FepysrDynError, ModelError, did_you_mean
from fepysr_dyn.expressions import parse, to_text
from fepysr_dyn.plain_files import read_bounded
from fepysr_dyn.stimulus import Stimulus, stimulus_from
from fepysr_dyn.system import ExperimentPlan, OdeSystem, Protocol

MAX_FILE_BYTES = 5_000_000
MAX_KEY_PARTS = 200
MAX_TABLES = 20_000
#: Endings of model files that other programs wrote; TOML files may have any other.
FOREIGN_SUFFIXES = (".xml", ".sbml", ".ant", ".antimony")
MODEL_SUFFIXES = (".toml", *FOREIGN_SUFFIXES)
_TOP_KEYS = (
    *("name", "title", "description", "reference", "time_unit"),
    *("states", "inputs", "parameters", "assignments", "protocol"),
)


def models_directory() -> Path:
    """Return the folder of the reference systems, in a checkout or in an installed package."""
    package = Path(__file__).resolve().parent
    installed = package / "models"
    return installed if installed.is_dir() else package.parent / "models"


def model_names() -> list[str]:
    """Return the names of the reference systems."""
    return sorted(path.stem for path in models_directory().glob("*.toml"))


def load_model(source: str | Path) -> OdeSystem:
    """Load a system by built-in name, or from a TOML, SBML (.xml, .sbml) or Antimony (.ant) file.

    Examples
    --------
    >>> load_model("tyson_two_protein").states
    ('X1', 'X2')
    """
    path = Path(source)
    if path.suffix == "" and path.parent == Path():
        builtin = models_directory() / f"{path.name}.toml"
        if builtin.is_file():
            return read_system(builtin)
        if not path.is_file():
            hint = did_you_mean(path.name, model_names())
            raise ModelError(f"there is no model '{source}'{hint or '; `fepysr-dyn models` lists them'}")
    if path.suffix.lower() in FOREIGN_SUFFIXES:
        from fepysr_dyn.exchange.sbml_reading import read_foreign

        return read_foreign(path)
    return read_system(path)


def read_system(path: str | Path) -> OdeSystem:
    """Read a system from a TOML file; errors name the file and the key."""
    path = Path(path)
    content = read_bounded(path, MAX_FILE_BYTES, "a model file")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelError(
            f"{path}: expected UTF-8 text, found another encoding at byte {error.start}"
        ) from None
    try:
        return system_from_toml(text, default_name=path.stem)
    except FepysrDynError as error:
        raise ModelError(f"{path}: {error}") from None


def system_from_toml(text: str, *, default_name: str = "system") -> OdeSystem:
    """Read a system from the text of a TOML file."""
    _check_size(text)
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        # Also of numbers with thousands of digits.
        raise ModelError(f"not valid TOML: {error}") from None
    except RecursionError:
        raise ModelError("not valid TOML: nested too deeply") from None
    return _Reader(document, default_name).system()


def write_system(system: OdeSystem, path: str | Path) -> None:
    """Write a system as a TOML file that `read_system` reads back."""
    Path(path).write_text(system_to_toml(system), encoding="utf-8")


def system_to_toml(system: OdeSystem) -> str:
    """Return the text of a TOML file for a system."""
    import tomli_w

    def described(name: str, table: dict[str, Any]) -> dict[str, Any]:
        return {**table, "unit": system.units[name]} if name in system.units else table

    document: dict[str, Any] = {"name": system.name}
    for key in ("title", "description", "reference"):
        if text := getattr(system, key):
            document[key] = text
    if "time" in system.units:
        document["time_unit"] = system.units["time"]
    document["states"] = {
        name: described(name, {"initial": system.initial[name], "rate": to_text(rate)})
        for name, rate in system.rates.items()
    }
    document["inputs"] = {
        name: described(name, {"stimulus": stimulus.to_dict()}) for name, stimulus in system.inputs.items()
    }
    document["parameters"] = {
        name: described(name, {"value": value}) if name in system.units else value
        for name, value in system.parameters.items()
    }
    document["assignments"] = {name: to_text(value) for name, value in system.assignments.items()}
    document["protocol"] = {
        "duration": system.protocol.duration,
        "samples": system.protocol.samples,
        "experiments": [
            {
                "name": plan.name,
                "initial": dict(plan.initial),
                "inputs": {name: stimulus.to_dict() for name, stimulus in plan.inputs.items()},
            }
            for plan in system.protocol.experiments
        ],
    }
    filled = {key: value for key, value in document.items() if value not in ({}, [])}
    return str(tomli_w.dumps(filled))


def _check_size(text: str) -> None:
    """Refuse keys of so many parts, or so many tables, that reading them would take gigabytes."""
    tables = text.count("[") + text.count("{")
    for line in text.splitlines():
        for piece in re.split(r"[=,\[{]", line):
            parts = piece.count(".")
            if parts > MAX_KEY_PARTS:
                raise ModelError(f"expected keys of at most {MAX_KEY_PARTS} parts, found {parts + 1}")
            # A number has one point, a key of one table in another as many as it has tables.
            tables += parts if parts > 1 else 0
    if tables > MAX_TABLES:
        raise ModelError(f"expected at most {MAX_TABLES} tables and lists, found {tables}")


class _Reader:
    """Walks over a parsed document; every complaint starts with the key."""

    def __init__(self, document: Mapping[str, Any], default_name: str) -> None:
        self._document = document
        self._default_name = default_name
        self._units: dict[str, str] = {}

    def system(self) -> OdeSystem:
        document = self._document
        _only(document, _TOP_KEYS, "")
        states = self._tables("states", required=True)
        for name, table in states.items():
            _only(table, ("initial", "rate", "unit"), f"states.{name}")
        inputs = self._tables("inputs")
        parameters = self._parameters()
        assignments = self._mapping("assignments")
        symbols = [*states, *inputs, *parameters, *assignments]
        if "time_unit" in document:
            self._units["time"] = _text(document["time_unit"], "time_unit")
        return OdeSystem(
            name=_text(document.get("name", self._default_name), "name"),
            title=_text(document.get("title", ""), "title"),
            description=_text(document.get("description", ""), "description"),
            reference=_text(document.get("reference", ""), "reference"),
            rates={n: self._formula(t.get("rate"), f"states.{n}.rate", symbols) for n, t in states.items()},
            initial={n: _number(t.get("initial"), f"states.{n}.initial") for n, t in states.items()},
            inputs={n: self._input(n, t) for n, t in inputs.items()},
            parameters=parameters,
            assignments={
                n: self._formula(text, f"assignments.{n}", symbols) for n, text in assignments.items()
            },
            units=self._units,
            protocol=self._protocol(),
        )

    def _mapping(self, key: str, *, required: bool = False) -> dict[str, Any]:
        value = self._document.get(key, None if required else {})
        if not isinstance(value, dict):
            raise ModelError(f"{key}: expected a table, found {_shown(value)}")
        return value

    def _tables(self, key: str, *, required: bool = False) -> dict[str, dict[str, Any]]:
        tables = self._mapping(key, required=required)
        for name, table in tables.items():
            if not isinstance(table, dict):
                raise ModelError(f"{key}.{name}: expected a table, found {_shown(table)}")
            if "unit" in table:
                self._units[name] = _text(table["unit"], f"{key}.{name}.unit")
        return tables

    def _input(self, name: str, table: dict[str, Any]) -> Stimulus:
        _only(table, ("stimulus", "unit"), f"inputs.{name}")
        return _stimulus(table.get("stimulus"), f"inputs.{name}.stimulus")

    def _parameters(self) -> dict[str, float]:
        values = {}
        for name, entry in self._mapping("parameters").items():
            key = f"parameters.{name}"
            if isinstance(entry, dict):
                _only(entry, ("value", "unit"), key)
                if "unit" in entry:
                    self._units[name] = _text(entry["unit"], f"{key}.unit")
                values[name] = _number(entry.get("value"), f"{key}.value")
            else:
                values[name] = _number(entry, key)
        return values

    def _formula(self, text: object, key: str, symbols: list[str]) -> sympy.Expr:
        if isinstance(text, int | float) and not isinstance(text, bool):
            text = repr(text)
        if not isinstance(text, str):
            raise ModelError(f"{key}: expected a formula, found {_shown(text)}")
        try:
            return parse(text, symbols)
        except ExpressionError as error:
            raise ModelError(f"{key}: {error}") from None

    def _protocol(self) -> Protocol:
        table = self._mapping("protocol")
        _only(table, ("duration", "samples", "experiments"), "protocol")
        values: dict[str, Any] = {}
        if "duration" in table:
            values["duration"] = _number(table["duration"], "protocol.duration")
        if "samples" in table:
            samples = table["samples"]
            if not isinstance(samples, int) or isinstance(samples, bool):
                raise ModelError(f"protocol.samples: expected a whole number, found {_shown(samples)}")
            values["samples"] = samples
        if "experiments" in table:
            values["experiments"] = self._plans(table["experiments"])
        try:
            return Protocol(**values)
        except ModelError as error:
            raise ModelError(f"protocol: {error}") from None

    def _plans(self, entries: object) -> tuple[ExperimentPlan, ...]:
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ModelError(f"protocol.experiments: expected a list of tables, found {_shown(entries)}")
        plans = []
        for index, entry in enumerate(entries, start=1):
            key = f"protocol.experiments.{index}"
            _only(entry, ("name", "initial", "inputs"), key)
            initial, inputs = entry.get("initial", {}), entry.get("inputs", {})
            for part, table in (("initial", initial), ("inputs", inputs)):
                if not isinstance(table, dict):
                    raise ModelError(f"{key}.{part}: expected a table, found {_shown(table)}")
            plans.append(
                ExperimentPlan(
                    _text(entry.get("name", f"experiment {index}"), f"{key}.name"),
                    {name: _number(value, f"{key}.initial.{name}") for name, value in initial.items()},
                    {name: _stimulus(value, f"{key}.inputs.{name}") for name, value in inputs.items()},
                )
            )
        return tuple(plans)


def _only(table: Mapping[str, Any], allowed: tuple[str, ...], key: str) -> None:
    for name in table:
        if name not in allowed:
            where = f"{key}.{name}" if key else name
            expected = did_you_mean(name, allowed) or f"; expected one of {', '.join(allowed)}"
            raise ModelError(f"{where}: unknown key{expected}")


def _stimulus(value: object, key: str) -> Stimulus:
    if value is None:
        raise ModelError(f"{key}: expected a number or a stimulus table, found nothing")
    try:
        return stimulus_from(value)
    except ModelError as error:
        raise ModelError(f"{key}: {error}") from None


def _number(value: object, key: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ModelError(f"{key}: expected a number, found {_shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise ModelError(f"{key}: expected a number within the range of float64") from None


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise ModelError(f"{key}: expected text, found {_shown(value)}")
    return value


def _shown(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
