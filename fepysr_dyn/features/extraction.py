"""From trained weights to formulas: every unit applied to its dominant inputs, layer by layer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.features.network import LayerShape
from fepysr_dyn.features.nodes import FeatureGraph
from fepysr_dyn.features.operators import OPERATORS
from fepysr_dyn.features.training import TrainedRuns

Array = NDArray[np.float64]
#: Columns that vary less than this, relative to their size, are constants.
_CONSTANT = 1e-9


@dataclass(frozen=True)
class Feature:
    """All nodes that are the same function up to sign and a constant factor.

    Parameters
    ----------
    node : int
        The simplest of them.
    count : int
        Occurrences of all of them together.
    variants : tuple of (node, count)
        What was merged, most frequent first.
    """

    node: int
    count: int
    variants: tuple[tuple[int, int], ...]


def count_nodes(graph: FeatureGraph, trained: TrainedRuns) -> Counter[int]:
    """Count what the units of all finite runs stand for, each by its largest absolute weight."""
    counts: Counter[int] = Counter()
    largest = [np.argmax(np.abs(weights), axis=2) for weights in trained.weights]
    for run in np.flatnonzero(trained.alive):
        nodes = list(range(graph.n_variables))
        for shape, weights, chosen in zip(trained.shapes, trained.weights, largest, strict=True):
            new = [
                _unit_node(graph, shape, unit, nodes, chosen[run], weights[run])
                for unit in range(len(shape.units))
            ]
            nodes.extend(new)
            counts.update(new)
    return counts


def _unit_node(
    graph: FeatureGraph,
    shape: LayerShape,
    unit: int,
    nodes: list[int],
    chosen: NDArray[np.int64],
    weights: NDArray[np.float32],
) -> int:
    name = shape.units[unit]
    left = int(chosen[unit])
    if OPERATORS[name].arity == 2:
        return graph.add(name, (nodes[left], nodes[int(chosen[unit + shape.n_binary])]))
    constant = 0.0
    if OPERATORS[name].has_scale:
        # w·x/(1 + w·x) = x/(1/w + x): the weight is the reciprocal of the half-saturation constant.
        constant = float(f"{1.0 / max(abs(float(weights[unit, left])), 1e-6):.2g}")
    return graph.add(name, (nodes[left],), constant)


def merge(graph: FeatureGraph, counts: Counter[int]) -> list[Feature]:
    """Merge nodes that agree on the data up to sign and factor, sorted by count, then by size.

    Constants, raw variables and what is not finite on the data are left out.
    """
    keys: dict[int, tuple[int, int]] = {}
    groups: dict[tuple[int, int], list[int]] = {}
    raw = {fingerprint(graph.values(node)) for node in range(graph.n_variables)}
    for node in counts:
        key = fingerprint(graph.values(node))
        if key is None or key in raw:
            continue
        keys[node] = key
        groups.setdefault(key, []).append(node)
    features = []
    for members in groups.values():
        simplest = min(members, key=lambda node: (graph.size(node), node))
        variants = sorted(((node, counts[node]) for node in members), key=lambda pair: (-pair[1], pair[0]))
        features.append(Feature(simplest, sum(count for _, count in variants), tuple(variants)))
    return sorted(features, key=lambda feature: (-feature.count, graph.size(feature.node), feature.node))


def fingerprint(values: Array) -> tuple[int, int] | None:
    """Return a number pair shared by proportional columns; None for constants and what is not finite.

    Examples
    --------
    >>> column = np.array([1.0, 2.0, 4.0])
    >>> fingerprint(column) == fingerprint(-3 * column), fingerprint(np.ones(3)) is None
    (True, True)
    """
    size = float(np.max(np.abs(values)))
    if not np.isfinite(size) or size == 0 or size > 1e100:
        return None
    scaled = values / size
    if np.ptp(scaled) < _CONSTANT:
        return None
    scaled = scaled / np.linalg.norm(scaled)
    probes = _probes(len(values))
    first, second = probes @ scaled
    if first < 0:
        first, second = -first, -second
    return round(first * 1e9), round(second * 1e9)


@lru_cache(maxsize=8)
def _probes(rows: int) -> Array:
    return np.random.default_rng(20240607).normal(size=(2, rows))


def primitive(expression: sympy.Expr) -> sympy.Expr:
    """Return an expression without its sign and constant factor.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> primitive(-2 * x * y), primitive(2 * y - 2 * x)
    (x*y, x - y)
    """
    rest = expression.as_coeff_Mul()[1]
    if rest.is_Add:
        rest = rest.primitive()[1]
        if rest.could_extract_minus_sign():
            rest = -rest
    return rest
