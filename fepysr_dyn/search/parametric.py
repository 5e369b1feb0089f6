"""Parametric engine: functions with inner constants, which are searched globally and then refined."""

from __future__ import annotations

from dataclasses import dataclass, field

from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.problem import RegressionProblem, Runtime
from fepysr_dyn.search.scan import ScanConfig, scan_constants
from fepysr_dyn.search.session import Session
from fepysr_dyn.search.sparse import offer_constant


@dataclass(frozen=True)
class ParametricConfig:
    """Options of the parametric engine, by part."""

    scan: ScanConfig = field(default_factory=ScanConfig)


@dataclass(frozen=True)
class ParametricEngine:
    """Families of functions with one or two inner constants, and outer functions of sparse sums."""

    config: ParametricConfig = field(default_factory=ParametricConfig)

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        return "parametric"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Return the best members of the families, simplest first."""
        session = Session(problem, runtime, self.name)
        offer_constant(session)
        scan_constants(session, self.config.scan)
        return session.front()
