"""Discovery: what was found, how sure it is, and where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy

from fepysr_dyn.expressions import to_text
from fepysr_dyn.refinement import FittedConstant
from fepysr_dyn.search.front import Candidate, ParetoFront
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories
from fepysr_dyn.validation import Validation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Discovery:
    """A system of equations found from trajectories.

    Parameters
    ----------
    system : OdeSystem
        The chosen equations, constants refitted on the trajectories.
    fronts : mapping of str to ParetoFront
        All that was found, per state.
    alternatives : mapping of str to tuple of Candidate
        Right-hand sides that the data cannot tell from the chosen one, per state.
    confidence : mapping of str to float
        How often the chosen structure is chosen again under resampling, per state.
    constants : tuple of FittedConstant
        With standard errors.
    validation : Validation
        Re-integration of the training experiments.
    forms : mapping of str to str
        Which form of the regression problem each right-hand side was found with.
    warnings : tuple of str
        What the data cannot decide, each with the experiment that would help.
    provenance : mapping
        Versions, seed, configuration, hash of the data.
    complete : bool
        False if a time limit or the user cut the search short.
    data : Trajectories or None
        What it was found from, for figures and to repeat it.
    truth : OdeSystem or None
        The true system, where it was known.
    """

    system: OdeSystem
    fronts: Mapping[str, ParetoFront]
    alternatives: Mapping[str, tuple[Candidate, ...]]
    confidence: Mapping[str, float]
    constants: tuple[FittedConstant, ...]
    validation: Validation
    features: Mapping[str, tuple[sympy.Expr, ...]] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    complete: bool = True
    data: Trajectories | None = field(default=None, repr=False, compare=False)
    truth: OdeSystem | None = field(default=None, repr=False, compare=False)

    def equations(self) -> dict[str, str]:
        """Return the right-hand sides as text."""
        return {state: to_text(rate) for state, rate in self.system.rates.items()}

    def save(self, folder: str | Path) -> None:
        """Write the discovery into a folder; `fepysr_dyn.load_result` reads it back."""
        from fepysr_dyn.discovery.files import save_result

        save_result(self, folder)

    def plot(self) -> Figure:
        """Draw the data with the equations integrated again over them."""
        from fepysr_dyn.report.display import plot_discovery

        return plot_discovery(self)

    def _repr_html_(self) -> str:
        from fepysr_dyn.report.display import discovery_html

        return discovery_html(self)

    def _repr_latex_(self) -> str:
        from fepysr_dyn.report.display import discovery_latex

        return discovery_latex(self)

    def __str__(self) -> str:
        return "\n".join(f"d{state}/dt = {rate}" for state, rate in self.equations().items())
