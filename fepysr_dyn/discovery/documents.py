"""What passes from one unit of work to the next, as JSON documents.

Units hand on documents, never objects: so a result is the same whether a unit ran in this process, in
another one, or yesterday before the run was killed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from fepysr_dyn.derivatives import Derivatives
from fepysr_dyn.derivatives.result import Choice as DerivativeChoice
from fepysr_dyn.discovery.codec import (
    Array,
    Document,
    array_document,
    dataset_document,
    expression_document,
    read_array,
    read_dataset,
    read_expression,
)
from fepysr_dyn.discovery.states import StateSearch
from fepysr_dyn.refinement import FittedConstant
from fepysr_dyn.search.front import Candidate, ParetoFront
from fepysr_dyn.search.selection import Choice


@dataclass(frozen=True)
class Settled:
    """The equations chosen for the whole system.

    Parameters
    ----------
    rates : mapping of str to sympy expression
        Right-hand sides with their final constants.
    forms : mapping of str to str
        Which form of the problem each right-hand side was found with.
    initial : tuple of arrays
        Initial state of each experiment.
    message : str
        What the user should know about the refinement; empty if nothing.
    """

    rates: Mapping[str, sympy.Expr]
    forms: Mapping[str, str]
    constants: tuple[FittedConstant, ...]
    initial: tuple[Array, ...]
    confidence: Mapping[str, float]
    message: str = ""


def derivatives_document(derivatives: Derivatives) -> Document:
    """Return derivatives as a document."""
    return {
        "experiments": [dataset_document(run) for run in derivatives],
        "choices": [vars(choice) for choice in derivatives.choices],
    }


def read_derivatives(document: Document) -> Derivatives:
    """Return the derivatives of a document."""
    return Derivatives(
        tuple(read_dataset(run) for run in document["experiments"]),
        tuple(DerivativeChoice(**choice) for choice in document["choices"]),
    )


def front_document(front: ParetoFront) -> Document:
    """Return a front as a document."""
    return {"candidates": _candidates(front), "complete": front.complete, "message": front.message}


def read_front(document: Document) -> ParetoFront:
    """Return the front of a document."""
    candidates = tuple(_read_candidate(entry) for entry in document["candidates"])
    return ParetoFront(candidates, bool(document["complete"]), str(document["message"]))


def search_document(search: StateSearch) -> Document:
    """Return the search for one state as a document."""
    choice = search.choice
    return {
        "state": search.state,
        "front": front_document(search.front),
        "choice": {
            "candidate": _candidate(choice.candidate),
            "unsnapped": _candidate(choice.unsnapped),
            "alternatives": _candidates(choice.alternatives),
            "exact": bool(choice.exact),
            "noise": choice.noise,
            "reason": choice.reason,
        },
        "features": [expression_document(feature) for feature in search.features],
        "complete": bool(search.front.complete or choice.exact),
    }


def read_search(document: Document) -> StateSearch:
    """Return the search of a document."""
    choice = document["choice"]
    return StateSearch(
        document["state"],
        read_front(document["front"]),
        Choice(
            _read_candidate(choice["candidate"]),
            _read_candidate(choice["unsnapped"]),
            tuple(_read_candidate(entry) for entry in choice["alternatives"]),
            bool(choice["exact"]),
            float(choice["noise"]),
            str(choice["reason"]),
        ),
        tuple(read_expression(feature) for feature in document["features"]),
    )


def settled_document(settled: Settled) -> Document:
    """Return the chosen equations as a document."""
    return {
        "rates": {state: expression_document(rate) for state, rate in settled.rates.items()},
        "forms": dict(settled.forms),
        "constants": [[c.state, c.value, c.standard_error] for c in settled.constants],
        "initial": [array_document(values) for values in settled.initial],
        "confidence": dict(settled.confidence),
        "message": settled.message,
    }


def read_settled(document: Document) -> Settled:
    """Return the chosen equations of a document."""
    return Settled(
        {state: read_expression(rate) for state, rate in document["rates"].items()},
        dict(document["forms"]),
        tuple(FittedConstant(state, float(value), float(se)) for state, value, se in document["constants"]),
        tuple(read_array(values) for values in document["initial"]),
        {state: float(share) for state, share in document["confidence"].items()},
        str(document["message"]),
    )


def _candidate(candidate: Candidate) -> Document:
    return {
        "expression": expression_document(candidate.expression),
        "complexity": int(candidate.complexity),
        "loss": candidate.loss,
        "engine": candidate.engine,
    }


def _candidates(candidates: Sequence[Candidate] | ParetoFront) -> list[Document]:
    return [_candidate(candidate) for candidate in candidates]


def _read_candidate(entry: Mapping[str, Any]) -> Candidate:
    return Candidate(
        read_expression(entry["expression"]),
        int(entry["complexity"]),
        float(entry["loss"]),
        str(entry["engine"]),
    )
