"""One epoch of an island: select, change, fit, keep."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution.archive import Island, archive, is_new, niche_of, oldest, store
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.library import Library
from fepysr_dyn.search.evolution.lookup import lookup_cost, pair_cost, pair_entries_for
from fepysr_dyn.search.evolution.mutation import Rules, cost_of
from fepysr_dyn.search.evolution.opcodes import ADD_TERM, SOLVE_BACKWARDS
from fepysr_dyn.search.evolution.pointers import Kernels
from fepysr_dyn.search.evolution.randomness import below, uniform
from fepysr_dyn.search.evolution.workspace import Data, Workspace

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

#: Kinds of changes: first those of `mutate`, then those of `propose`, which look at the data.
KINDS = 11


@kernel
def select(island: Island, tournament: int, archive_share: float, parsimony: float) -> int:
    """Return the winner of a tournament, in which common complexities are held back.

    Half of the tournaments are only open up to a random complexity: what is best among the simple is often
    nearer to the truth than what is best of all.
    """
    stream = island.stream
    from_archive = island.filled[0] > 0 and uniform(stream) < archive_share
    total = 0.0
    for c in range(island.frequencies.shape[0]):
        total += island.frequencies[c]
    most = island.frequencies.shape[0]
    if uniform(stream) < 0.5:
        most = 3 + below(stream, most)
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
        if island.costs[place] > most:
            score *= 1e30
        if score < best_score or best < 0:
            best, best_score = place, score
    return best


@kernel
def _count_constants(codes: Codes, length: int) -> int:
    count = 0
    for i in range(length):
        if codes[i] == 0:
            count += 1
    return count


@kernel
def evolve(
    kernels: Kernels,
    island: Island,
    data: Data,
    work: Workspace,
    rules: Rules,
    library: Library,
    settings: Floats,
    limit: float,
) -> float:
    """Advance an island by about `limit` evaluations; return those spent.

    `settings` holds tournament size, share of the archive, parsimony, the loss that counts as exact, the
    shares of skeletons and of pairs, and how many frames of formulas are tried first.
    """
    nodes = island.codes.shape[1]
    child = (np.zeros(nodes, dtype=np.int16), np.zeros(nodes))
    fresh = (np.zeros(nodes, dtype=np.int16), np.zeros(nodes))
    tournament, archive_share, parsimony = int(settings[0]), settings[1], settings[2]
    exact, skeletons, pair_share, wishes = settings[3], settings[4], settings[5], settings[6]
    lookup, pairs = lookup_cost(library, data.X.shape[1]), pair_cost(library, data.X.shape[1])
    entries = pair_entries_for(library, data.X.shape[1])
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
        wish = -1
        if kind != 7 and data.is_scaled and island.wishes[0] < wishes and library.measured.shape[0] == 0:
            wish = island.wishes[0]
            island.wishes[0] += island.wishes[1]
            kind = ADD_TERM
            parent_loss = 1.0
        mate = select(island, tournament, archive_share, parsimony) if kind == 6 else place
        parent = (island.codes[place], island.values[place])
        length = int(island.lengths[place])
        if kind >= ADD_TERM:
            use_pairs = wish >= 0 or uniform(stream) < pair_share
            spent += (lookup + pairs if use_pairs else lookup) if kind <= SOLVE_BACKWARDS else 1.0
            if kind == SOLVE_BACKWARDS and uniform(stream) < skeletons:
                # Any small expression can be the skeleton around the subtree that is solved for.
                entry = int(library.lengths.shape[0] * uniform(stream) ** 3)
                length = int(library.lengths[entry])
                for i in range(length):
                    fresh[0][i] = library.codes[entry, i]
                parent = fresh
                parent_loss = 1.0
            loss, used = kernels.fit(parent[0], parent[1], length, data, work, 0, 0.0)
            paired = entries if use_pairs else 0
            length = kernels.propose(
                kind, parent, length, work, library, child, rules.allowed, wish, paired, stream
            )
        else:
            partner = (island.codes[mate], island.values[mate])
            length = kernels.mutate(
                kind, parent, length, partner, int(island.lengths[mate]), child, rules, stream, work.sizes
            )
        if length == 0:
            continue
        length, terms, key = kernels.normalise(child, length, fresh, data.is_scaled, rules, work)
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
        loss, used = kernels.fit(fresh[0], fresh[1], length, data, work, 2, exact * 1e-4)
        spent += used
        if constants > 0 and exact < loss < 2.0 * parent_loss:
            loss, used = kernels.fit(fresh[0], fresh[1], length, data, work, 15, exact * 1e-4)
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
