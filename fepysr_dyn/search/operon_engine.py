"""Operon engine: pyoperon's genetic programming, its front chosen and refitted by us.

Operon computes in float32. So the target is centred and scaled, columns are scaled, and every formula of its
front has its constants refitted in float64 before it is scored.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy

from fepysr_dyn.errors import ExpressionError, MissingDependencyError, OptionError
from fepysr_dyn.search.front import Candidate, ParetoFront
from fepysr_dyn.search.pointwise import in_variables, pointwise, refitted
from fepysr_dyn.search.problem import Array, RegressionProblem, Runtime
from fepysr_dyn.search.pysr_engine import read_formula
from fepysr_dyn.search.snapping import snap

#: Our operators in Operon's spelling; what is missing here is made of these.
SYMBOLS = {
    **{"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow", "neg": "sub", "inv": "div"},
    **{"cube": "mul", "square": "square", "exp": "exp", "log": "log", "sqrt": "sqrt", "abs": "abs"},
    **{
        "sin": "sin",
        "cos": "cos",
        "tan": "tan",
        "tanh": "tanh",
        "sinh": "sinh",
        "cosh": "cosh",
        "atan": "atan",
    },
}


@dataclass(frozen=True)
class OperonConfig:
    """Options of the Operon engine.

    Parameters
    ----------
    slices : int
        The search is run in so many pieces, between which it can be stopped.
    options : mapping
        Any keyword of ``pyoperon.sklearn.SymbolicRegressor``; replaces what this engine sets itself.
    """

    slices: int = 10
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        if self.slices < 1:
            raise OptionError(f"operon: slices must be at least 1, got {self.slices}")


@dataclass(frozen=True)
class OperonEngine:
    """An adapter to ``pyoperon.sklearn.SymbolicRegressor``."""

    config: OperonConfig = field(default_factory=OperonConfig)

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        return "operon"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Run Operon in slices and return the front of all it found."""
        regressor = _regressor_class()
        runtime = runtime or Runtime()
        deadline = min(runtime.deadline, time.monotonic() + problem.budget.seconds)
        run = _Run(problem, replace(runtime, deadline=deadline), self.config)
        return run.search(regressor)


def _regressor_class() -> Any:
    try:
        from pyoperon.sklearn import SymbolicRegressor
    except ImportError:
        raise MissingDependencyError(
            "the engine 'operon' needs pyoperon; install it with: pip install 'fepysr-dyn[operon]'"
        ) from None
    return SymbolicRegressor


class _Run:
    """One search."""

    def __init__(self, problem: RegressionProblem, runtime: Runtime, config: OperonConfig) -> None:
        self.problem = problem
        self.runtime = runtime
        self.config = config
        self.rows = pointwise(problem)
        self.sizes = _sizes(self.rows.matrix)
        self.middle = float(np.mean(self.rows.target))
        self.spread = float(np.std(self.rows.target)) or 1.0
        self.found: dict[sympy.Expr, Candidate] = {}

    def search(self, regressor: Any) -> ParetoFront:
        """Run slice after slice, each going on with the population of the one before."""
        columns = self.rows.matrix / self.sizes
        target = (self.rows.target - self.middle) / self.spread
        model = regressor(**self._options())
        stopped = False
        for number in range(self.config.slices):
            if self.runtime.must_stop():
                stopped = True
                break
            left = self.runtime.deadline - time.monotonic()
            if left < math.inf:
                model.set_params(max_time=max(1, math.ceil(left / (self.config.slices - number))))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(columns, target)
            self._take(model)
            best = min((candidate.loss for candidate in self.found.values()), default=math.inf)
            self.runtime.report("operon", (number + 1) / self.config.slices, "evolving", best)
        message = "operon: stopped early by its time limit or by the user" if stopped else ""
        return ParetoFront.of(self.found.values(), complete=not stopped, message=message)

    def _options(self) -> dict[str, Any]:
        unknown = [name for name in self.problem.operators if name not in SYMBOLS]
        if unknown and len(unknown) == len(self.problem.operators):
            raise OptionError(f"Operon has none of the operators {', '.join(unknown)}")
        symbols = {SYMBOLS[name] for name in self.problem.operators if name in SYMBOLS}
        options: dict[str, Any] = {
            "allowed_symbols": ",".join([*sorted(symbols), "constant", "variable"]),
            "objectives": ["mse", "length"],
            "max_length": max(self.problem.max_complexity, 5),
            "optimizer_iterations": 5,
            "max_evaluations": max(1_000, self.problem.budget.evaluations // self.config.slices),
            "generations": 1_000_000,
            "random_state": self.problem.seed,
            "n_threads": 1,
            "warm_start": True,
        }
        return {**options, **self.config.options}

    def _take(self, model: Any) -> None:
        """Refit what is new on the front; coefficients Operon puts everywhere are snapped away."""
        for entry in model.pareto_front_:
            text = model.get_model_string(entry["tree"], 9, list(self.rows.names))
            try:
                expression = self._in_variables(read_formula(text, self.rows.names))
            except ExpressionError:
                continue
            if expression in self.found:
                continue
            candidate = refitted(expression, self.problem, "operon")
            if candidate is not None:
                self.found[expression] = candidate
                short = snap(candidate, self.problem)
                self.found.setdefault(short.expression, short)

    def _in_variables(self, found: sympy.Expr) -> sympy.Expr:
        scaled = {
            sympy.Symbol(name): sympy.Symbol(name) / sympy.Float(float(size))
            if size != 1.0
            else sympy.Symbol(name)
            for name, size in zip(self.rows.names, self.sizes, strict=True)
        }
        whole = found.xreplace(scaled) * sympy.Float(self.spread) + sympy.Float(self.middle)
        return in_variables(sympy.expand_mul(whole, deep=False), self.rows)


def _sizes(matrix: Array) -> Array:
    """Return factors that bring columns far from one into the range float32 likes."""
    size = np.sqrt(np.mean(matrix**2, axis=0))
    size[size == 0] = 1.0
    return np.where((size > 1e3) | (size < 1e-3), size, 1.0)
