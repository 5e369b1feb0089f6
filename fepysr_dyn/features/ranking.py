"""Ranking of features by what they add to sparse models of the target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fepysr_dyn.features.explanation import Explanation, Term, explain
from fepysr_dyn.features.extraction import Feature, fingerprint
from fepysr_dyn.features.nodes import FeatureGraph

Array = NDArray[np.float64]

#: Share of a term's worth that its inner parts get: products of some of its factors, arguments of functions.
_INNER = 0.5
#: Weight of all models but the best.
_SECOND = 0.25
#: Weight of the share of occurrences: it decides between features that no model uses.
_OCCURRENCE = 0.05
#: Coefficients that differ by less than this share are the same.
_SAME = 0.02
#: Products of some of a term's factors are not listed beyond this many factors.
_MOST_FACTORS = 10


def rank_by_contribution(
    graph: FeatureGraph, features: Sequence[Feature], target: Array
) -> tuple[list[Feature], list[float]]:
    """Return the features, and products of them that a model uses, with the best score first."""
    # Sums in another order round differently: one thread, whatever the machine, so that the list is the same.
    with threadpool_limits(limits=1, user_api="blas"):
        models = explain(graph, features, target)
    credit = _credit(graph, [_with_pairs(graph, model, target) for model in models])
    known = {fingerprint(graph.values(feature.node)): feature for feature in features}
    for key, (node, _) in credit.items():
        if key not in known:
            known[key] = Feature(node, 0, ((node, 0),))
    total = max(1, max(feature.count for feature in features))
    scored = [
        (credit[key][1] if key in credit else 0.0) + _OCCURRENCE * feature.count / total
        for key, feature in known.items()
    ]
    ranked = sorted(
        zip(scored, known.values(), strict=True),
        key=lambda pair: (-round(pair[0], 9), graph.size(pair[1].node), pair[1].node),
    )
    return [feature for _, feature in ranked], [score for score, _ in ranked]


def _with_pairs(graph: FeatureGraph, model: Explanation, target: Array) -> Explanation:
    """Add the sum or difference of variables that enter with the same coefficient: they enter together."""
    linear = [term for term in model.terms if len(term) == 1 and term[0] < graph.n_variables]
    if len(linear) < 2:
        return model
    columns = [graph.product(term) for term in model.terms]
    fitted = np.linalg.lstsq(np.column_stack([*columns, np.ones(len(target))]), target, rcond=None)[0]
    coefficient = dict(zip(model.terms, fitted, strict=False))
    pairs = [
        (graph.add("add" if coefficient[a] * coefficient[b] > 0 else "sub", (a[0], b[0])),)
        for a, b in combinations(linear, 2)
        if abs(abs(coefficient[a]) - abs(coefficient[b])) <= _SAME * abs(coefficient[a])
    ]
    return replace(model, terms=(*model.terms, *pairs), weights=(*model.weights, *(_INNER for _ in pairs)))


def _credit(
    graph: FeatureGraph, models: Sequence[Explanation]
) -> dict[tuple[int, int] | None, tuple[int, float]]:
    """Return what each part of a term is worth, summed over terms and models, by fingerprint."""
    raw = {fingerprint(graph.values(node)) for node in range(graph.n_variables)} | {None}
    node_of: dict[tuple[int, int] | None, int] = {}
    worth: defaultdict[tuple[int, int] | None, float] = defaultdict(float)
    for position, model in enumerate(models):
        share = 1.0 if position < 2 else _SECOND
        for term, weight in zip(model.terms, model.weights, strict=True):
            parts: dict[tuple[int, int] | None, float] = {}
            for node, part in _parts(graph, term):
                key = fingerprint(graph.values(node))
                if key in raw:
                    continue
                parts[key] = max(part, parts.get(key, 0.0))
                if key not in node_of or graph.size(node) < graph.size(node_of[key]):
                    node_of[key] = node
            for key, part in parts.items():
                worth[key] += share * weight * part
    return {key: (node_of[key], value) for key, value in worth.items()}


def _parts(graph: FeatureGraph, term: Term) -> Iterator[tuple[int, float]]:
    """Yield the term, its factors, products of some factors, and the arguments inside the factors."""
    yield graph.product_node(term), 1.0
    for factor in term:
        yield factor, 1.0
    factors = tuple(node for factor in term for node in _unpowered(graph, factor))
    if len(factors) <= _MOST_FACTORS:
        for count in range(2, len(factors)):
            for chosen in sorted(set(combinations(factors, count))):
                yield graph.product_node(chosen), _INNER
    stack = [(node, _INNER) for factor in term for node in graph.children(factor)]
    while stack:
        node, part = stack.pop()
        yield node, part
        stack.extend((child, part * _INNER) for child in graph.children(node))


def _unpowered(graph: FeatureGraph, node: int) -> tuple[int, ...]:
    """Write the square of a variable as two factors, and its square as four."""
    if graph.operator(node) != "square":
        return (node,)
    inner = _unpowered(graph, graph.children(node)[0])
    return inner * 2 if all(part < graph.n_variables for part in inner) else (node,)
