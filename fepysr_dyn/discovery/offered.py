"""What the searches for the states offer to the system, and the systems to begin with."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import sympy

from fepysr_dyn.discovery.confidence import structure_of
from fepysr_dyn.discovery.states import StateSearch
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.system import OdeSystem

#: Candidates of a front before and after the chosen one that are tried in the system.
_SHORTER, _LONGER = 6, 3


def has_structure(search: StateSearch, rate: sympy.Expr) -> bool:
    """Return whether a right-hand side is among what a search offers to the system."""
    return structure_of(rate) in {structure_of(candidate.expression) for candidate in _options(search)}


def all_options(searches: Sequence[StateSearch]) -> list[Candidate]:
    """Return what the searches for a state offer, each structure once.

    They take turns, because time may be up before all candidates have had theirs.
    """
    turns = itertools.zip_longest(*(_options(search) for search in searches))
    offered = [candidate for turn in turns for candidate in turn if candidate is not None]
    return list({structure_of(c.expression): c for c in offered}.values())


def _options(search: StateSearch) -> list[Candidate]:
    """Return the chosen candidate, its alternatives, and its neighbours on the front."""
    front = list(search.front)
    chosen = search.choice.unsnapped
    position = sum(candidate.complexity < chosen.complexity for candidate in front)
    near = front[max(0, position - _SHORTER) : position + _LONGER + 1]
    return [chosen, *search.choice.alternatives, *near]


def likely_and_rest(search: StateSearch) -> tuple[list[Candidate], list[Candidate]]:
    """Return what a search offers, and what lies far off that; each structure once."""
    likely = all_options([search])
    return likely, unlikely([search], likely)


def shortlisted(searches: Sequence[StateSearch], best_alone: Sequence[Candidate]) -> list[Candidate]:
    """Return the best candidates of a state, and what each search chose."""
    chosen = [search.choice.unsnapped for search in searches]
    return list({structure_of(c.expression): c for c in (*best_alone, *chosen)}.values())


def unlikely(searches: Sequence[StateSearch], offered: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates of a state that lie far from what was chosen."""
    known = {structure_of(candidate.expression) for candidate in offered}
    rest = {structure_of(c.expression): c for search in searches for c in search.front}
    return [candidate for structure, candidate in rest.items() if structure not in known]


def first_systems(
    system: OdeSystem,
    searches: Mapping[str, Sequence[StateSearch]],
    options: Mapping[str, Sequence[Candidate]],
) -> list[OdeSystem]:
    """Return the systems from which equations are exchanged.

    The best equations alone, what was chosen by derivatives, and what each further form of the problem chose.
    """
    own_best = {state: own[0] for state, own in options.items()}
    forms = max(len(found) for found in searches.values())
    by_form = [
        {state: searches[state][min(form, len(searches[state]) - 1)].choice.unsnapped for state in options}
        for form in range(1, forms)
    ]
    begun = ({s: c.expression for s, c in rates.items()} for rates in (own_best, *by_form))
    return [replace(system, rates={**system.rates, **rates}) for rates in begun]
