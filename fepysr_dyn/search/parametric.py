"""Parametric engine: functions with inner constants, which are searched globally and then refined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.offers import offer_constant
from fepysr_dyn.search.problem import RegressionProblem, Runtime
from fepysr_dyn.search.pursuit import PursuitConfig, pursue_products
from fepysr_dyn.search.ridge import RidgeConfig, search_ridges
from fepysr_dyn.search.scan import ScanConfig, scan_constants
from fepysr_dyn.search.session import Session
from fepysr_dyn.search.transforms import TransformConfig, search_transformed


@dataclass(frozen=True)
class ParametricConfig:
    """Options of the parametric engine, by part."""

    scan: ScanConfig = field(default_factory=ScanConfig)
    pursuit: PursuitConfig = field(default_factory=PursuitConfig)
    ridge: RidgeConfig = field(default_factory=RidgeConfig)
    transforms: TransformConfig = field(default_factory=TransformConfig)


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
        for part in self._parts():
            if session.must_stop() or session.exact is not None:
                break
            part(session)
        return session.front()

    def _parts(self) -> Iterator[Callable[[Session], None]]:
        yield partial(search_ridges, config=self.config.ridge)
        yield partial(search_transformed, config=self.config.transforms)
        yield partial(scan_constants, config=self.config.scan)
        yield partial(pursue_products, config=self.config.pursuit)
