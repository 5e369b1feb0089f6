"""Changes that look at the data: a new summand for the residual, a subtree solved for backwards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.fitting import split_terms
from fepysr_dyn.search.evolution.inversion import invert_path, invert_unary, slope_unary
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.library import Library
from fepysr_dyn.search.evolution.lookup import MAX_PICKS, pick_entries, put_sum
from fepysr_dyn.search.evolution.mutation import join_terms, move, put
from fepysr_dyn.search.evolution.randomness import Stream, below, uniform
from fepysr_dyn.search.evolution.workspace import Workspace

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]

#: Frames of whole formulas that are tried first: every function of a sum, then library entries as factor and
#: as numerator of a sum.
FUNCTIONS = 16
WISHES = FUNCTIONS + 2 * 150


@kernel
def _evaluate_on_library(
    program: tuple[Codes, Floats], terms: int, skipped: int, work: Workspace, library: Library
) -> Floats:
    """Fill the tape on the library's rows; return the target minus all summands but one."""
    wanted = library.target.copy()
    for t in range(terms):
        root = work.roots[t]
        span = (root - work.sizes[root] + 1, root + 1)
        work.forward(program[0], program[1], work.sizes, span, library.inputs, 0, work.tape)
        if t != skipped:
            for r in range(wanted.shape[0]):
                wanted[r] -= work.coefficients[t + 1] * work.tape[root, r]
    return wanted


@kernel
def _solve_for_partner(joint: int, head: Floats, wanted: Floats, weights: Floats) -> int:
    """Turn wanted values into those of the partner of a head; return the usable rows.

    The partner is the other factor (3), the denominator (4), or the operand of a function (6 and more).
    """
    usable = 0
    for r in range(wanted.shape[0]):
        if joint >= op.NEG:
            partner = invert_unary(joint, wanted[r], 1.0)
            weight = weights[r] * abs(slope_unary(joint, partner))
        elif joint == op.MUL:
            partner = wanted[r] / head[r]
            weight = weights[r] * abs(head[r])
        else:
            partner = head[r] / wanted[r]
            weight = weights[r] * wanted[r] * wanted[r] / abs(head[r])
        is_usable = abs(partner) < 1e100 and 0.0 < weight < 1e100
        wanted[r] = partner if is_usable else 0.0
        weights[r] = weight if is_usable else 0.0
        usable += int(is_usable)
    return usable


@kernel
def propose(
    kind: int,
    parent: tuple[Codes, Floats],
    length: int,
    work: Workspace,
    library: Library,
    child: tuple[Codes, Floats],
    allowed: Integers,
    wish: int,
    pair_entries: int,
    stream: Stream,
) -> int:
    """Write a changed copy of a parent that has just been fitted; return its length, 0 if there is none.

    Kinds: 8 add library entries for the residual, as they are or with another entry as factor or numerator,
    9 replace a random subtree by the sum of entries that its wanted values call for, 10 drop a summand. A
    `wish` of zero or more asks for one particular frame of a formula of its own.
    """
    codes, values = parent
    terms = split_terms(codes, length, work.sizes, work.roots, work.pending, True)
    if terms == 0:
        return 0
    chosen = below(stream, terms)
    if kind == op.DROP_TERM:
        return join_terms(parent, work.roots, terms, chosen, work.sizes, child) if terms > 1 else 0
    is_weak = library.measured.shape[0] > 0
    node = -1
    # The rest of a wrong formula is wrong too: often a summand is solved for alone.
    is_alone = uniform(stream) < 0.4 or wish >= 0
    joint, head = 0, 0
    weights = library.weights.copy()
    candidates = library.values
    most = 1 + below(stream, MAX_PICKS)
    if kind == op.ADD_TERM:
        most = 1 if uniform(stream) < 0.7 else 2
        if is_weak:
            is_alone = False
            wanted = work.residual.copy()
            weights = np.ones(wanted.shape[0])
            candidates = library.measured
        else:
            wanted = _evaluate_on_library(parent, 0 if is_alone else terms, -1, work, library)
            form = uniform(stream)
            if wish >= 0:
                most = MAX_PICKS
                joint, head = op.NEG + wish, 0
                if wish >= FUNCTIONS:
                    joint, head = op.MUL + wish % 2, (wish - FUNCTIONS) // 2
            elif form < 0.6:
                most = 1 + below(stream, MAX_PICKS)
                joint = op.MUL if form < 0.35 else op.DIV
                head = int(library.lengths.shape[0] * uniform(stream) ** 4)
            if joint > 0:
                if not allowed[joint] or head >= library.lengths.shape[0]:
                    return 0
                if not is_alone and joint != op.MUL:
                    for r in range(wanted.shape[0]):
                        wanted[r] -= work.coefficients[0]
                if _solve_for_partner(joint, library.values[head], wanted, weights) < 0.6 * wanted.shape[0]:
                    return 0
    else:
        factor = work.coefficients[chosen + 1]
        if is_weak or factor == 0.0:
            return 0
        wanted = _evaluate_on_library(parent, terms, chosen, work, library)
        for r in range(wanted.shape[0]):
            rest = library.target[r] if is_alone else wanted[r] - work.coefficients[0]
            wanted[r] = rest / factor
            weights[r] *= abs(factor)
        root = work.roots[chosen]
        node = root - below(stream, work.sizes[root])
        usable = invert_path(codes, work.sizes, root, node, work.tape, wanted, weights)
        if usable < 0.6 * wanted.shape[0] or usable < 6:
            return 0
    outer = np.zeros(wanted.shape[0])
    if joint == op.MUL:
        # The intercept of the whole is fitted along: it is not known before the product is.
        for r in range(outer.shape[0]):
            outer[r] = library.weights[r] * np.sign(library.values[head, r])
    picks = np.zeros(MAX_PICKS, dtype=np.int64)
    coefficients = np.zeros(MAX_PICKS + 1)
    count = pick_entries(
        candidates, library.costs, wanted, weights, outer, most, pair_entries, picks, coefficients, stream
    )
    if count == 0:
        return 0
    if kind == op.ADD_TERM:
        end = 0 if is_alone else move(codes, values, 0, length, child[0], child[1], 0)
        if op.CONSTANT < joint < op.NEG:
            for i in range(library.lengths[head]):
                end = put(child[0], child[1], end, library.codes[head, i], 0.0)
        end = put_sum(library, picks, count, coefficients, child, end)
        if joint > 0:
            end = put(child[0], child[1], end, joint, 0.0)
        if not is_alone:
            end = put(child[0], child[1], end, op.ADD, 0.0)
        return end if end <= child[0].shape[0] else 0
    low, high = 0, length
    if is_alone:
        root = work.roots[chosen]
        low, high = root - work.sizes[root] + 1, root + 1
    end = move(codes, values, low, node - work.sizes[node] + 1, child[0], child[1], 0)
    end = put_sum(library, picks, count, coefficients, child, end)
    end = move(codes, values, node + 1, high, child[0], child[1], end)
    return end if end <= child[0].shape[0] else 0
