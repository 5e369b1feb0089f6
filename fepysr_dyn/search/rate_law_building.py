"""Rate laws built term by term: each choice is followed by a refit of all constants, and reconsidered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.search.least_squares import solve_columns
from fepysr_dyn.search.pairs import best_pairs
from fepysr_dyn.search.problem import Array
from fepysr_dyn.search.rate_law_fitting import RateLawFitter
from fepysr_dyn.search.rate_laws import Part, RateTerm

if TYPE_CHECKING:
    from fepysr_dyn.search.kinetic import KineticConfig
    from fepysr_dyn.search.session import Session

#: What is left of a column after those that were chosen, below which it says nothing new.
_NEW = 1e-4
#: An exchange must lower the misfit by so much to be worth it.
_WORTH_IT = 0.995
#: Another part in a term must lower it by so much.
_WORTH_A_PART = 0.7
#: Another factor must lower it by so much; so many columns are tried as one.
_WORTH_A_FACTOR = 0.9
_FACTORS = 2
#: Laws with a loss so much larger than the best of as many terms are still tried with other exponents.
_NEAR_BEST = 1.5
#: A loss so little larger is worth a part less.
_AS_GOOD = 1.1
_STEPS = 25
#: Terms more that laws with gates may have.
_GATED = 1
#: So often a structure is fitted: from another start it may end elsewhere.
_STARTS = 3
#: A fit of a structure that was offered before is offered if it is better by this factor.
_BETTER = 0.999
#: Laws with a loss so much larger than the best of as many terms are of no use to anybody.
_OFFERED = 100.0
#: Structures that are returned as the best ones beside others.
_RANKED = 6


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
        self._fitter = RateLawFitter(session.problem)
        self._columns = self._fitter.columns
        self._target = self._fitter.target
        self._library = [*library, *(RateTerm((name,)) for name in self._fitter.features)]
        self._matrix = self._fitter.values(self._library)
        # Laws with gates are longer: what goes through a gate often goes past it as well.
        gated = any(part.kind == "gate" for part in parts)
        self._most_terms = config.max_terms + (_GATED if gated else 0)
        #: The law with the smallest loss so far by size.
        self._best: dict[int, tuple[float, list[RateTerm]]] = {}
        self._known: dict[frozenset[object], _Known] = {}
        self._visited: set[frozenset[object]] = set()

    def grow(self, terms: list[RateTerm]) -> None:
        """Add terms one by one, and reconsider all of them after each."""
        if len(terms) > 1:
            terms, loss = self._fitted(terms)
            if np.isfinite(loss):
                terms, _ = self._with_other_exponents(terms, loss)
        while len(terms) < self._most_terms and not self._session.must_stop():
            ranked = self.ranked(terms)
            if not ranked:
                return
            terms = self._reconsidered([*terms, ranked[0]])
            met = _structure(terms)
            if met in self._visited:
                # From here on it would be the same.
                return
            self._visited.add(met)
            terms, loss = self._fitted(terms)
            if not np.isfinite(loss) or _size(terms) > self._session.problem.max_complexity:
                return
            best = self._best_loss(terms)
            if loss < _NEAR_BEST * best:
                terms, loss = self._with_other_exponents(terms, loss)
            if loss <= best:
                terms, loss = self._with_more_parts(terms, loss)
                terms, loss = self._with_more_factors(terms, loss)
                self._eliminated(terms)

    def polish(self) -> None:
        """Improve the best law of each size by exchanging terms, all constants refitted for every trial.

        A term of the library stands on a grid of half-saturations: without a refit it may look worse than
        one that was bent to fit. What becomes plainer on the way is improved as well.
        """
        polished: dict[int, float] = {}
        while not self._session.must_stop():
            changed = [
                size
                for size, (loss, terms) in sorted(self._best.items())
                if loss < polished.get(size, np.inf) and loss <= self._best_loss(terms)
            ]
            if not changed:
                return
            polished[changed[0]], terms = self._best[changed[0]]
            terms, _ = self._exchanged(terms, polished[changed[0]])
            for position, term in enumerate(terms):
                for plainer in term.plainer():
                    self._fitted([*terms[:position], plainer, *terms[position + 1 :]])
            self._eliminated(terms)

    def _best_loss(self, terms: Sequence[RateTerm]) -> float:
        """Return the smallest loss of a law that is not longer than these terms."""
        size = _size(terms)
        return min((loss for other, (loss, _) in self._best.items() if other <= size), default=np.inf)

    def _exchanged(self, terms: list[RateTerm], loss: float) -> tuple[list[RateTerm], float]:
        """Exchange terms one by one for others that stand in for them best, on and on as long as it helps."""
        while (better := self._better_exchange(terms, loss)) is not None:
            terms, loss = better
        return terms, loss

    def _better_exchange(self, terms: list[RateTerm], loss: float) -> tuple[list[RateTerm], float] | None:
        for position, term in enumerate(terms):
            rest = [*terms[:position], *terms[position + 1 :]]
            for other in self.ranked(rest):
                if self._session.must_stop():
                    return None
                if other.structure != term.structure:
                    trial, trial_loss = self._fitted([*rest[:position], other, *rest[position:]])
                    if trial_loss < _WORTH_IT * loss:
                        return trial, trial_loss
        return None

    def pairs(self) -> list[list[RateTerm]]:
        """Return the pairs of the library's terms that explain the most, each with its own structure."""
        kinds = [term.structure for term in self._library]
        found = best_pairs(self._matrix, self._target, kinds, self._config.pairs)
        self._session.spend(len(found))
        return [[self._library[i], self._library[j]] for i, j in found]

    def ranked(self, terms: Sequence[RateTerm]) -> list[RateTerm]:
        """Return the library's terms that lower the misfit most beside those given, one of a structure."""
        return self._ranked(self._library, self._matrix, terms)

    def _ranked(
        self, library: Sequence[RateTerm], matrix: Array, terms: Sequence[RateTerm]
    ) -> list[RateTerm]:
        self._session.spend(1 + len(terms))
        residual, left = self._target, matrix
        sizes = np.linalg.norm(matrix, axis=0)
        if terms:
            basis, _ = np.linalg.qr(self._fitter.values(terms))
            residual = residual - basis @ (basis.T @ residual)
            left = left - basis @ (basis.T @ left)
        remaining = np.linalg.norm(left, axis=0)
        usable = remaining > _NEW * sizes
        gains = np.where(usable, (residual @ left) ** 2 / np.where(usable, remaining, 1.0) ** 2, -1.0)
        best: dict[object, RateTerm] = {}
        for index in np.argsort(-gains):
            if len(best) == _RANKED or gains[index] <= 0:
                break
            best.setdefault(library[index].structure, library[index])
        return list(best.values())

    def _with_other_exponents(self, terms: list[RateTerm], loss: float) -> tuple[list[RateTerm], float]:
        """Change Hill exponents one by one, on and on as long as that helps."""
        improved = True
        while improved and not self._session.must_stop():
            improved = False
            for position, term in enumerate(terms):
                for other in term.neighbours(self._columns):
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
            if self._is_feature(term):
                continue
            rest = [*terms[:position], *terms[position + 1 :]]
            products = [replace(term, parts=(*term.parts, part)) for part in self._parts]
            best = self._ranked(products, self._fitter.values(products), rest)
            if not best:
                continue
            trial, trial_loss = self._fitted([*terms[:position], best[0], *terms[position + 1 :]])
            if trial_loss < _WORTH_A_PART * loss:
                terms, loss = self._with_other_exponents(trial, trial_loss)
        return terms, loss

    def _is_feature(self, term: RateTerm) -> bool:
        """Return whether a term is what other equations say, and stays as it is."""
        return any(name in self._fitter.features for name in term.factors)

    def _with_more_factors(self, terms: list[RateTerm], loss: float) -> tuple[list[RateTerm], float]:
        """Multiply terms that saturate by a column each: the library has one column times one saturation."""
        for position, term in enumerate(terms):
            if self._session.must_stop() or len(term.factors) > 1 or not term.parts:
                continue
            if self._is_feature(term):
                continue
            rest = [*terms[:position], *terms[position + 1 :]]
            products = [replace(term, factors=tuple(sorted((*term.factors, name)))) for name in self._columns]
            for other in self._ranked(products, self._fitter.values(products), rest)[:_FACTORS]:
                trial, trial_loss = self._fitted([*terms[:position], other, *terms[position + 1 :]])
                if trial_loss < _WORTH_A_FACTOR * loss:
                    terms, loss = self._with_other_exponents(trial, trial_loss)
                    break
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
        values = self._fitter.values(terms)
        residual = values @ solve_columns(values, self._target) - self._target
        return float(residual @ residual)

    def _fitted(self, terms: Sequence[RateTerm]) -> tuple[list[RateTerm], float]:
        """Refit all constants of a rate law, offer it, and return its terms with their inner constants."""
        known = self._known.setdefault(_structure(terms), _Known(list(terms)))
        if known.fits < _STARTS:
            known.fits += 1
            fitted, loss = self._refitted(terms)
            if loss < known.loss:
                known.terms, known.loss = fitted, loss
        return known.terms, known.loss

    def _refitted(self, terms: Sequence[RateTerm]) -> tuple[list[RateTerm], float]:
        law = self._fitter.fit(terms)
        self._session.spend(_STEPS)
        found = list(law.terms)
        if not np.isfinite(law.loss):
            return list(terms), float("inf")
        limits = [term.limit(self._columns) for term in found]
        if limits != found:
            # What looks like a saturation beyond the data may be none.
            simpler, simpler_loss = self._fitted(list(dict.fromkeys(limits)))
            if simpler_loss < _AS_GOOD * law.loss:
                return simpler, simpler_loss
            if any(part.runs_away(self._columns) for term in found for part in term.parts):
                return found, float("inf")
        best = self._best_loss(found)
        known = self._known.get(_structure(found))
        if law.loss < _OFFERED * best and (known is None or law.loss < _BETTER * known.loss):
            self._session.offer(self._fitter.written(law))
        if law.loss < best:
            self._best[_size(found)] = law.loss, found
        return found, law.loss


@dataclass
class _Known:
    """The best fit so far of a law with one structure, and how many there were."""

    terms: list[RateTerm]
    loss: float = float("inf")
    fits: int = 0


def _structure(terms: Sequence[RateTerm]) -> frozenset[object]:
    """Return what is left of a law without its constants; two terms may have the same structure."""
    return frozenset(Counter(term.structure for term in terms).items())


def _size(terms: Sequence[RateTerm]) -> int:
    return sum(term.size for term in terms)
