"""Rate laws built term by term: each choice is followed by a refit of all constants, and reconsidered."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import sympy

from fepysr_dyn.expressions import Template, complexity
from fepysr_dyn.search.least_squares import refit, solve_columns
from fepysr_dyn.search.pairs import best_pairs
from fepysr_dyn.search.problem import Array
from fepysr_dyn.search.rate_laws import Part, RateTerm
from fepysr_dyn.search.rows import column_arrays, row_weights

if TYPE_CHECKING:
    from fepysr_dyn.search.kinetic import KineticConfig
    from fepysr_dyn.search.session import Session

#: What is left of a column after those that were chosen, below which it says nothing new.
_NEW = 1e-4
#: An exchange must lower the misfit by so much to be worth it.
_WORTH_IT = 0.995
#: Another part in a term must lower it by so much.
_WORTH_A_PART = 0.7
#: Laws with a loss so much larger than the best of as many terms are still tried with other exponents.
_NEAR_BEST = 1.5
#: A loss so little larger is worth a part less.
_AS_GOOD = 1.1
_STEPS = 25


class RateLawBuilder:
    """Rate laws built term by term from one library."""

    def __init__(
        self,
        session: Session,
        library: Sequence[RateTerm],
        parts: Sequence[Part],
        config: KineticConfig,
    ) -> None:
        self._session = session
        self._parts = parts
        self._config = config
        self._columns = column_arrays(session.problem)
        self._weights = row_weights(session.problem)
        self._target = session.problem.target * self._weights
        self._library = library
        self._matrix = self._values(library)
        #: The smallest loss so far by number of terms.
        self._best: dict[int, float] = {}
        self._visited: set[frozenset[object]] = set()

    def grow(self, terms: list[RateTerm]) -> None:
        """Add terms one by one, and reconsider all of them after each."""
        if len(terms) > 1:
            terms, loss = self._fitted(terms)
            if np.isfinite(loss):
                terms, _ = self._with_other_exponents(terms, loss)
        while len(terms) < self._config.max_terms and not self._session.must_stop():
            ranked = self.ranked(terms)
            if not ranked:
                return
            terms = self._reconsidered([*terms, ranked[0]])
            met = frozenset(term.structure for term in terms)
            if met in self._visited:
                # From here on it would be the same.
                return
            self._visited.add(met)
            terms, loss = self._fitted(terms)
            if not np.isfinite(loss) or self._size(terms) > self._session.problem.max_complexity:
                return
            best = self._best.get(len(terms), np.inf)
            if loss < _NEAR_BEST * best:
                terms, loss = self._with_other_exponents(terms, loss)
            if loss < best:
                terms, loss = self._with_more_parts(terms, loss)
                self._best[len(terms)] = loss
                self._eliminated(terms)

    def pairs(self) -> list[list[RateTerm]]:
        """Return the pairs of the library's terms that explain the most, each with its own structure."""
        kinds = [term.structure for term in self._library]
        found = best_pairs(self._matrix, self._target, kinds, self._config.pairs)
        self._session.spend(len(found))
        return [[self._library[i], self._library[j]] for i, j in found]

    def ranked(self, terms: Sequence[RateTerm]) -> list[RateTerm]:
        """Return the library's terms that lower the misfit most beside those given, best first."""
        return self._ranked(self._library, self._matrix, terms)

    def _ranked(
        self, library: Sequence[RateTerm], matrix: Array, terms: Sequence[RateTerm]
    ) -> list[RateTerm]:
        self._session.spend(1 + len(terms))
        residual, left = self._target, matrix
        sizes = np.linalg.norm(matrix, axis=0)
        if terms:
            basis, _ = np.linalg.qr(self._values(terms))
            residual = residual - basis @ (basis.T @ residual)
            left = left - basis @ (basis.T @ left)
        remaining = np.linalg.norm(left, axis=0)
        usable = remaining > _NEW * sizes
        gains = np.where(usable, (residual @ left) ** 2 / np.where(usable, remaining, 1.0) ** 2, -1.0)
        order = np.argsort(-gains)[:5]
        return [library[index] for index in order if gains[index] > 0]

    def _with_other_exponents(self, terms: list[RateTerm], loss: float) -> tuple[list[RateTerm], float]:
        """Change Hill exponents one by one, on and on as long as that helps."""
        improved = True
        while improved and not self._session.must_stop():
            improved = False
            for position, term in enumerate(terms):
                for other in term.neighbours():
                    trial, trial_loss = self._fitted([*terms[:position], other, *terms[position + 1 :]])
                    if trial_loss < _WORTH_IT * loss:
                        terms, loss, improved = trial, trial_loss, True
                        break
        return terms, loss

    def _with_more_parts(self, terms: list[RateTerm], loss: float) -> tuple[list[RateTerm], float]:
        """Multiply terms by a saturation each: what needs two signals at once."""
        for position, term in enumerate(terms):
            if self._session.must_stop() or len(term.parts) > 1 or not self._parts:
                continue
            rest = [*terms[:position], *terms[position + 1 :]]
            products = [replace(term, parts=(*term.parts, part)) for part in self._parts]
            best = self._ranked(products, self._values(products), rest)
            if not best:
                continue
            trial, trial_loss = self._fitted([*terms[:position], best[0], *terms[position + 1 :]])
            if trial_loss < _WORTH_A_PART * loss:
                terms, loss = self._with_other_exponents(trial, trial_loss)
        return terms, loss

    def _eliminated(self, terms: Sequence[RateTerm]) -> None:
        """Leave terms out, each time the one that is missed least: two that were bent to fit may both go."""
        while len(terms) > 2 and not self._session.must_stop():
            shorter = [self._fitted([*terms[:i], *terms[i + 1 :]]) for i in range(len(terms))]
            terms = min(shorter, key=lambda fitted: fitted[1])[0]

    def _reconsidered(self, terms: list[RateTerm]) -> list[RateTerm]:
        """Exchange terms one by one for better ones of the library, until none is better."""
        best = self._misfit(terms)
        for _ in range(3):
            before = best
            for position in range(len(terms)):
                rest = [*terms[:position], *terms[position + 1 :]]
                ranked = self.ranked(rest)
                if not ranked:
                    continue
                trial = [*rest[:position], ranked[0], *rest[position:]]
                misfit = self._misfit(trial)
                if misfit < _WORTH_IT * best:
                    terms, best = trial, misfit
            if best == before:
                break
        return terms

    def _misfit(self, terms: Sequence[RateTerm]) -> float:
        values = self._values(terms)
        residual = values @ solve_columns(values, self._target) - self._target
        return float(residual @ residual)

    def _values(self, terms: Sequence[RateTerm]) -> Array:
        with np.errstate(all="ignore"):
            values = np.column_stack([term.values(self._columns) for term in terms])
        measured = self._session.problem.measure(values) * self._weights[:, None]
        return np.where(np.isfinite(measured), measured, 0.0)

    def _fitted(self, terms: Sequence[RateTerm]) -> tuple[list[RateTerm], float]:
        """Refit all constants of a rate law, offer it, and return its terms with their inner constants."""
        start = solve_columns(self._values(terms), self._target).tolist()
        names = [f"c_{i}" for i in range(len(terms))]
        inner = [[f"k_{i}_{j}" for j in range(len(term.parts))] for i, term in enumerate(terms)]
        written = [term.expression(list(sympy.symbols(own))) for term, own in zip(terms, inner, strict=True)]
        law = sympy.Add(*(sympy.Symbol(name) * term for name, term in zip(names, written, strict=True)))
        levels = [part.level for term in terms for part in term.parts]
        template = Template(law, (*names, *itertools.chain(*inner)), (*start, *levels))
        values, loss = refit(template, self._session.problem, max_steps=_STEPS if levels else 1)
        self._session.spend(_STEPS)
        rest = iter(values[len(terms) :].tolist())
        found = [term.with_levels([next(rest) for _ in term.parts]) for term in terms]
        if not np.isfinite(loss) or any(
            part.has_pole(self._columns) for term in found for part in term.parts
        ):
            return list(terms), float("inf")
        limits = [term.limit(self._columns) for term in found]
        if limits != found:
            # What looks like a saturation beyond the data may be none.
            simpler, simpler_loss = self._fitted(list(dict.fromkeys(limits)))
            if simpler_loss < _AS_GOOD * loss:
                return simpler, simpler_loss
        self._session.offer(template.with_values(values.tolist()))
        return found, loss

    def _size(self, terms: Sequence[RateTerm]) -> int:
        some = sympy.Float(0.5)
        return complexity(
            sympy.Add(*(some * term.expression([some + i] * len(term.parts)) for i, term in enumerate(terms)))
        )
