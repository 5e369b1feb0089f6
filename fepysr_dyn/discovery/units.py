"""The units of work of a discovery: each a pure function of its arguments, with a stream of its own.

A unit takes plain data and documents of earlier units and returns a document, so that it can run in any
process on any machine, and its answer can be kept in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fepysr_dyn.derivatives import estimate_derivatives
from fepysr_dyn.discovery.codec import Document, dataset_document
from fepysr_dyn.discovery.config import DiscoveryConfig
from fepysr_dyn.discovery.documents import (
    derivatives_document,
    read_derivatives,
    read_search,
    read_settled,
    search_document,
    settled_document,
)
from fepysr_dyn.discovery.forms import FORMS, POINTWISE, TOLERANT
from fepysr_dyn.discovery.settling import NAME, SearchKey, settle
from fepysr_dyn.discovery.states import search_state
from fepysr_dyn.errors import OptionError
from fepysr_dyn.measured_system import measured_system
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.search.problem import Runtime
from fepysr_dyn.trajectories import Trajectories
from fepysr_dyn.validation import validate


@dataclass(frozen=True)
class Unit:
    """One unit of work.

    Parameters
    ----------
    name : tuple of str
        What it is: ("derivatives",), ("search", state, form), ("system",) or ("validation",).
    function : callable
        Takes a `Runtime` and the arguments, returns a document.
    depends_on : tuple of str
        Hashes of all that decides the answer beyond the data, the configuration and the seed.
    seconds : float
        A time limit that only cuts short.
    """

    name: tuple[str, ...]
    function: Callable[..., Document]
    arguments: tuple[Any, ...]
    depends_on: tuple[str, ...] = ()
    seconds: float = float("inf")

    @property
    def title(self) -> str:
        """The name as people read it."""
        return " ".join(self.name)

    @property
    def state(self) -> str | None:
        """The state whose right-hand side is searched, if that is what the unit does."""
        return self.name[1] if self.name[0] == "search" else None

    @property
    def label(self) -> str:
        """The state, with the form of its problem where that is not the usual one."""
        state, form = self.name[1:]
        return state if form == POINTWISE else f"{state} ({form})"


@dataclass(frozen=True)
class Seeds:
    """Streams of all units, from one seed: none depends on how many others there are."""

    seed: int

    def __post_init__(self) -> None:
        """Refuse what cannot be a seed."""
        if self.seed < 0:
            raise OptionError(f"a seed must be a whole number of at least 0, got {self.seed}")

    def system(self) -> int:
        """Return the seed of the choice of the system."""
        return _number(np.random.SeedSequence(self.seed).spawn(1)[0])

    def search(self, position: int, form: str) -> int:
        """Return the seed of the search for the state at a position."""
        stream = np.random.SeedSequence(self.seed).spawn(2 + position)[-1]
        return _number(stream.spawn(1 + list(FORMS).index(form))[-1])


def _number(stream: np.random.SeedSequence) -> int:
    return int(stream.generate_state(1)[0])


def derive_unit(runtime: Runtime, trajectories: Trajectories) -> Document:
    """Estimate derivatives."""
    return derivatives_document(estimate_derivatives(trajectories))


def search_unit(
    runtime: Runtime,
    key: SearchKey,
    trajectories: Trajectories,
    derivatives: Document,
    config: DiscoveryConfig,
    seed: int,
) -> Document:
    """Search the right-hand side of one state with one form of the problem."""
    state, form = key
    problem = FORMS[form](state, trajectories, read_derivatives(derivatives), config, seed)
    return search_document(search_state(state, problem, config, runtime, form=form))


def settle_unit(
    runtime: Runtime,
    trajectories: Trajectories,
    derivatives: Document,
    searches: Mapping[SearchKey, Document],
    config: DiscoveryConfig,
    seed: int,
) -> Document:
    """Choose the system and refit its constants."""
    slopes = read_derivatives(derivatives)
    found = {key: read_search(document) for key, document in searches.items()}
    # Nothing random is left in a problem that was searched: any seed makes the same one.
    problems = {
        (state, form): FORMS[form](state, trajectories, slopes, config, seed)
        for state, form in found
        if form in (POINTWISE, TOLERANT)
    }
    return settled_document(settle(found, problems, trajectories, slopes, config, seed, runtime))


def validate_unit(
    runtime: Runtime, trajectories: Trajectories, derivatives: Document, settled: Document, truth: str | None
) -> Document:
    """Integrate the system again; `truth` is the text of a model file."""
    choice = read_settled(settled)
    # Against the smoothed states: against the samples, R² would mostly tell how noisy they are.
    smoothed = Trajectories(read_derivatives(derivatives).experiments)
    true_system = None if truth is None else system_from_toml(truth)
    system = measured_system(NAME, choice.rates, trajectories)
    scores = validate(system, smoothed, truth=true_system, initial=choice.initial)
    return {**scores.to_dict(), "simulated": [dataset_document(run.simulated) for run in scores.runs]}
