"""Kinetic engine: sums of a few terms of rate laws, for data whose noise hides everything finer.

Where noise leaves many formulas that fit alike, those that kinetics is written in are the likelier ones, and
they stay sensible beyond the data: a saturation stays a saturation. Terms are chosen one by one from a
library in which half-saturations lie on a grid; after every choice all constants are refitted, inner ones
included, and earlier choices are reconsidered. Libraries grow from mass action to products of saturations, so
that the simple laws are found even where longer ones fit a little better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fepysr_dyn.search.column_errors import likeliest, weighed_like
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.offers import offer_constant
from fepysr_dyn.search.problem import RegressionProblem, Runtime
from fepysr_dyn.search.rate_law_building import RateLawBuilder
from fepysr_dyn.search.rate_laws import RateTerm, mass_action, saturating_parts
from fepysr_dyn.search.rows import column_arrays
from fepysr_dyn.search.session import Session

#: A column that is nowhere below zero by more than this share of its largest value is taken as not negative.
_BELOW_ZERO = 0.05
#: Searches for the weights that follow from the errors of the columns, and the share of the time of each.
_SCOUTS = 2
_SCOUTING = 0.3


@dataclass(frozen=True)
class KineticConfig:
    """Options of the kinetic engine.

    Parameters
    ----------
    max_terms : int
        Largest number of terms of a rate law; one with gates may have one more.
    starts : int
        Best first terms of a library that a rate law is built from, besides the linear ones.
    pairs : int
        Best pairs of terms that one is built from.
    max_columns : int
        Largest library.
    polish : bool
        Whether the best law of each size is improved by exchanges before larger libraries are tried: most of
        the time goes there.
    """

    max_terms: int = 6
    starts: int = 2
    pairs: int = 8
    max_columns: int = 2_500
    polish: bool = True


@dataclass(frozen=True)
class KineticEngine:
    """Sums of mass action, saturation, inhibition, exhaustion, competition and gates.

    Features of the problem are terms as they are: nothing is multiplied with them.
    """

    config: KineticConfig = KineticConfig()

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        return "kinetic"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Return the best rate laws found, simplest first."""
        if problem.column_errors:
            problem = self.weighed(problem, runtime)
        return self._searched(problem, runtime).front()

    def weighed(self, problem: RegressionProblem, runtime: Runtime | None = None) -> RegressionProblem:
        """Return the problem with weights in place of the errors of its columns.

        These weights depend on the law, which is searched for them with a part of the budget.
        """
        problem = without_small_negatives(problem)
        budget = replace(problem.budget, seconds=_SCOUTING * problem.budget.seconds)
        weighed = replace(problem, column_errors={})
        for _ in range(_SCOUTS):
            scouting = self._searched(replace(weighed, budget=budget), runtime)
            law = likeliest(scouting.candidates, problem)
            if law is None:
                break
            weighed = weighed_like(law, problem)
        rest = replace(problem.budget, seconds=(1.0 - _SCOUTS * _SCOUTING) * problem.budget.seconds)
        return replace(weighed, budget=rest)

    def _searched(self, problem: RegressionProblem, runtime: Runtime | None) -> Session:
        session = Session(without_small_negatives(problem), runtime, self.name)
        offer_constant(session)
        search_rate_laws(session, self.config)
        return session


def without_small_negatives(problem: RegressionProblem) -> RegressionProblem:
    """Return the problem with columns that are below zero by no more than noise set to zero there."""
    columns = {
        name: np.maximum(values, 0.0) if np.min(values) > -_BELOW_ZERO * np.max(values) else values
        for name, values in problem.columns.items()
    }
    return replace(problem, columns=columns)


def _thinned(library: list[RateTerm], most: int) -> list[RateTerm]:
    """Return a library with fewer of the levels that stand side by side, if it is too large.

    Terms come two by two, of one level each: whole columns would be missing if the last terms were left out.
    """
    stride = -(-len(library) // most)
    return [term for position, term in enumerate(library) if not term.parts or position // 2 % stride == 0]


def search_rate_laws(session: Session, config: KineticConfig) -> None:
    """Offer rate laws built from growing libraries."""
    columns = column_arrays(session.problem)
    library = mass_action(list(columns))
    # Most rates hold a linear term of some column: what decays, what flows in.
    linear = [[RateTerm((name,))] for name in columns]
    parts = saturating_parts(columns)
    libraries = [("mass action", library)]
    library = [*library, *(RateTerm((), (part,)) for part in parts)]
    libraries.append(("saturation", library))
    library = [
        *library,
        *(
            RateTerm((name,), (part,))
            for name in columns
            for part in parts
            # A saturation times its own column is hardly one; a gate is.
            if part.kind in ("inhibition", "exhaustion", "gate") or name != part.column
        ),
    ]
    libraries.append(("saturation of products", _thinned(library, config.max_columns)))
    for position, (title, terms) in enumerate(libraries):
        build = RateLawBuilder(session, terms, parts if position else [], config)
        singles = ([term] for term in build.ranked([])[: config.starts])
        for beginning in [[], *build.pairs(), *linear, *singles]:
            if session.must_stop():
                return
            session.report(position / len(libraries), title)
            build.grow(beginning)
        if config.polish:
            build.polish()
