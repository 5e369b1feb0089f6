"""A fitted FePySR as JSON and back; nothing is pickled and nothing evaluated."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fepysr_dyn.errors import DataError, FepysrDynError
from fepysr_dyn.expressions import parse, to_text
from fepysr_dyn.search.front import Candidate, ParetoFront
from fepysr_dyn.search.selection import Choice

if TYPE_CHECKING:
    from fepysr_dyn.regressor import FePySR

SCHEMA = 1
_PLAIN = ("max_complexity", "evaluations", "time_limit", "noise", "seed", "workers")


def fit_document(model: FePySR) -> dict[str, Any]:
    """Return everything about a fit that JSON can hold."""
    choice = model.choice_
    engine = model.engine if isinstance(model.engine, str) else model.engine.name
    return {
        "schema": SCHEMA,
        "kind": "fepysr-fit",
        "expression": to_text(model.expression_),
        "complexity": choice.candidate.complexity,
        "loss": choice.candidate.loss,
        "exact": choice.exact,
        "noise": choice.noise,
        "reason": choice.reason,
        "candidate": _candidate(choice.candidate),
        "unsnapped": _candidate(choice.unsnapped),
        "alternatives": [_candidate(candidate) for candidate in choice.alternatives],
        "front": [_candidate(candidate) for candidate in model.front_],
        "complete": model.front_.complete,
        "message": model.front_.message,
        "features": [to_text(feature) for feature in model.features_],
        "variables": list(model.variables_),
        "named": hasattr(model, "feature_names_in_"),
        "interrupted": model.interrupted_,
        "seconds": model.seconds_,
        "config": {
            "engine": engine,
            "operators": list(model.operators),
            **{name: getattr(model, name) for name in _PLAIN},
        },
        "versions": _versions(),
    }


def save_fit(model: FePySR, path: Path) -> None:
    """Write a fit; the folder must exist."""
    try:
        path.write_text(json.dumps(fit_document(model), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write '{path}': {error.strerror}") from None


def load_fit(kind: type[FePySR], path: Path) -> FePySR:
    """Read what `save_fit` wrote."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DataError(f"'{path}' is not a saved fit: it holds no JSON") from None
    if not isinstance(document, dict) or document.get("kind") != "fepysr-fit":
        raise DataError(f"'{path}' is not a saved fit: expected kind 'fepysr-fit'")
    if document.get("schema") != SCHEMA:
        found = document.get("schema")
        raise DataError(f"'{path}' has schema {found}, this version reads schema {SCHEMA}")
    try:
        return _restored(kind, document)
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, FepysrDynError) as error:
        raise DataError(f"'{path}' is damaged: {' '.join(str(error).split())}") from None


def _restored(kind: type[FePySR], document: dict[str, Any]) -> FePySR:
    config = document["config"]
    names = tuple(str(name) for name in document["variables"])
    model = kind(
        engine=config["engine"],
        operators=tuple(config["operators"]),
        **{name: config[name] for name in _PLAIN},
    )
    candidate = _read(document["candidate"], names)
    model.variables_ = names
    model.n_features_in_ = len(names)
    if document["named"]:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.features_ = tuple(parse(text, names) for text in document["features"])
    model.feature_library_ = None
    fronted = tuple(_read(entry, names) for entry in document["front"])
    model.front_ = ParetoFront(fronted, document["complete"], document["message"])
    model.choice_ = Choice(
        candidate,
        _read(document["unsnapped"], names),
        tuple(_read(entry, names) for entry in document["alternatives"]),
        bool(document["exact"]),
        float(document["noise"]),
        str(document["reason"]),
    )
    model.expression_ = candidate.expression
    model.interrupted_ = bool(document["interrupted"])
    model.seconds_ = float(document["seconds"])
    return model


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "expression": to_text(candidate.expression),
        "complexity": candidate.complexity,
        "loss": candidate.loss,
        "engine": candidate.engine,
    }


def _read(entry: dict[str, Any], names: tuple[str, ...]) -> Candidate:
    expression = parse(entry["expression"], names)
    return Candidate(expression, int(entry["complexity"]), float(entry["loss"]), str(entry["engine"]))


def _versions() -> dict[str, str]:
    found = {}
    for name in ("fepysr-dyn", "numpy", "scipy", "sympy", "scikit-learn", "numba", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
