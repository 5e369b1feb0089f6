"""PySR engine: the paper's own second stage, in a process of its own."""

from __future__ import annotations

import csv
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sympy

from fepysr_dyn.errors import ExpressionError, MissingDependencyError, OptionError
from fepysr_dyn.expressions import parse
from fepysr_dyn.search.front import Candidate, ParetoFront
from fepysr_dyn.search.pointwise import PointwiseProblem, in_variables, pointwise, refitted
from fepysr_dyn.search.problem import BINARY_OPERATORS, RegressionProblem, Runtime
from fepysr_dyn.search.snapping import RESOLUTION

#: PySR's spelling of our operators where it differs.
SPELLING = {"**": "^"}
RUN = "search"
#: PySR wants room for at least this many nodes.
LEAST_SIZE = 8
_POLL = 0.2
_START_UP = 600.0

WITHOUT_JULIA = (
    "the engine 'pysr' needs Julia 1.10 or newer, and none was found: install it from julialang.org so that "
    "'julia' is on the PATH (or set PYTHON_JULIAPKG_EXE); to work offline, run 'python -c \"import pysr\"' "
    "once with a network, then set PYTHON_JULIAPKG_OFFLINE=yes; or use the engine 'portfolio'"
)


@dataclass(frozen=True)
class PySRConfig:
    """Options of the PySR engine.

    Parameters
    ----------
    options : mapping
        Any keyword of ``pysr.PySRRegressor``; replaces what this engine sets itself.
    download_julia : bool
        Let PySR fetch Julia and its packages over the network if there is none.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    download_julia: bool = False

    def __post_init__(self) -> None:
        """Refuse options that cannot be sent to another process."""
        try:
            json.dumps(dict(self.options))
        except TypeError:
            raise OptionError(
                "options of PySR must be plain values (numbers, texts, lists, mappings)"
            ) from None


@dataclass(frozen=True)
class PySREngine:
    """An adapter to ``pysr.PySRRegressor``."""

    config: PySRConfig = field(default_factory=PySRConfig)

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        return "pysr"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Run PySR and return its hall of fame as a front, in the user's variables."""
        if find_julia() is None and not self.config.download_julia:
            raise MissingDependencyError(WITHOUT_JULIA)
        runtime = runtime or Runtime()
        deadline = min(runtime.deadline, time.monotonic() + problem.budget.seconds)
        rows = pointwise(problem)
        with tempfile.TemporaryDirectory(prefix="fepysr-pysr-") as folder:
            options = regressor_options(problem, folder, deadline - time.monotonic())
            options.update(self.config.options)
            process = _Worker(request(rows, options), replace(runtime, deadline=deadline))
            texts, complete = process.run(Path(folder))
        return _front(texts, rows, problem, complete)


def find_julia() -> str | None:
    """Return the Julia that juliapkg would use, or None."""
    named = os.environ.get("PYTHON_JULIAPKG_EXE")
    project = os.environ.get("PYTHON_JULIAPKG_PROJECT", str(Path(sys.prefix) / "julia_env"))
    places = [
        shutil.which("julia"),
        str(Path(project) / "pyjuliapkg" / "install" / "bin" / "julia"),
        str(Path.home() / ".juliaup" / "bin" / "julia"),
        str(
            Path.home()
            / ".julia"
            / "environments"
            / "pyjuliapkg"
            / "pyjuliapkg"
            / "install"
            / "bin"
            / "julia"
        ),
    ]
    if named:
        return named if shutil.which(named) else None
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def regressor_options(problem: RegressionProblem, folder: str, seconds: float) -> dict[str, Any]:
    """Return the keywords of PySRRegressor that a problem decides."""
    floor = max(RESOLUTION * problem.scale, problem.noise or 0.0)
    spelled = [SPELLING.get(name, name) for name in problem.operators]
    binary = [name for name, own in zip(spelled, problem.operators, strict=True) if own in BINARY_OPERATORS]
    options: dict[str, Any] = {
        "model_selection": "best",
        "binary_operators": binary,
        "unary_operators": [name for name in spelled if name not in binary],
        "niterations": 1_000_000,
        "max_evals": problem.budget.evaluations,
        "maxsize": max(problem.max_complexity, LEAST_SIZE),
        # Relative to the target's own error; an absolute threshold accepts straight lines.
        "early_stop_condition": floor**2,
        "precision": 64,
        "random_state": problem.seed,
        "deterministic": True,
        "parallelism": "serial",
        "verbosity": 0,
        "progress": False,
        "input_stream": "devnull",
        "output_directory": folder,
        "run_id": RUN,
    }
    if seconds < float("inf"):
        options["timeout_in_seconds"] = max(seconds, 1.0)
    return options


