"""Explanations of a target by products of features: which terms a sparse model of it consists of.

Small dictionaries come first, because a large one always holds something that fits by accident: monomials,
then products of ever larger features, then the terms found so far, grown by one more factor. A target that is
a quotient is linear in other columns: P(x) − y·Q(x) = 0 is searched with columns multiplied by the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.features.extraction import Feature, fingerprint
from fepysr_dyn.features.nodes import FeatureGraph
from fepysr_dyn.features.sparse_fit import FINEST, TRULY_EXACT, GramProblem, SparseModel, true_residual

Array = NDArray[np.float64]
#: A product of nodes, sorted.
Term = tuple[int, ...]

MAX_COLUMNS = 2_000
MAX_TERM_SIZE = 12
#: Share of the target's variance left to noise and to formulas out of reach, if there is no exact model.
COARSE = 0.01
_GROWTH_ROUNDS = 2
_MOST_RELATED = 400
_MOST_LEADS = 80


@dataclass(frozen=True)
class Explanation:
    """Terms of one sparse model and what each is worth.

    Parameters
    ----------
    terms : tuple of Term
    weights : tuple of float
        How much the logarithm of the residual rises without the term, at most 1.
    residual : float
        Relative sum of squares left over.
    objective : float
        Smaller is better, comparable between explanations of the same kind.
    exact : bool
    """

    terms: tuple[Term, ...]
    weights: tuple[float, ...]
    residual: float
    objective: float
    exact: bool


class Dictionary:
    """Products of nodes, no two of them proportional."""

    def __init__(self, graph: FeatureGraph) -> None:
        self._graph = graph
        self._seen: set[tuple[int, int]] = set()
        self.terms: list[Term] = []
        self.sizes: list[int] = []
        self._columns: list[Array] = []

    def add(self, terms: Iterable[Term]) -> None:
        """Add products that are finite, not too large and new."""
        for term in terms:
            if len(self.terms) >= MAX_COLUMNS:
                return
            size = sum(self._graph.size(node) for node in term) + len(term) - 1
            if size > MAX_TERM_SIZE:
                continue
            values = self._graph.product(term)
            key = fingerprint(values)
            if key is None or key in self._seen:
                continue
            self._seen.add(key)
            self.terms.append(tuple(sorted(term)))
            self.sizes.append(size)
            self._columns.append(values)

    def matrix(self) -> Array:
        """Return the columns as they are, shape (rows, terms)."""
        return np.column_stack(self._columns)

    def prices(self, rows: int) -> Array:
        """Return what a term costs: its size, and the number of terms it was chosen from."""
        sizes = np.array(self.sizes, dtype=np.float64)
        prices: Array = np.log(rows) * (1 + sizes) + 2 * np.log(len(self.terms))
        return prices


class _Fit:
    """A dictionary with its inner products, ready to be searched at any resolution."""

    def __init__(self, dictionary: Dictionary, goal: Array) -> None:
        self._columns = _normalised(dictionary.matrix())
        self._goal = goal
        self._terms = dictionary.terms
        self._sizes = dictionary.sizes
        self.concise: Explanation | None = None
        self._gram = self._columns.T @ self._columns
        self._products = self._columns.T @ goal
        self._prices = dictionary.prices(len(goal))

    def explained(self, start: Sequence[Term] = (), floor: float = FINEST) -> Explanation:
        """Search from nothing and from given terms."""
        problem = GramProblem(self._gram, self._products, self._prices, len(self._goal), floor)
        path = problem.path()
        if floor == FINEST:
            self.concise = self._made(problem, max(path, key=self._worth_per_node))
        model = path[-1]
        if start and not model.exact:
            index = {term: number for number, term in enumerate(self._terms)}
            again = problem.search([index[term] for term in start if term in index])
            model = min(model, again, key=lambda candidate: candidate.objective)
        return self._made(problem, model)

    def _worth_per_node(self, model: SparseModel) -> float:
        """Return how many orders of magnitude of the residual a node of the model takes away."""
        nodes = 3 + sum(1 + self._sizes[column] for column in model.columns)
        return -float(np.log(model.residual + FINEST)) / nodes

    def _made(self, problem: GramProblem, model: SparseModel) -> Explanation:
        residual = true_residual(self._columns[:, list(model.columns)], self._goal)
        exact = residual < TRULY_EXACT
        return Explanation(
            terms=tuple(self._terms[column] for column in model.columns),
            weights=tuple(problem.importance(model)),
            residual=residual,
            objective=-np.inf if exact else model.objective,
            exact=exact,
        )


def explain(graph: FeatureGraph, features: Sequence[Feature], target: Array) -> list[Explanation]:
    """Return sparse models of the target, the best first.

    If one is exact it is the only one. If none is, most models explain the target only down to a residual
    of `COARSE`: what fits better than that by accident would only add terms that mean nothing. The second
    one is the most concise of the fine ones: it sees what is small and simple.
    """
    goal = _normalised(target[:, None])[:, 0]
    fits: list[_Fit] = []
    found: list[Explanation] = []
    for atoms, factors in _levels(graph, features):
        carried = found[-1].terms if found else ()
        dictionary = Dictionary(graph)
        dictionary.add(carried)
        for count in range(1, factors + 1):
            dictionary.add(combinations_with_replacement(atoms, count))
        fits.append(_Fit(dictionary, goal))
        found.append(fits[-1].explained(carried))
        if found[-1].exact:
            return [found[-1]]
    for fit in _grown(graph, features, goal, found):
        fits.append(fit)
        if found[-1].exact:
            return [found[-1]]
    quotient = _implicit(graph, features, target)
    if quotient is not None:
        return [quotient]
    coarse = sorted((fit.explained(floor=COARSE) for fit in fits), key=lambda model: model.objective)
    concise = [fit.concise for fit in fits if fit.concise is not None]
    return [coarse[0], max(concise, key=_conciseness(graph)), *coarse[1:]]


def _conciseness(graph: FeatureGraph) -> Callable[[Explanation], float]:
    def worth(model: Explanation) -> float:
        nodes = 3 + sum(len(term) + sum(map(graph.size, term)) for term in model.terms)
        return -float(np.log(model.residual + FINEST)) / nodes

    return worth


def _levels(graph: FeatureGraph, features: Sequence[Feature]) -> list[tuple[list[int], int]]:
    """Return the features to multiply and the number of factors, from monomials to compositions."""
    variables = list(range(graph.n_variables))
    powers = [feature.node for feature in features if _is_power(graph, feature.node)]
    levels = [(variables + powers, 5 if graph.n_variables == 1 else 4)]
    ordered = sorted(features, key=lambda feature: _simplicity(graph, feature))
    atoms: list[int] = []
    for size, most, factors in ((2, 20, 3), (3, 32, 2), (4, 24, 2)):
        atoms += [feature.node for feature in ordered if graph.size(feature.node) == size][:most]
        levels.append((variables + atoms, factors))
    return levels


def _simplicity(graph: FeatureGraph, feature: Feature) -> tuple[int, bool, int, int]:
    """Sort by size, sums and products of two variables first, then by occurrences."""
    children = graph.children(feature.node)
    plain_pair = len(children) == 2 and all(child < graph.n_variables for child in children)
    return graph.size(feature.node), not plain_pair, -feature.count, feature.node


def _is_power(graph: FeatureGraph, node: int) -> bool:
    """Return whether a node is a variable squared, or squared twice."""
    depth = 0
    while graph.operator(node) == "square" and depth < 2:
        (node,) = graph.children(node)
        depth += 1
    return depth > 0 and node < graph.n_variables


def _grown(
    graph: FeatureGraph, features: Sequence[Feature], goal: Array, found: list[Explanation]
) -> Iterator[_Fit]:
    """Search among the terms found so far and their products with one more feature; append what is found."""
    atoms, _ = _levels(graph, features)[2]
    current = min(found, key=lambda model: model.objective)
    pool = dict.fromkeys(term for model in found for term in model.terms)
    for _ in range(_GROWTH_ROUNDS):
        dictionary = Dictionary(graph)
        dictionary.add(pool)
        dictionary.add((atom,) for atom in atoms)
        dictionary.add(tuple(sorted((*term, atom))) for term in pool for atom in atoms)
        dictionary.add(combinations_with_replacement(atoms, 2))
        fit = _Fit(dictionary, goal)
        model = fit.explained(current.terms)
        found.append(model)
        yield fit
        if model.objective >= current.objective:
            return
        current = model
        pool = {**dict.fromkeys(model.terms), **pool}


def _implicit(graph: FeatureGraph, features: Sequence[Feature], target: Array) -> Explanation | None:
    """Look for an exact relation P = y·Q; None if there is none.

    Only exact ones count: products with the target are nearly dependent on one another for any target.
    """
    atoms, _ = _levels(graph, features)[1]
    variables = range(graph.n_variables)
    dictionary = Dictionary(graph)
    dictionary.add((atom,) for atom in atoms)
    dictionary.add(combinations_with_replacement(variables, 2))
    dictionary.add((atom, atom) for atom in atoms)
    found = min(_relations(dictionary, target), key=lambda model: model.objective, default=None)
    if found is None:
        dictionary.add(combinations_with_replacement(atoms, 2))
        found = min(_relations(dictionary, target), key=lambda model: model.objective, default=None)
    return found


def _relations(dictionary: Dictionary, target: Array) -> Iterator[Explanation]:
    """Yield the exact relations in which one product with the target is a sparse sum of other columns."""
    plain = dictionary.matrix()[:, :_MOST_RELATED]
    n = plain.shape[1]
    terms: list[Term] = [*dictionary.terms[:n], *dictionary.terms[:n], ()]
    sizes = [*dictionary.sizes[:n], *dictionary.sizes[:n], 0]
    columns = _normalised(np.column_stack([plain, plain * target[:, None], target]))
    prices = np.log(len(target)) * (1.0 + np.array(sizes)) + 2 * np.log(len(terms))
    gram = columns.T @ columns
    for lead in range(n, n + min(n, _MOST_LEADS)):
        rest = np.delete(np.arange(len(terms)), lead)
        problem = GramProblem(gram[np.ix_(rest, rest)], gram[rest, lead], prices[rest], len(target))
        model = problem.search(most=5, passes=2)
        used = [int(rest[column]) for column in model.columns]
        if not model.exact:
            continue
        residual = true_residual(columns[:, used], columns[:, lead])
        # Exact without the plain columns: an identity such as y·sin² + y·cos² = y.
        multiplied = [column for column in used if column >= n]
        identity = true_residual(columns[:, multiplied], columns[:, lead]) < TRULY_EXACT
        if residual < TRULY_EXACT and not identity:
            named = tuple(terms[column] for column in (*used, lead) if terms[column])
            price = float(prices[[*used, lead]].sum())
            yield Explanation(named, (1.0,) * len(named), residual, price, exact=True)


def _normalised(columns: Array) -> Array:
    centred = columns - columns.mean(axis=0)
    size = np.linalg.norm(centred, axis=0)
    result: Array = centred / np.where(size > 0, size, 1.0)
    return result
