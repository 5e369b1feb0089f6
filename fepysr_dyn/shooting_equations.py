"""The rates of a system with their constants as parameters, for fits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.expressions import Template, free_constants
from fepysr_dyn.expressions.tape import Tape, record
from fepysr_dyn.system import OdeSystem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Equations:
    """The rates with their constants as parameters, compiled for arrays."""

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    templates: Mapping[str, Template]
    tape: Tape

    @classmethod
    def of(cls, system: OdeSystem, held: Collection[str] = ()) -> Equations:
        """Take the floating-point numbers of a system's rates as parameters, but for rates that are held."""
        templates = {
            state: Template(rate, (), ()) if state in held else free_constants(rate, prefix=f"c_{state}_")
            for state, rate in system.explicit_rates().items()
        }
        parameters = [name for template in templates.values() for name in template.parameters]
        arguments = [*parameters, *system.states, *system.inputs]
        tape = record([template.expression for template in templates.values()], arguments)
        return cls(system.states, tuple(system.inputs), templates, tape)

    @property
    def values(self) -> list[float]:
        """Constants as they stand, equation by equation."""
        return [value for template in self.templates.values() for value in template.values]

    def with_values(self, theta: Array) -> dict[str, sympy.Expr]:
        """Return the rates with other constants."""
        rates, position = {}, 0
        for state, template in self.templates.items():
            count = len(template.values)
            rates[state] = template.with_values(theta[position : position + count].tolist())
            position += count
        return rates

    @property
    def owners(self) -> list[str]:
        """State whose rate holds each constant."""
        return [state for state, template in self.templates.items() for _ in template.values]
