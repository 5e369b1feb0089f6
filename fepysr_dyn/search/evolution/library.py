"""All small expressions over the inputs, with their values, for looking up what a subtree should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

#: Nodes of the longest entry.
ENTRY_NODES = 16
_DIGITS = 9

_UNARY: dict[int, Callable[[Floats], Floats]] = {
    **{op.NEG: np.negative, op.SQUARE: np.square, op.CUBE: lambda a: a * a * a, op.INV: np.reciprocal},
    **{op.EXP: np.exp, op.LOG: np.log, op.SQRT: np.sqrt, op.ABS: np.abs, op.SIGN: np.sign, op.SIN: np.sin},
    **{op.COS: np.cos, op.TAN: np.tan, op.TANH: np.tanh, op.SINH: np.sinh, op.COSH: np.cosh},
    **{op.ATAN: np.arctan},
}
_BINARY: dict[int, Callable[[Floats, Floats], Floats]] = {
    **{op.ADD: np.add, op.SUB: np.subtract, op.MUL: np.multiply, op.DIV: np.divide, op.POW: np.power},
}
_COMMUTATIVE = (op.ADD, op.MUL)


class Library(NamedTuple):
    """Entries that differ by more than a linear map, cheapest first.

    `values` holds them on the screening rows `inputs`, `target` and `weights` belong to; `measured` what
    the weak form makes of them, weighted (empty without a measurement operator).
    """

    codes: Codes
    lengths: Integers
    costs: Integers
    values: Floats
    inputs: Floats
    target: Floats
    weights: Floats
    measured: Floats


class _Entry(NamedTuple):
    codes: tuple[int, ...]
    cost: int


class _Enumeration:
    """Expressions by increasing cost, each function once."""

    def __init__(self, inputs: Floats, seed: int, limit: int) -> None:
        self.probes = np.random.default_rng(seed).normal(size=(inputs.shape[1], 2))
        self.limit = limit
        self.by_cost: dict[int, tuple[list[_Entry], Floats]] = {}
        self.seen: set[tuple[float, ...]] = set()
        self.entries: list[_Entry] = []
        self.blocks: list[Floats] = []

    def add(self, cost: int, entries: list[_Entry], values: Floats) -> None:
        """Keep the new functions among some expressions of one cost."""
        with np.errstate(all="ignore"):
            finite = np.all(np.isfinite(values), axis=1) & (np.abs(values).max(axis=1) < 1e12)
        index = np.flatnonzero(finite)
        norm = np.sqrt(np.mean(values[index] ** 2, axis=1)) + 1e-300
        keys = np.round((values[index] / norm[:, None]) @ self.probes, _DIGITS)
        kept: list[int] = []
        for row, key, size in zip(index, keys, norm, strict=True):
            name = (float(key[0]), float(key[1]), float(f"{size:.9g}"))
            if name not in self.seen and len(self.entries) + len(kept) < self.limit:
                self.seen.add(name)
                kept.append(int(row))
        if not kept:
            return
        chosen = [entries[row] for row in kept]
        old_entries, old_values = self.by_cost.get(cost, ([], np.zeros((0, values.shape[1]))))
        self.by_cost[cost] = (old_entries + chosen, np.vstack([old_values, values[kept]]))
        self.entries.extend(chosen)
        self.blocks.append(values[kept])

    @property
    def is_full(self) -> bool:
        return len(self.entries) >= self.limit


def enumerate_expressions(
    inputs: Floats, input_costs: Sequence[int], operators: Sequence[int], limit: int, seed: int = 0
) -> tuple[list[tuple[int, ...]], list[int], Floats]:
    """Return programs, costs and values of all small expressions without constants, cheapest first."""
    found = _Enumeration(inputs, seed, limit)
    most = max(input_costs)
    unary = [code for code in operators if op.ARITY[code] == 1]
    binary = [code for code in operators if op.ARITY[code] == 2]
    for cost in range(1, 9):
        own = [i for i, value in enumerate(input_costs) if value == cost or (cost == 8 and value > 8)]
        if own:
            found.add(cost, [_Entry((op.FIRST_INPUT + i,), cost) for i in own], inputs[own])
        # Products before functions of functions, as the first entries are tried most.
        for left in range(1, cost - 1):
            for code in binary:
                right = cost - 1 - left
                if found.is_full or (code in _COMMUTATIVE and left < right):
                    continue
                _add_pairs(found, code, left, right)
        for code in unary:
            entries, values = found.by_cost.get(cost - int(op.COST[code]), ([], inputs[:0]))
            if entries and not found.is_full:
                with np.errstate(all="ignore"):
                    result = _UNARY[code](values)
                found.add(cost, [_Entry((*e.codes, code), cost) for e in entries], result)
        if found.is_full and cost >= min(most, 8):
            break
    return (
        [entry.codes for entry in found.entries],
        [entry.cost for entry in found.entries],
        np.vstack(found.blocks),
    )


def _add_pairs(found: _Enumeration, code: int, left: int, right: int) -> None:
    empty: tuple[list[_Entry], Floats] = ([], np.zeros((0, 1)))
    first, first_values = found.by_cost.get(left, empty)
    second, second_values = found.by_cost.get(right, empty)
    for entry, row in zip(first, first_values, strict=True):
        if not second or found.is_full:
            return
        with np.errstate(all="ignore"):
            result = _BINARY[code](row[None, :], second_values)
        joined = [_Entry((*entry.codes, *e.codes, code), left + right + 1) for e in second]
        found.add(left + right + 1, joined, result)


def monomials(inputs: Floats, limit: int) -> tuple[list[tuple[int, ...]], list[int], Floats]:
    """Return programs, costs and values of products of inputs, by degree, as many as the limit allows."""
    programs: list[tuple[int, ...]] = []
    costs: list[int] = []
    values: list[Floats] = []
    for degree in range(2, 7):
        chosen = list(combinations_with_replacement(range(len(inputs)), degree))
        if len(programs) + len(chosen) > limit:
            break
        for factors in chosen:
            first, *others = (op.FIRST_INPUT + i for i in factors)
            programs.append((first, *(code for other in others for code in (other, op.MUL))))
            distinct = len(set(factors))
            repeated = sum(factors.count(i) > 1 for i in set(factors))
            costs.append(2 * distinct - 1 + 2 * repeated)
            values.append(np.prod(inputs[list(factors)], axis=0))
    return programs, costs, np.array(values).reshape(-1, inputs.shape[1])


def distinct_up_to_scale(values: Floats) -> Integers:
    """Return the rows that are no linear map of an earlier one, nor constant."""
    with np.errstate(all="ignore"):
        centred = values - values.mean(axis=1, keepdims=True)
        norm = np.sqrt(np.mean(centred**2, axis=1))
        usable = norm > 1e-10 * (np.abs(values).max(axis=1) + 1e-300)
        centred /= np.where(norm > 0, norm, 1.0)[:, None]
    probes = np.random.default_rng(0).normal(size=(values.shape[1], 2))
    keys = np.round(centred @ probes, _DIGITS - 2)
    keys *= np.where(keys[:, :1] < 0, -1.0, 1.0)
    seen: set[tuple[float, float]] = set()
    kept = []
    for row in np.flatnonzero(usable):
        key = (float(keys[row, 0]), float(keys[row, 1]))
        if key not in seen:
            seen.add(key)
            kept.append(int(row))
    return np.array(kept, dtype=np.int64)
