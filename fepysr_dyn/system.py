"""OdeSystem: states, inputs, parameters and rates of a system of differential equations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite

import sympy

from fepysr_dyn.errors import ModelError, did_you_mean
from fepysr_dyn.expressions import is_name
from fepysr_dyn.expressions.reals import substitute
from fepysr_dyn.stimulus import Stimulus

#: Names of the columns of a data file, which a state or an input cannot have.
COLUMN_NAMES = frozenset({"time", "experiment"})
#: A model file that asks for more would fill the memory before anyone could look at the result.
MAX_SAMPLES = 2_000_000


@dataclass(frozen=True)
class ExperimentPlan:
    """What one experiment changes: initial values and inputs, the system's defaults elsewhere."""

    name: str
    initial: Mapping[str, float] = field(default_factory=dict)
    inputs: Mapping[str, Stimulus] = field(default_factory=dict)


@dataclass(frozen=True)
class Protocol:
    """How a system is usually measured.

    Parameters
    ----------
    duration : float
        Length of each experiment. Samples are taken at ``duration * i / samples``: the end is left out,
        so that pieces of a stimulus get equal shares of the samples.
    samples : int
        Samples per experiment.
    experiments : tuple of ExperimentPlan
        At least one.
    """

    duration: float = 10.0
    samples: int = 1000
    experiments: tuple[ExperimentPlan, ...] = (ExperimentPlan("default"),)

    def __post_init__(self) -> None:
        if not (isfinite(self.duration) and self.duration > 0):
            raise ModelError(f"the duration of a protocol must be a positive number, got {self.duration}")
        if self.samples < 2:
            raise ModelError(f"a protocol needs at least 2 samples, got {self.samples}")
        if self.samples > MAX_SAMPLES:
            raise ModelError(f"a protocol may have at most {MAX_SAMPLES} samples, got {self.samples:.4g}")
        if not self.experiments:
            raise ModelError("a protocol needs at least one experiment, got none")
        names = [plan.name for plan in self.experiments]
        if len(set(names)) < len(names):
            raise ModelError(f"experiments of a protocol need different names, got {names}")


