"""Changes of programs: every one of them replaces one stretch of nodes by another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.jit import kernel
from fepysr_dyn.search.evolution.kernels import arity, subtree_sizes
from fepysr_dyn.search.evolution.randomness import Stream, below, normal, uniform

Floats = NDArray[np.float64]
Codes = NDArray[np.int16]
Integers = NDArray[np.int64]


class Rules(NamedTuple):
    """What programs may be made of.

    `allowed` has one flag per operator; `costs` the complexity of every code; `chances` the cumulative
    probabilities of the mutations.
    """

    binary: Integers
    unary: Integers
    allowed: Integers
    costs: Integers
    chances: Floats
    inputs: int
    max_cost: int


@kernel
def move(
    codes: Codes, values: Floats, first: int, last: int, out_codes: Codes, out_values: Floats, end: int
) -> int:
    """Append a stretch of nodes; return the new end, which may lie beyond the space there is."""
    for i in range(first, last):
        if end < out_codes.shape[0]:
            out_codes[end] = codes[i]
            out_values[end] = values[i]
        end += 1
    return end


@kernel
def put(codes: Codes, values: Floats, end: int, code: int, value: float) -> int:
    """Append one node; return the new end, which may lie beyond the space there is."""
    if end < codes.shape[0]:
        codes[end] = code
        values[end] = value
    return end + 1


@kernel
def random_constant(stream: Stream) -> float:
    """Draw a constant: often a small integer, else normal."""
    if uniform(stream) < 0.4:
        return float(1 + below(stream, 4))
    return 2.0 * normal(stream)


@kernel
def put_leaf(codes: Codes, values: Floats, end: int, rules: Rules, stream: Stream) -> int:
    """Append a random input or constant."""
    if uniform(stream) < 0.25:
        return put(codes, values, end, op.CONSTANT, random_constant(stream))
    return put(codes, values, end, op.FIRST_INPUT + below(stream, rules.inputs), 0.0)


@kernel
def put_random_tree(codes: Codes, values: Floats, end: int, nodes: int, rules: Rules, stream: Stream) -> int:
    """Append a random tree of about `nodes` nodes.

    It is grown by drawing operators until the leaves use up the nodes, written in postfix by keeping a
    stack of how many operands each open operator still waits for.
    """
    open_codes = np.empty(32, dtype=np.int64)
    open_missing = np.empty(32, dtype=np.int64)
    depth = 0
    left = nodes
    while True:
        # Descend: open an operator if there are nodes left for it, else write a leaf.
        pick = uniform(stream)
        if left >= 3 and depth < 30 and rules.binary.size > 0 and (pick < 0.6 or rules.unary.size == 0):
            open_codes[depth] = rules.binary[below(stream, rules.binary.size)]
            open_missing[depth] = 2
            depth += 1
            left -= 2
            continue
        if left >= 2 and depth < 30 and rules.unary.size > 0:
            open_codes[depth] = rules.unary[below(stream, rules.unary.size)]
            open_missing[depth] = 1
            depth += 1
            left -= 1
            continue
        end = put_leaf(codes, values, end, rules, stream)
        left -= 1
        while depth > 0:
            open_missing[depth - 1] -= 1
            if open_missing[depth - 1] > 0:
                break
            depth -= 1
            end = put(codes, values, end, open_codes[depth], 0.0)
        if depth == 0:
            return end


@kernel
def _put_around(
    parent: tuple[Codes, Floats],
    node: int,
    size: int,
    child: tuple[Codes, Floats],
    end: int,
    rules: Rules,
    stream: Stream,
) -> int:
    """Append a subtree with a random operator on top of it."""
    codes, values = parent
    first = node - size + 1
    if rules.unary.size > 0 and (rules.binary.size == 0 or uniform(stream) < 0.35):
        end = move(codes, values, first, node + 1, child[0], child[1], end)
        return put(child[0], child[1], end, rules.unary[below(stream, rules.unary.size)], 0.0)
    code = rules.binary[below(stream, rules.binary.size)]
    nodes = 1 if uniform(stream) < 0.6 else 2 + below(stream, 3)
    if uniform(stream) < 0.5:
        end = move(codes, values, first, node + 1, child[0], child[1], end)
        end = put_random_tree(child[0], child[1], end, nodes, rules, stream)
    else:
        end = put_random_tree(child[0], child[1], end, nodes, rules, stream)
        end = move(codes, values, first, node + 1, child[0], child[1], end)
    return put(child[0], child[1], end, code, 0.0)


@kernel
def _put_rotated(
    parent: tuple[Codes, Floats], node: int, sizes: Integers, child: tuple[Codes, Floats], end: int
) -> int:
    """Append ``f(a, g(b, c))`` as ``g(f(a, b), c)`` and the other way round, or the subtree unchanged."""
    codes, values = parent
    out_codes, out_values = child
    right = node - 1
    left = right - sizes[right]
    first = node - sizes[node] + 1
    if arity(codes[right]) == 2:
        split = right - sizes[right - 1]
        end = move(codes, values, first, split, out_codes, out_values, end)
        end = put(out_codes, out_values, end, codes[node], 0.0)
        end = move(codes, values, split, right, out_codes, out_values, end)
        return put(out_codes, out_values, end, codes[right], 0.0)
    if arity(codes[left]) == 2:
        split = left - sizes[left - 1]
        end = move(codes, values, first, left, out_codes, out_values, end)
        end = move(codes, values, left + 1, right + 1, out_codes, out_values, end)
        end = put(out_codes, out_values, end, codes[node], 0.0)
        return put(out_codes, out_values, end, codes[left], 0.0)
    return move(codes, values, first, node + 1, out_codes, out_values, end)


@kernel
def _other_operator(code: int, choices: Integers, stream: Stream) -> int:
    return int(choices[below(stream, choices.size)]) if choices.size > 0 else code


@kernel
def _put_changed_node(
    parent: tuple[Codes, Floats],
    node: int,
    sizes: Integers,
    child: tuple[Codes, Floats],
    end: int,
    rules: Rules,
    stream: Stream,
) -> int:
    """Append a subtree with another operator, input or constant at its top."""
    codes, values = parent
    end = move(codes, values, node - sizes[node] + 1, node, child[0], child[1], end)
    operands = arity(codes[node])
    if operands == 2:
        return put(child[0], child[1], end, _other_operator(codes[node], rules.binary, stream), 0.0)
    if operands == 1:
        return put(child[0], child[1], end, _other_operator(codes[node], rules.unary, stream), 0.0)
    if codes[node] == op.CONSTANT and uniform(stream) < 0.8:
        value = values[node]
        pick = uniform(stream)
        if pick < 0.5:
            value *= np.exp(0.7 * normal(stream))
        elif pick < 0.7:
            value = -value
        else:
            value = random_constant(stream)
        return put(child[0], child[1], end, op.CONSTANT, value)
    return put_leaf(child[0], child[1], end, rules, stream)


@kernel
def mutate(
    kind: int,
    parent: tuple[Codes, Floats],
    length: int,
    mate: tuple[Codes, Floats],
    mate_length: int,
    child: tuple[Codes, Floats],
    rules: Rules,
    stream: Stream,
    sizes: Integers,
) -> int:
    """Write a changed copy of the parent; return its length, 0 if it does not fit.

    Kinds: 0 change a node, 1 put an operator around a subtree, 2 replace a node by an operand, 3 swap
    operands, 4 rotate, 5 random subtree, 6 subtree of the mate, 7 a new random tree.
    """
    codes, values = parent
    out_codes, out_values = child
    if kind == 7:
        end = put_random_tree(out_codes, out_values, 0, 3 + below(stream, 9), rules, stream)
        return end if end <= out_codes.shape[0] else 0
    donor_first, donor_last = 0, 0
    if kind == 6:
        subtree_sizes(mate[0], mate_length, sizes)
        donor_last = 1 + below(stream, mate_length)
        donor_first = donor_last - sizes[donor_last - 1]
    subtree_sizes(codes, length, sizes)
    node = below(stream, length)
    if kind == 2 or kind == 3 or kind == 4:
        # These need an operator: take the next one above.
        while node < length - 1 and arity(codes[node]) == 0:
            node += 1
    operands = arity(codes[node])
    first = node - sizes[node] + 1
    end = move(codes, values, 0, first, out_codes, out_values, 0)
    right = node - 1
    if kind == 0:
        end = _put_changed_node(parent, node, sizes, child, end, rules, stream)
    elif kind == 1:
        end = _put_around(parent, node, sizes[node], child, end, rules, stream)
    elif kind == 5:
        end = put_random_tree(out_codes, out_values, end, 1 + below(stream, 6), rules, stream)
    elif kind == 6:
        end = move(mate[0], mate[1], donor_first, donor_last, out_codes, out_values, end)
    elif operands == 2 and kind == 2:
        if uniform(stream) < 0.5:
            end = move(codes, values, right - sizes[right] + 1, node, out_codes, out_values, end)
        else:
            end = move(codes, values, first, right - sizes[right] + 1, out_codes, out_values, end)
    elif operands == 1 and kind == 2:
        end = move(codes, values, first, node, out_codes, out_values, end)
    elif operands == 2 and kind == 3:
        end = move(codes, values, right - sizes[right] + 1, node, out_codes, out_values, end)
        end = move(codes, values, first, right - sizes[right] + 1, out_codes, out_values, end)
        end = put(out_codes, out_values, end, codes[node], 0.0)
    elif operands == 2:
        end = _put_rotated(parent, node, sizes, child, end)
    else:
        return 0
    end = move(codes, values, node + 1, length, out_codes, out_values, end)
    return end if end <= out_codes.shape[0] else 0


@kernel
def cost_of(codes: Codes, length: int, costs: Integers) -> int:
    """Return the complexity of a program."""
    total = 0
    for i in range(length):
        total += costs[codes[i]]
    return total


@kernel
def join_terms(
    parent: tuple[Codes, Floats],
    roots: Integers,
    terms: int,
    skipped: int,
    sizes: Integers,
    child: tuple[Codes, Floats],
) -> int:
    """Write the sum of the summands without their linear coefficients, leaving one out if asked to."""
    end = 0
    written = 0
    for t in range(terms):
        if t == skipped:
            continue
        root = roots[t]
        end = move(parent[0], parent[1], root - sizes[root] + 1, root + 1, child[0], child[1], end)
        if written > 0:
            end = put(child[0], child[1], end, op.ADD, 0.0)
        written += 1
    return end if 0 < end <= child[0].shape[0] else 0
