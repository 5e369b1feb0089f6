"""A discovery as a folder: JSON, TOML, CSV and NetCDF; nothing is pickled and nothing is evaluated."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy

from fepysr_dyn.conservation import Conserved
from fepysr_dyn.discovery.attempts import advice, reasons
from fepysr_dyn.discovery.codec import read_dataset
from fepysr_dyn.discovery.result import Discovery
from fepysr_dyn.errors import DataError, DataWarning, ExpressionError
from fepysr_dyn.expressions import parse, to_text
from fepysr_dyn.integration import Outcome
from fepysr_dyn.model_files import read_system, write_system
from fepysr_dyn.plain_files import inside, read_bounded
from fepysr_dyn.refinement import FittedConstant
from fepysr_dyn.search.front import Candidate, ParetoFront
from fepysr_dyn.trajectories import Trajectories, read_trajectories
from fepysr_dyn.validation import RunScore, StructureScore, Validation

if TYPE_CHECKING:
    import xarray as xr

SCHEMA_VERSION = 1
MAX_RESULT_BYTES = 100_000_000
_RESULT, _SYSTEM, _SIMULATED = "result.json", "system.toml", "simulated.nc"
_DATA, _TRUTH = "data.nc", "truth.toml"


def to_document(found: Discovery) -> dict[str, Any]:
    """Return the JSON document of a discovery."""
    states = {
        state: {
            "expression": text,
            "complexity": _complexity(found, state),
            "confidence": found.confidence[state],
            "form": found.forms.get(state, "pointwise"),
            "front": [candidate_document(candidate) for candidate in found.fronts[state]],
            "alternatives": [candidate_document(candidate) for candidate in found.alternatives[state]],
            "features": [to_text(feature) for feature in found.features.get(state, ())],
        }
        for state, text in found.equations().items()
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "states": states,
        "constants": [vars(constant) for constant in found.constants],
        "validation": found.validation.to_dict(),
        "reasons": list(reasons(found)),
        "advice": list(advice(found)),
        "warnings": list(found.warnings),
        "seconds": found.seconds,
        "complete": found.complete,
        "provenance": dict(found.provenance),
    }


def save_result(found: Discovery, folder: str | Path) -> None:
    """Write a discovery into a folder, which is made if it does not exist."""
    folder = prepared_folder(folder)
    text = json.dumps(_finite(to_document(found)), indent=2, allow_nan=False)
    inside(folder, _RESULT).write_text(text + "\n", encoding="utf-8")
    write_system(found.system, inside(folder, _SYSTEM))
    for state, front in found.fronts.items():
        front.to_pandas().to_csv(inside(folder, f"front_{state}.csv"), index=False)
    Trajectories(tuple(run.simulated for run in found.validation.runs)).to_netcdf(inside(folder, _SIMULATED))
    for name in (_DATA, _TRUTH):
        # What is left of an earlier result must not be taken for this one's.
        (folder / name).unlink(missing_ok=True)
    if found.data is not None:
        found.data.to_netcdf(folder / _DATA)
    if found.truth is not None:
        write_system(found.truth, folder / _TRUTH)


def prepared_folder(folder: str | Path) -> Path:
    """Make a folder that can be written to, before work is spent on what goes into it."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = inside(folder, ".writable")
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror}") from None
    return folder


