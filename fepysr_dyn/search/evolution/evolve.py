"""One epoch of an island: select, change, fit, keep."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution.archive import Island, archive, is_new, niche_of, oldest, store
from fepysr_dyn.search.evolution.backsolve import MAX_PICKS, invert_path, pick_entries, put_sum
from fepysr_dyn.search.evolution.constants import optimise_constants
from fepysr_dyn.search.evolution.fitting import loss_of, split_terms
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.kernels import forward, subtree_sizes
from fepysr_dyn.search.evolution.library import Library
from fepysr_dyn.search.evolution.mutation import Rules, cost_of, join_terms, move, mutate, put
from fepysr_dyn.search.evolution.randomness import below, uniform
from fepysr_dyn.search.evolution.simplify import simplify, structure_hash
from fepysr_dyn.search.evolution.workspace import Data, Workspace

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

#: Mutations of `mutate`, then those that look at the data.
RANDOM_KINDS = 8
ADD_TERM, SOLVE_BACKWARDS, DROP_TERM = 8, 9, 10
KINDS = 11


@kernel
def select(island: Island, tournament: int, archive_share: float, parsimony: float) -> int:
    """Return the winner of a tournament, in which common complexities are held back."""
    stream = island.stream
    from_archive = island.filled[0] > 0 and uniform(stream) < archive_share
    total = 0.0
    for c in range(island.frequencies.shape[0]):
        total += island.frequencies[c]
    best, best_score = -1, np.inf
    for _ in range(tournament):
        if from_archive:
            place = island.occupied[below(stream, island.filled[0])]
        else:
            place = below(stream, island.population)
        if island.lengths[place] == 0:
            continue
        share = island.frequencies[island.costs[place]] / (total + 1.0)
        score = island.losses[place] * math.exp(parsimony * share)
        if score < best_score or best < 0:
            best, best_score = place, score
    return best


@kernel
def _add_term(
    parent: tuple[Codes, Floats], length: int, data: Data, work: Workspace, library: Library,
    child: tuple[Codes, Floats], stream: NDArray[np.uint64],
) -> int:
    """Add the library entry that explains most of the residual as a new summand."""
    if not loss_of(parent[0], parent[1], length, data, work) < np.inf:
        return 0
    picks = np.zeros(MAX_PICKS, dtype=np.int64)
    coefficients = np.zeros(MAX_PICKS + 1)
    most = 1 if uniform(stream) < 0.7 else 2
    if library.measured.shape[0] > 0:
        count = pick_entries(
            library.measured, library.costs, work.residual, data.one * 0.0 + 1.0, most, picks, coefficients, stream
        )
    else:
        wanted = library.target.copy()
        terms = split_terms(parent[0], length, work.sizes, work.roots, work.pending, True)
        for t in range(terms):
            root = work.roots[t]
            forward(
                parent[0], parent[1], work.sizes, (root - work.sizes[root] + 1, root + 1), library.inputs, 0,
                work.tape,
            )
            for r in range(wanted.shape[0]):
                wanted[r] -= work.coefficients[t + 1] * work.tape[root, r]
        count = pick_entries(
            library.values, library.costs, wanted, library.weights, most, picks, coefficients, stream
        )
    end = move(parent[0], parent[1], 0, length, child[0], child[1], 0)
    for k in range(count):
        g = picks[k]
        for i in range(library.lengths[g]):
            end = put(child[0], child[1], end, library.codes[g, i], 0.0)
        end = put(child[0], child[1], end, 1, 0.0)
    return end if end <= child[0].shape[0] and count > 0 else 0


@kernel
def _solve_backwards(
    parent: tuple[Codes, Floats], length: int, data: Data, work: Workspace, library: Library,
    child: tuple[Codes, Floats], stream: NDArray[np.uint64],
) -> int:
    """Replace a random subtree by the sum of library entries that its wanted values call for."""
    codes, values = parent
    if library.measured.shape[0] > 0 or not loss_of(codes, values, length, data, work) < np.inf:
        return 0
    terms = split_terms(codes, length, work.sizes, work.roots, work.pending, True)
    if terms == 0:
        return 0
    chosen = below(stream, terms)
    wanted = library.target.copy()
    weights = library.weights.copy()
    factor = work.coefficients[chosen + 1]
    if factor == 0.0:
        return 0
    for t in range(terms):
        root = work.roots[t]
        forward(codes, values, work.sizes, (root - work.sizes[root] + 1, root + 1), library.inputs, 0, work.tape)
        if t != chosen:
            for r in range(wanted.shape[0]):
                wanted[r] -= work.coefficients[t + 1] * work.tape[root, r]
    for r in range(wanted.shape[0]):
        wanted[r] = (wanted[r] - work.coefficients[0]) / factor
        weights[r] *= abs(factor)
    root = work.roots[chosen]
    node = root - below(stream, work.sizes[root])
    usable = invert_path(codes, work.sizes, root, node, work.tape, wanted, weights)
    if usable < 0.6 * wanted.shape[0] or usable < 6:
        return 0
    picks = np.zeros(MAX_PICKS, dtype=np.int64)
    coefficients = np.zeros(MAX_PICKS + 1)
    most = 1 + below(stream, MAX_PICKS)
    count = pick_entries(library.values, library.costs, wanted, weights, most, picks, coefficients, stream)
    if count == 0:
        return 0
    end = move(codes, values, 0, node - work.sizes[node] + 1, child[0], child[1], 0)
    end = put_sum(library, picks, count, coefficients, child, end)
    end = move(codes, values, node + 1, length, child[0], child[1], end)
    return end if end <= child[0].shape[0] else 0


@kernel
def change(
    kind: int, island: Island, places: tuple[int, int], data: Data, work: Workspace, rules: Rules,
    library: Library, child: tuple[Codes, Floats],
) -> int:
    """Write a changed copy of an individual; return its length, 0 if there is none."""
    parent = (island.codes[places[0]], island.values[places[0]])
    mate = (island.codes[places[1]], island.values[places[1]])
    length = island.lengths[places[0]]
    if kind == ADD_TERM:
        return _add_term(parent, length, data, work, library, child, island.stream)
    if kind == SOLVE_BACKWARDS:
        return _solve_backwards(parent, length, data, work, library, child, island.stream)
    if kind == DROP_TERM:
        subtree_sizes(parent[0], length, work.sizes)
        terms = split_terms(parent[0], length, work.sizes, work.roots, work.pending, data.is_scaled)
        if terms < 2:
            return 0
        return join_terms(parent, work.roots, terms, below(island.stream, terms), work.sizes, child)
    return mutate(
        kind, parent, length, mate, island.lengths[places[1]], child, rules, island.stream, work.sizes
    )


@kernel
def normalise(
    child: tuple[Codes, Floats], length: int, other: tuple[Codes, Floats], is_scaled: bool, rules: Rules,
    work: Workspace,
) -> tuple[int, int, np.uint64]:
    """Simplify a program and strip its linear coefficients; return length, summands and hash.

    The result is written to `other`. The hash does not depend on the order of the summands.
    """
    length = simplify(child[0], child[1], length, rules.allowed, work.sizes)
    subtree_sizes(child[0], length, work.sizes)
    terms = split_terms(child[0], length, work.sizes, work.roots, work.pending, is_scaled)
    key = np.uint64(terms)
    for t in range(terms):
        root = work.roots[t]
        key += structure_hash(child[0], root - work.sizes[root] + 1, root + 1)
    if is_scaled:
        length = join_terms(child, work.roots, terms, -1, work.sizes, other)
    else:
        length = move(child[0], child[1], 0, length, other[0], other[1], 0)
    return length, terms, key


@kernel
def _count_constants(codes: Codes, length: int) -> int:
    count = 0
    for i in range(length):
        if codes[i] == 0:
            count += 1
    return count


@kernel
def evolve(
    island: Island, data: Data, work: Workspace, rules: Rules, library: Library, settings: Floats, limit: float
) -> float:
    """Advance an island by about `limit` evaluations; return those spent.

    `settings` holds tournament size, share of the archive, parsimony and the loss that counts as exact.
    """
    nodes = island.codes.shape[1]
    child = (np.zeros(nodes, dtype=np.int16), np.zeros(nodes))
    fresh = (np.zeros(nodes, dtype=np.int16), np.zeros(nodes))
    tournament, archive_share, parsimony, exact = int(settings[0]), settings[1], settings[2], settings[3]
    lookup = 1.0 + library.values.shape[0] * library.values.shape[1] / (20.0 * data.X.shape[1])
    stream = island.stream
    spent = 0.0
    while spent < limit:
        spent += 0.05
        place = select(island, tournament, archive_share, parsimony)
        pick = uniform(stream)
        kind = 0
        while kind < KINDS - 1 and pick > rules.chances[kind]:
            kind += 1
        parent_loss = 1.0
        if place < 0 or island.clock[0] < island.population:
            kind = 7
            place = max(place, 0)
        else:
            parent_loss = island.losses[place]
        mate = select(island, tournament, archive_share, parsimony) if kind == 6 else place
        if kind == ADD_TERM or kind == SOLVE_BACKWARDS:
            spent += lookup
        length = change(kind, island, (place, mate), data, work, rules, library, child)
        if length == 0:
            continue
        length, terms, key = normalise(child, length, fresh, data.is_scaled, rules, work)
        if length == 0:
            continue
        cost = cost_of(fresh[0], length, rules.costs)
        if cost > rules.max_cost:
            continue
        constants = _count_constants(fresh[0], length)
        # With constants inside, a structure deserves several starting points.
        if constants > 0:
            key += np.uint64(below(stream, 3))
        if not is_new(island.seen, key):
            island.clock[0] += 1
            island.births[place] = island.clock[0]
            continue
        loss = loss_of(fresh[0], fresh[1], length, data, work)
        spent += 1.0
        if constants > 0 and loss < np.inf:
            loss, used = optimise_constants(fresh[0], fresh[1], length, data, work, 3, exact * 1e-4)
            spent += used
            if exact < loss < 2.0 * parent_loss:
                loss, used = optimise_constants(fresh[0], fresh[1], length, data, work, 15, exact * 1e-4)
                spent += used
        if not loss < np.inf:
            continue
        island.frequencies[cost] += 1.0
        store(island, oldest(island), fresh, length, loss, cost)
        archive(island, fresh, length, loss, cost, niche_of(fresh[0], length, terms))
        if loss < exact:
            break
    for c in range(island.frequencies.shape[0]):
        island.frequencies[c] *= 0.7
    return spent