@dataclass(frozen=True)
class OdeSystem:
    """A system of ordinary differential equations, and how it is usually measured.

    Parameters
    ----------
    name : str
        Short name, as of a file.
    rates : mapping of str to sympy expression
        Time derivative of each state, in the states, inputs, parameters and assignments.
    initial : mapping of str to float
        Initial value of each state.
    inputs : mapping of str to Stimulus
        Inputs with the stimulus used by default.
    parameters : mapping of str to float
        Named constants.
    assignments : mapping of str to sympy expression
        Named intermediate expressions; they may use earlier or later ones, but not in a circle.
    units : mapping of str to str
        Units of states, inputs and parameters, as text.
    """

    name: str
    rates: Mapping[str, sympy.Expr]
    initial: Mapping[str, float]
    inputs: Mapping[str, Stimulus] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    assignments: Mapping[str, sympy.Expr] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    protocol: Protocol = field(default_factory=Protocol)
    title: str = ""
    description: str = ""
    reference: str = ""

    def __post_init__(self) -> None:
        if not self.rates:
            raise ModelError(f"system '{self.name}' needs at least one state, got none")
        self._check_names()
        for state in self.rates:
            if state not in self.initial:
                raise ModelError(f"state '{state}' has no initial value")
        for kind, table in (("initial value", self.initial), ("parameter", self.parameters)):
            for name, value in table.items():
                if not isfinite(value):
                    raise ModelError(f"{kind} '{name}' must be a finite number, got {value}")
        known = self.symbols
        for name, expression in [*self.assignments.items(), *self.rates.items()]:
            for symbol in sorted(map(str, expression.free_symbols)):
                if symbol not in known:
                    hint = did_you_mean(symbol, known)
                    raise ModelError(f"unknown symbol '{symbol}' in the formula of '{name}'{hint}")
        for name in self.units:
            if name not in known and name != "time":
                raise ModelError(
                    f"a unit is given for '{name}', which does not exist{did_you_mean(name, known)}"
                )
        self._check_plans()
        self.ordered_assignments()

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states, in order."""
        return tuple(self.rates)

    @property
    def symbols(self) -> tuple[str, ...]:
        """All names a formula of this system may use."""
        return (*self.rates, *self.inputs, *self.parameters, *self.assignments)

    def explicit_rates(self, *, numbers: bool = True) -> dict[str, sympy.Expr]:
        """Return the rates with assignments substituted, in states and inputs alone.

        Parameters
        ----------
        numbers : bool
            Also put the parameters' values in; otherwise they stay symbols.
        """
        known: dict[str, sympy.Expr] = {}
        if numbers:
            known = {name: _number(value) for name, value in self.parameters.items()}
        for name, expression in self.ordered_assignments():
            known[name] = substitute(expression, known)
        explicit = {name: substitute(expression, known) for name, expression in self.rates.items()}
        for name, expression in explicit.items():
            if expression.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I):
                raise ModelError(
                    f"the rate of '{name}' is not finite and real with these parameters: it divides by 0 or "
                    "takes the logarithm or a root of a negative number"
                )
        return explicit

    def with_parameters(self, **values: float) -> OdeSystem:
        """Return the system with other values of some parameters."""
        for name in values:
            if name not in self.parameters:
                raise ModelError(f"no parameter '{name}'{did_you_mean(name, self.parameters)}")
        return replace(self, parameters={**self.parameters, **values})

    def initial_of(self, plan: ExperimentPlan) -> dict[str, float]:
        """Return the initial values of an experiment."""
        return {state: plan.initial.get(state, self.initial[state]) for state in self.states}

    def inputs_of(self, plan: ExperimentPlan) -> dict[str, Stimulus]:
        """Return the stimuli of an experiment."""
        return {name: plan.inputs.get(name, default) for name, default in self.inputs.items()}

    def _repr_html_(self) -> str:
        from fepysr_dyn.report.display import system_html

        return system_html(self)

    def _repr_latex_(self) -> str:
        from fepysr_dyn.report.display import system_latex

        return system_latex(self)

    def _check_names(self) -> None:
        seen: set[str] = set()
        for name in self.symbols:
            if not is_name(name) or name in COLUMN_NAMES:
                raise ModelError(
                    f"'{name}' cannot be used as a name: expected letters, digits and _, not reserved"
                )
            if name in seen:
                raise ModelError(f"the name '{name}' is used twice")
            seen.add(name)

    def _check_plans(self) -> None:
        for plan in self.protocol.experiments:
            for kind, given, known in (
                ("state", plan.initial, self.states),
                ("input", plan.inputs, tuple(self.inputs)),
            ):
                for name in given:
                    if name not in known:
                        hint = did_you_mean(name, known)
                        raise ModelError(f"experiment '{plan.name}' sets an unknown {kind} '{name}'{hint}")

    def ordered_assignments(self) -> list[tuple[str, sympy.Expr]]:
        """Return the assignments so that each comes after those it uses."""
        return list(_in_order(self.assignments))


def _in_order(assignments: Mapping[str, sympy.Expr]) -> Iterator[tuple[str, sympy.Expr]]:
    """Yield assignments so that each comes after those it uses."""
    waiting = dict(assignments)
    while waiting:
        ready = [
            name
            for name, expression in waiting.items()
            if not any(str(symbol) in waiting for symbol in expression.free_symbols)
        ]
        if not ready:
            raise ModelError(f"assignments refer to each other in a circle: {', '.join(sorted(waiting))}")
        for name in ready:
            yield name, waiting.pop(name)


def _number(value: float) -> sympy.Expr:
    """Keep whole numbers exact, so that exponents and signs stay readable."""
    return sympy.Integer(int(value)) if float(value).is_integer() and abs(value) < 1e9 else sympy.Float(value)
