"""The benchmark equations of the FePySR paper, and how each is sampled.

`equations.json` holds expressions, sampling and the paper's own figures. Recovery is decided on a box
wider than the data, which every problem carries.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import OptionError, did_you_mean
from fepysr_dyn.expressions import compile_expression, parse

Array = NDArray[np.float64]

SUITES = ("standard", "recover", "unrecover", "sensitivity", "all", "tyson")
#: A box reaches this much beyond the data: a share of the range, or standard deviations of a normal.
_WIDER = 0.5
_DEVIATIONS = 4.0
#: Ranges of a trajectory by which the far box reaches beyond it.
_FAR = 30.0


@dataclass(frozen=True)
class Special:
    """A named part of an expression that needs a function outside the grammar of formulas.

    Parameters
    ----------
    function : str
        Name of the function in ``scipy.special``.
    argument : sympy expression
        Its argument.
    """

    function: str
    argument: sympy.Expr


@dataclass(frozen=True)
class BenchmarkProblem:
    """One equation with its sampling and what the paper reports on it.

    Parameters
    ----------
    id : str
        For example ``"Recover-6"``.
    suite, family : str
        ``"standard"``, ``"recover"`` or ``"unrecover"``; the benchmark family it comes from.
    expression : sympy expression
        The truth, in the variables and the names of `special`.
    variables : tuple of str
        In column order.
    sampling : mapping
        ``kind`` (uniform, even, normal), ``n``, and low and high or mean and std.
    paper : mapping
        The paper's figures: recovery (fractions), seconds, min_mse, features.
    note : str
        What differs from the paper's statement, and why.
    """

    id: str
    suite: str
    family: str
    expression: sympy.Expr
    variables: tuple[str, ...]
    sampling: Mapping[str, Any]
    paper: Mapping[str, Any] = field(default_factory=dict)
    special: Mapping[str, Special] = field(default_factory=dict)
    note: str = ""

    @property
    def expressible(self) -> bool:
        """Whether the truth can be written with the operators of a search at all."""
        return not self.special

    @property
    def box(self) -> dict[str, tuple[float, float]]:
        """Ranges wider than the data, on which recovery is decided.

        A range that starts at zero or above is not continued below zero: no data there could tell
        ``x**(2/3)`` from ``(x**2)**(1/3)``.
        """
        ranges = {}
        for index, name in enumerate(self.variables):
            if self.sampling["kind"] == "normal":
                mean, std = self.sampling["mean"][index], self.sampling["std"][index]
                ranges[name] = (mean - _DEVIATIONS * std, mean + _DEVIATIONS * std)
            else:
                low, high = float(self.sampling["low"]), float(self.sampling["high"])
                margin = _WIDER * (high - low)
                ranges[name] = (low - margin if low < 0 else max(0.0, low - margin), high + margin)
        return ranges

    @property
    def far_box(self) -> dict[str, tuple[float, float]] | None:
        """A second, much wider box for data that excite a function too little to tell it from a series."""
        return None

    def sample(self, seed: int) -> tuple[dict[str, Array], Array]:
        """Draw the columns and the noise-free target; one seed, one data set."""
        random = np.random.default_rng([seed, zlib.crc32(self.id.encode())])
        n = int(self.sampling["n"])
        columns = self._draw(random, n)
        target = self.evaluate(columns)
        for _ in range(100):
            bad = ~np.isfinite(target)
            if not bad.any():
                break
            again = self._draw(random, n)
            columns = {name: np.where(bad, again[name], values) for name, values in columns.items()}
            target = self.evaluate(columns)
        return columns, target

    def evaluate(self, columns: Mapping[str, Array]) -> Array:
        """Return the truth on given columns."""
        from scipy import special

        inputs = [columns[name] for name in self.variables]
        extra = [
            getattr(special, part.function)(compile_expression(part.argument, self.variables)(*inputs))
            for part in self.special.values()
        ]
        return compile_expression(self.expression, (*self.variables, *self.special))(*inputs, *extra)

    def _draw(self, random: np.random.Generator, n: int) -> dict[str, Array]:
        how = self.sampling
        if how["kind"] == "normal":
            draws = zip(self.variables, how["mean"], how["std"], strict=True)
            return {name: random.normal(mean, std, n) for name, mean, std in draws}
        if how["kind"] == "even":
            return {name: np.linspace(how["low"], how["high"], n) for name in self.variables}
        return {name: random.uniform(how["low"], how["high"], n) for name in self.variables}


def load_problems(suite: str = "all") -> list[BenchmarkProblem]:
    """Return the problems of a suite.

    Parameters
    ----------
    suite : {"standard", "recover", "unrecover", "sensitivity", "all", "tyson"} or a problem's id
        ``sensitivity`` are the paper's 12 equations for sensitivity and noise; ``tyson`` the two rates of
        the two-protein model on its own trajectory, with exact derivatives.

    Examples
    --------
    >>> [len(load_problems(suite)) for suite in SUITES]
    [57, 36, 39, 12, 132, 2]
    >>> load_problems("Nguyen-8")[0].expression
    sqrt(x)
    """
    problems, sensitivity = _read()
    if suite == "all":
        return list(problems)
    if suite.startswith("tyson"):
        return [rate for rate in _rates("tyson_two_protein") if suite in ("tyson", rate.id)]
    if suite == "sensitivity":
        return [problem for problem in problems if problem.id in sensitivity]
    chosen = [problem for problem in problems if suite in (problem.suite, problem.id)]
    if not chosen:
        known = (*SUITES, *(problem.id for problem in problems))
        raise OptionError(f"unknown suite or problem '{suite}'{did_you_mean(suite, known)}")
    return chosen


@dataclass(frozen=True)
class RateProblem(BenchmarkProblem):
    """The rate of one state of a model, sampled along a simulated trajectory."""

    columns: Mapping[str, Array] = field(default_factory=dict)

    @property
    def box(self) -> dict[str, tuple[float, float]]:
        """Ranges wider than the trajectory."""
        ranges = {}
        for name, values in self.columns.items():
            low, high = float(np.min(values)), float(np.max(values))
            ranges[name] = (low - _WIDER * (high - low), high + _WIDER * (high - low))
        return ranges

    @property
    def far_box(self) -> dict[str, tuple[float, float]] | None:
        """Ranges far beyond the trajectory."""
        return far_box(self.columns)

    def sample(self, seed: int) -> tuple[dict[str, Array], Array]:
        """Return the trajectory and the exact rate on it; the same for every seed."""
        return dict(self.columns), self.evaluate(self.columns)


def far_box(columns: Mapping[str, Array]) -> dict[str, tuple[float, float]]:
    """Return ranges far beyond a trajectory, on which no series follows another function.

    A polynomial of degree 5 follows a logistic function to 1e-15 along a short trajectory, and to nine
    digits on a box twice as wide. What was never negative stays so.
    """
    ranges = {}
    for name, values in columns.items():
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        margin = _FAR * (high - low) or abs(low) or 1.0
        ranges[name] = (max(0.0, low - margin) if low >= 0 else low - margin, high + margin)
    return ranges


def _rates(model: str) -> list[BenchmarkProblem]:
    from fepysr_dyn.model_files import load_model
    from fepysr_dyn.simulation import simulate

    system = load_model(model)
    (run,) = simulate(system)
    variables = (*system.inputs, *system.states)
    columns = {name: np.asarray(run[name].to_numpy(), dtype=np.float64) for name in variables}
    return [
        RateProblem(
            id=f"tyson-{state}",
            suite="tyson",
            family="tyson",
            expression=rate,
            variables=variables,
            sampling={"kind": "trajectory", "n": run.sizes["time"]},
            paper={"recovery": {"fepysr": 0.24, "pysr": 0.0}} if state == "X1" else {},
            columns=columns,
        )
        for state, rate in system.explicit_rates().items()
    ]


@lru_cache(maxsize=1)
def _read() -> tuple[tuple[BenchmarkProblem, ...], frozenset[str]]:
    text = resources.files("fepysr_dyn.benchmarks").joinpath("equations.json").read_text(encoding="utf-8")
    document = json.loads(text)
    return tuple(_problem(entry) for entry in document["equations"]), frozenset(document["sensitivity"])


def _problem(entry: Mapping[str, Any]) -> BenchmarkProblem:
    variables = tuple(entry["variables"])
    special = {
        name: Special(part["function"], parse(part["argument"], variables))
        for name, part in entry.get("special", {}).items()
    }
    return BenchmarkProblem(
        id=entry["id"],
        suite=entry["suite"],
        family=entry["family"],
        expression=parse(entry["expression"], (*variables, *special)),
        variables=variables,
        sampling=entry["sampling"],
        paper=entry["paper"],
        special=special,
        note=entry.get("note", ""),
    )
