"""What can be told to a discovery: effort, and what is known about each equation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import OptionError, did_you_mean
from fepysr_dyn.expressions import canonical, compile_expression, parse
from fepysr_dyn.search.problem import BINARY_OPERATORS, DEFAULT_OPERATORS, UNARY_OPERATORS
from fepysr_dyn.search.registry import ENGINES

Array = NDArray[np.float64]


@dataclass(frozen=True)
class EquationPrior:
    """What is known about the equation of one state, in formulas of states and inputs.

    Parameters
    ----------
    columns : tuple of str, optional
        The only states and inputs that may occur.
    known : str
        A term of the rate that is known with its constants; only the rest is searched.
    required, forbidden : tuple of str
        Terms of the expanded rate, coefficients aside, that must or must not occur.
    increases_with, decreases_with : tuple of str
        States or inputs in which the rate is monotone over the data.
    bounds : mapping of str to (low, high)
        Range of the coefficient of a term; a term that does not occur has the coefficient 0.
    """

    columns: tuple[str, ...] | None = None
    known: str = ""
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    increases_with: tuple[str, ...] = ()
    decreases_with: tuple[str, ...] = ()
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def check(self, state: str, names: Collection[str]) -> None:
        """Refuse names and formulas that do not exist in the data."""
        for name in (*(self.columns or ()), *self.increases_with, *self.decreases_with):
            if name not in names:
                raise OptionError(f"equation of '{state}': no column '{name}'{did_you_mean(name, names)}")
        for text in (*self.required, *self.forbidden, *self.bounds, *([self.known] if self.known else [])):
            parse(text, names)
        for text, (low, high) in self.bounds.items():
            if not low <= high:
                raise OptionError(
                    f"equation of '{state}': expected low <= high for '{text}', got {low}, {high}"
                )

    def known_term(self) -> sympy.Expr:
        """Return the known part of the rate."""
        return parse(self.known) if self.known else sympy.Integer(0)

    def allows(self, rate: sympy.Expr, columns: Mapping[str, Array]) -> bool:
        """Return whether a whole rate, known part included, agrees with all that is known."""
        coefficients = term_coefficients(rate)
        if any(_term(text) not in coefficients for text in self.required):
            return False
        if any(_term(text) in coefficients for text in self.forbidden):
            return False
        for text, (low, high) in self.bounds.items():
            if not low <= coefficients.get(_term(text), 0.0) <= high:
                return False
        return all(
            _is_monotone(rate, name, sign, columns)
            for sign, names in ((1.0, self.increases_with), (-1.0, self.decreases_with))
            for name in names
        )


@dataclass(frozen=True)
class DiscoveryConfig:
    """How much effort to spend, and on what.

    Parameters
    ----------
    engine : str
        Name of the search engine.
    features : bool
        Whether stage 1 proposes features where the quick engines find nothing exact.
    operators : tuple of str
        What right-hand sides may be made of.
    max_complexity : int
        Largest number of nodes of a right-hand side.
    evaluations : int
        Work per state in expression evaluations.
    seconds_per_state : float
        A time limit per state that only cuts short.
    max_rows : int
        Samples used by the search; constants are refitted on all of them afterwards.
    resamples : int
        Repetitions behind the confidence.
    priors : mapping of str to EquationPrior
        What is known, per state.
    """

    engine: str = "portfolio"
    features: bool = True
    operators: tuple[str, ...] = DEFAULT_OPERATORS
    max_complexity: int = 40
    evaluations: int = 2_000_000
    seconds_per_state: float = 45.0
    max_rows: int = 1000
    resamples: int = 20
    priors: Mapping[str, EquationPrior] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse effort that allows no work, and names that do not exist."""
        for name, least in (("max_complexity", 1), ("evaluations", 1), ("max_rows", 1), ("resamples", 0)):
            if getattr(self, name) < least:
                raise OptionError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not self.seconds_per_state > 0:
            raise OptionError(f"seconds_per_state must be positive, got {self.seconds_per_state}")
        for kind, names, known in (
            ("engine", [self.engine], tuple(ENGINES)),
            ("operator", self.operators, BINARY_OPERATORS + UNARY_OPERATORS),
        ):
            for name in names:
                if name not in known:
                    hint = did_you_mean(name, known) or f"; choose among {', '.join(known)}"
                    raise OptionError(f"unknown {kind} '{name}'{hint}")

    def prior(self, state: str) -> EquationPrior:
        """Return what is known about a state's equation."""
        return self.priors.get(state, EquationPrior())

    def check(self, states: Collection[str], inputs: Collection[str]) -> None:
        """Refuse priors for states and columns that do not exist."""
        for state, prior in self.priors.items():
            if state not in states:
                raise OptionError(f"no state '{state}' in the data{did_you_mean(state, states)}")
            prior.check(state, (*states, *inputs))


def term_coefficients(rate: sympy.Expr) -> dict[sympy.Expr, float]:
    """Return the terms of the expanded rate with their numeric coefficients."""
    coefficients: dict[sympy.Expr, float] = {}
    for term in sympy.Add.make_args(canonical(rate)):
        number, rest = term.as_coeff_Mul()
        coefficients[rest] = coefficients.get(rest, 0.0) + float(number)
    return coefficients


def _term(text: str) -> sympy.Expr:
    return canonical(parse(text)).as_coeff_Mul()[1]


def _is_monotone(rate: sympy.Expr, name: str, sign: float, columns: Mapping[str, Array]) -> bool:
    variable = sympy.Symbol(name)
    if variable not in rate.free_symbols:
        return False
    real = {symbol: sympy.Symbol(str(symbol), real=True) for symbol in rate.free_symbols}
    plain = {new: old for old, new in real.items()}
    slope = sympy.diff(rate.xreplace(real), real[variable]).xreplace(plain)
    values = sign * compile_expression(slope, tuple(columns))(*columns.values())
    return bool(np.nanmin(values) >= -1e-9 * np.nanmax(np.abs(values)))