def request(rows: PointwiseProblem, options: Mapping[str, Any]) -> str:
    """Return what the worker reads."""
    return json.dumps(
        {
            "names": list(rows.names),
            "matrix": rows.matrix.tolist(),
            "target": rows.target.tolist(),
            "weights": None if rows.weights is None else rows.weights.tolist(),
            "options": dict(options),
        }
    )


class _Worker:
    """The other process, from its start to its end."""

    def __init__(self, message: str, runtime: Runtime) -> None:
        self.message = message
        self.runtime = runtime

    def run(self, folder: Path) -> tuple[list[str], bool]:
        """Return the formulas, and whether the search was complete."""
        started = time.monotonic()
        command = [sys.executable, "-m", "fepysr_dyn.search.pysr_worker"]
        with subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        ) as process:
            try:
                for answer in self._answers(process):
                    if answer is None:
                        self._report(folder, started)
                    elif answer["kind"] == "front":
                        return [row["equation"] for row in answer["rows"]], not self.runtime.must_stop()
                    elif answer["kind"] == "unavailable":
                        raise MissingDependencyError(f"{WITHOUT_JULIA} ({_short(answer['message'])})")
                    elif answer["kind"] == "failed":
                        raise OptionError(f"PySR refused the search: {_short(answer['message'])}")
                    if self.runtime.must_stop():
                        break
            finally:
                process.terminate()
        # Cancelled, out of time, or crashed: what it wrote until then still counts.
        return hall_of_fame(folder), False

    def _answers(self, process: subprocess.Popen[str]) -> Iterator[dict[str, Any] | None]:
        """Yield answers as they come, and None in between."""
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._talk, args=(process, lines), daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=_POLL)
            except queue.Empty:
                yield None
                continue
            if line is None:
                return
            yield json.loads(line)

    def _talk(self, process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
        try:
            if process.stdin is not None and process.stdout is not None:
                process.stdin.write(self.message)
                process.stdin.close()
                for line in process.stdout:
                    lines.put(line)
        except (OSError, ValueError):
            pass
        lines.put(None)

    def _report(self, folder: Path, started: float) -> None:
        passed = time.monotonic() - started
        total = min(self.runtime.deadline - started, _START_UP)
        size = len(hall_of_fame(folder))
        self.runtime.report("pysr", min(passed / max(total, 1e-9), 1.0), f"{size} formulas so far")


def hall_of_fame(folder: Path) -> list[str]:
    """Return the formulas PySR has written so far; an incomplete file gives what is complete."""
    for name in ("hall_of_fame.csv", "hall_of_fame.csv.bak"):
        path = folder / RUN / name
        try:
            with path.open(encoding="utf-8", newline="") as stream:
                found = [row["Equation"] for row in csv.DictReader(stream) if row.get("Equation")]
        except (OSError, KeyError, csv.Error):
            continue
        if found:
            return found
    return []


def read_formula(text: str, names: tuple[str, ...]) -> sympy.Expr:
    """Read a formula in PySR's or Julia's spelling.

    Examples
    --------
    >>> read_formula("square(v0) ^ 2 * inv(v1) - neg(1.5f0)", ("v0", "v1"))
    v0**4/v1 + 1.5
    """
    plain = _julia_numbers(text).replace("^", "**")
    return parse(_without_calls(plain), names)


def _julia_numbers(text: str) -> str:
    return re.sub(r"(\d\.?\d*)f([+-]?\d+)", r"\1e\2", text)


def _without_calls(text: str) -> str:
    """Write square(x), cube(x), inv(x) and neg(x), which our grammar lacks, as powers and signs."""
    shapes = {"square": "({})**2", "cube": "({})**3", "inv": "(1/({}))", "neg": "(-({}))"}
    pattern = re.compile(r"\b(square|cube|inv|neg)\(")
    while match := pattern.search(text):
        start, depth, end = match.end(), 1, match.end()
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        inside = shapes[match.group(1)].format(text[start : end - 1])
        text = f"{text[: match.start()]}({inside}){text[end:]}"
    return text


def _front(
    texts: list[str], rows: PointwiseProblem, problem: RegressionProblem, complete: bool
) -> ParetoFront:
    found: list[Candidate] = []
    unread = 0
    for text in texts:
        try:
            expression = in_variables(read_formula(text, rows.names), rows)
        except ExpressionError:
            unread += 1
            continue
        candidate = refitted(expression, problem, "pysr")
        if candidate is not None:
            found.append(candidate)
    notes = [] if complete else ["stopped early by its time limit or by the user"]
    if unread:
        notes.append(f"{unread} formula(s) in a form we cannot read were left out")
    message = "pysr: " + "; ".join(notes) if notes else ""
    return ParetoFront.of(found, complete=complete, message=message)


def _short(message: str) -> str:
    return " ".join(message.split())[:200]
