"""A run as a TOML file: settings, what is known about each equation, and how the data are read.

::

    engine = "portfolio"
    seed = 3
    time_limit = 120

    [data]
    inputs = ["S"]

    [equations.X1]
    columns = ["X1", "X2", "S"]
    known = "-0.1*X1"
    decreases_with = ["X2"]
    bounds = { "S" = [0, 10] }
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from fepysr_dyn.discovery.config import DiscoveryConfig, EquationPrior
from fepysr_dyn.errors import FepysrDynError, OptionError, did_you_mean
from fepysr_dyn.plain_files import read_bounded

FILE = "config.toml"
_LARGEST = 1_000_000


@dataclass(frozen=True)
class DataSettings:
    """How data files are read, or a model is simulated."""

    inputs: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    time: str = "time"
    experiment: str = "experiment"
    breakpoints: str = "auto"
    delimiter: str = ","
    decimal: str = "."
    noise: float = 0.0


@dataclass(frozen=True)
class RunSettings:
    """All that decides a run, beside the data themselves."""

    config: DiscoveryConfig = field(default_factory=DiscoveryConfig)
    seed: int = 0
    time_limit: float | None = None
    data: DataSettings = field(default_factory=DataSettings)


_RUN_KEYS = ("seed", "time_limit", "data", "equations")
_CONFIG_KEYS = tuple(part.name for part in fields(DiscoveryConfig) if part.name != "priors")


def read_run(path: str | Path) -> RunSettings:
    """Read a run from a TOML file; errors name the file and the key."""
    path = Path(path)
    content = read_bounded(path, _LARGEST, "a configuration")
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise OptionError(f"{path}: expected UTF-8 text, found another encoding") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise OptionError(f"{path}: not valid TOML: {error}") from None
    try:
        return _run(document)
    except FepysrDynError as error:
        raise OptionError(f"{path}: {error}") from None


def write_run(settings: RunSettings, path: str | Path) -> None:
    """Write a run as a TOML file that `read_run` reads back."""
    import tomli_w

    from fepysr_dyn.discovery.checkpoint import write_atomically

    write_atomically(Path(path), tomli_w.dumps(_document(settings)))


def _document(settings: RunSettings) -> dict[str, Any]:
    config = settings.config
    document: dict[str, Any] = {"seed": settings.seed}
    if settings.time_limit is not None:
        document["time_limit"] = settings.time_limit
    for name in _CONFIG_KEYS:
        document[name] = _plain(getattr(config, name))
    document["data"] = {name: _plain(value) for name, value in vars(settings.data).items()}
    equations = {
        state: {name: _plain(value) for name, value in vars(prior).items() if value not in (None, "", (), {})}
        for state, prior in config.priors.items()
    }
    return {**document, "equations": equations} if equations else document


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _run(document: Mapping[str, Any]) -> RunSettings:
    _only(document, (*_RUN_KEYS, *_CONFIG_KEYS), "")
    equations = _table(document.get("equations", {}), "equations")
    priors = {
        state: _filled(EquationPrior, _table(entry, f"equations.{state}"), f"equations.{state}.")
        for state, entry in equations.items()
    }
    settings = {name: document[name] for name in _CONFIG_KEYS if name in document}
    config = _filled(DiscoveryConfig, {**settings, "priors": priors}, "")
    data = _filled(DataSettings, _table(document.get("data", {}), "data"), "data.")
    rest = {name: document[name] for name in ("seed", "time_limit") if name in document}
    settings_of_run: RunSettings = _filled(RunSettings, {**rest, "config": config, "data": data}, "")
    return settings_of_run


def _filled(kind: Any, table: Mapping[str, Any], place: str) -> Any:
    """Return a dataclass made from a table, every value checked against its declared type."""
    from pydantic import TypeAdapter, ValidationError

    _only(table, tuple(part.name for part in fields(kind)), place)
    try:
        return TypeAdapter(kind).validate_python(dict(table))
    except ValidationError as error:
        first = error.errors()[0]
        key = place + ".".join(str(part) for part in first["loc"])
        missing = first["type"] == "missing"
        reason = "one more value" if missing else first["msg"].removeprefix("Input should be ")
        reason = reason.replace("tuple", "list")
        raise OptionError(f"key '{key}': expected {reason}, found {first['input']!r:.60}") from None


def _only(table: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for name in table:
        if name not in known:
            hint = did_you_mean(name, known) or f"; known are {', '.join(known)}"
            raise OptionError(f"unknown key '{place}{name}'{hint}")


def _table(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OptionError(f"key '{place}': expected a table, found {value!r:.60}")
    return value


def same_but(settings: RunSettings, **given: Any) -> RunSettings:
    """Return a run with some settings replaced, wherever they belong."""
    data = {name: value for name, value in given.items() if name in {f.name for f in fields(DataSettings)}}
    config = {name: value for name, value in given.items() if name in _CONFIG_KEYS}
    rest = {name: value for name, value in given.items() if name in ("seed", "time_limit")}
    return replace(
        settings,
        config=replace(settings.config, **config),
        data=replace(settings.data, **data),
        **rest,
    )
