"""Individuals of an island: a population that ages, and an archive with one place per kind of expression.

The archive is a grid of complexity by kind. A kind is which operators beyond sums and products an
expression uses and how many summands it has, hashed into a few niches; so a formula with a sine survives
beside a better polynomial of the same size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.randomness import Stream, mix

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

NICHES = 16
_TABLE = 1 << 15
_MASK = np.uint64(_TABLE - 1)
_ONE = np.uint64(1)


class Island(NamedTuple):
    """State of an island; rows up to `population` age, the others are the archive's places.

    `clock` counts births; `occupied` lists filled places, its length in `filled`; `wishes` are the next frame
    to try and the step to the one after.
    """

    codes: Codes
    values: Floats
    lengths: Integers
    losses: Floats
    costs: Integers
    births: Integers
    frequencies: Floats
    seen: NDArray[np.uint64]
    occupied: Integers
    filled: Integers
    clock: Integers
    wishes: Integers
    stream: Stream
    population: int


def make_island(population: int, max_cost: int, nodes: int, seed: int, wishes: tuple[int, int]) -> Island:
    """Make an empty island with its own random stream and its share of the frames to try first."""
    places = population + (max_cost + 1) * NICHES
    return Island(
        codes=np.zeros((places, nodes), dtype=np.int16),
        values=np.zeros((places, nodes)),
        lengths=np.zeros(places, dtype=np.int64),
        losses=np.full(places, np.inf),
        costs=np.zeros(places, dtype=np.int64),
        births=np.zeros(places, dtype=np.int64),
        frequencies=np.zeros(max_cost + 1),
        seen=np.zeros(_TABLE, dtype=np.uint64),
        occupied=np.zeros(places, dtype=np.int64),
        filled=np.zeros(1, dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
        wishes=np.array(wishes, dtype=np.int64),
        stream=np.array([seed], dtype=np.uint64),
        population=population,
    )


@kernel
def is_new(seen: NDArray[np.uint64], key: np.uint64) -> bool:
    """Return whether a hash is not in the table, and put it there; old hashes are overwritten in time."""
    place = key & _MASK
    if seen[place] == key:
        return False
    seen[place] = key
    return True


@kernel
def niche_of(codes: Codes, length: int, terms: int) -> int:
    """Return the kind of an expression as a small number."""
    kinds = np.uint64(min(terms, 4))
    for i in range(length):
        code = codes[i]
        if op.DIV <= code < op.FIRST_INPUT and code != op.NEG and code != op.SQUARE and code != op.CUBE:
            kinds |= _ONE << np.uint64(code)
    niche: int = np.int64(mix(kinds) % np.uint64(NICHES))  # type: ignore[assignment]
    return niche


@kernel
def store(
    island: Island, place: int, program: tuple[Codes, Floats], length: int, loss: float, cost: int
) -> None:
    """Write an individual to a place."""
    for i in range(length):
        island.codes[place, i] = program[0][i]
        island.values[place, i] = program[1][i]
    island.lengths[place] = length
    island.losses[place] = loss
    island.costs[place] = cost
    island.clock[0] += 1
    island.births[place] = island.clock[0]


@kernel
def oldest(island: Island) -> int:
    """Return the place of the individual of the population that was born first."""
    place = 0
    for i in range(1, island.population):
        if island.births[i] < island.births[place]:
            place = i
    return place


@kernel
def archive(
    island: Island, program: tuple[Codes, Floats], length: int, loss: float, cost: int, niche: int
) -> bool:
    """Keep an individual if it is the best of its kind and complexity."""
    place = island.population + cost * NICHES + niche
    if not loss < island.losses[place]:
        return False
    if island.lengths[place] == 0:
        island.occupied[island.filled[0]] = place
        island.filled[0] += 1
    store(island, place, program, length, loss, cost)
    return True