def load_result(folder: str | Path) -> Discovery:
    """Read a discovery that was saved."""
    folder = Path(folder)
    path = inside(folder, _RESULT)
    if not path.exists():
        raise DataError(f"{folder}: expected the folder of a discovery, which holds a {_RESULT}, found none")
    try:
        document = json.loads(read_bounded(path, MAX_RESULT_BYTES, "a result").decode("utf-8"))
        version = document["schema_version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError(f"{path}: expected the JSON document of a discovery") from None
    if version != SCHEMA_VERSION:
        raise DataError(f"{path}: expected schema version {SCHEMA_VERSION}, found {version!r}")
    system = read_system(inside(folder, _SYSTEM))
    simulated = _runs(inside(folder, _SIMULATED))
    try:
        found = _from_document(document, system_of=system, simulated=simulated)
    except ExpressionError as error:
        raise DataError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise DataError(f"{path}: a field is missing or has another form: {error}") from None
    return replace(
        found,
        data=_runs(inside(folder, _DATA)) if (folder / _DATA).is_file() else None,
        truth=read_system(inside(folder, _TRUTH)) if (folder / _TRUTH).is_file() else None,
    )


def _runs(path: Path) -> Trajectories:
    """Read experiments of a result; what there is to say about the data is in its warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return read_trajectories(path)


def _from_document(document: dict[str, Any], *, system_of: Any, simulated: Trajectories) -> Discovery:
    states = document["states"]
    if set(states) != set(system_of.states):
        # Names of states become names of files when a result is saved.
        raise ValueError(f"states are {', '.join(system_of.states)} in {_SYSTEM} and others here")
    symbols = (*system_of.states, *system_of.inputs)
    return Discovery(
        system=system_of,
        fronts={s: ParetoFront(_candidates(t["front"], symbols)) for s, t in states.items()},
        alternatives={s: _candidates(t["alternatives"], symbols) for s, t in states.items()},
        confidence={s: float(t["confidence"]) for s, t in states.items()},
        constants=tuple(
            FittedConstant(str(c["state"]), float(c["value"]), _number(c["standard_error"]))
            for c in document["constants"]
        ),
        validation=_validation(document["validation"], list(simulated)),
        features={s: tuple(parse(text, symbols) for text in t["features"]) for s, t in states.items()},
        forms={s: str(t["form"]) for s, t in states.items()},
        warnings=tuple(document["warnings"]),
        provenance=document["provenance"],
        seconds=float(document["seconds"]),
        complete=bool(document["complete"]),
    )


def read_validation(document: dict[str, Any]) -> Validation:
    """Return the validation of a document that holds the simulated runs as well."""
    return _validation(document, [read_dataset(run) for run in document["simulated"]])


def _validation(document: dict[str, Any], simulated: list[xr.Dataset]) -> Validation:
    return Validation(
        tuple(_run_score(entry, run) for entry, run in zip(document["runs"], simulated, strict=True)),
        {state: StructureScore(**scores) for state, scores in document["structure"].items()},
        tuple(document["notes"]),
        tuple(
            Conserved(dict(entry["coefficients"]), float(entry["variation"]), _number(entry["drift"]))
            for entry in document.get("conserved", ())
        ),
    )


def _run_score(entry: dict[str, Any], simulated: xr.Dataset) -> RunScore:
    # JSON has no infinities: null stands for the score of a run that ended early.
    return RunScore(
        experiment=str(entry["experiment"]),
        outcome=Outcome(entry["outcome"]),
        message=str(entry["message"]),
        r2={state: _number(value, -math.inf) for state, value in entry["r2"].items()},
        nrmse={state: _number(value, math.inf) for state, value in entry["nrmse"].items()},
        diverged_at=entry["diverged_at"],
        horizon=entry["horizon"],
        simulated=simulated,
    )


def _candidates(entries: list[dict[str, Any]], symbols: tuple[str, ...]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            parse(entry["expression"], symbols),
            int(entry["complexity"]),
            float(entry["loss"]),
            str(entry["engine"]),
        )
        for entry in entries
    )


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    """Return what a JSON document holds of a candidate."""
    return {
        "expression": to_text(candidate.expression),
        "complexity": candidate.complexity,
        "loss": candidate.loss,
        "engine": candidate.engine,
    }


def _complexity(found: Discovery, state: str) -> int:
    from fepysr_dyn.expressions import complexity

    rate: sympy.Expr = found.system.rates[state]
    return complexity(rate)


def _number(value: float | None, missing: float = math.nan) -> float:
    return missing if value is None else float(value)


def _finite(value: Any) -> Any:
    """Replace numbers that JSON does not have by null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
