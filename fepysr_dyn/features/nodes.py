"""Features as nodes of one shared graph: an operator applied to earlier nodes.

Thousands of units write the same few hundred formulas, so a formula is built, evaluated on the data and
simplified once for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.expressions import canonical, complexity
from fepysr_dyn.features.operators import OPERATORS

Array = NDArray[np.float64]
#: operator, argument nodes, constant (0 where there is none); a variable is ("", (column,), 0).
Key = tuple[str, tuple[int, ...], float]


@dataclass(frozen=True)
class _Node:
    key: Key
    values: Array
    size: int


class FeatureGraph:
    """All features of a problem with their values on the data.

    Parameters
    ----------
    X : array, shape (rows, variables)
    names : sequence of str
        Names of the variables; they are the first nodes.
    """

    def __init__(self, X: Array, names: tuple[str, ...]) -> None:
        self.names = names
        self._nodes: list[_Node] = []
        self._index: dict[Key, int] = {}
        self._formulas: dict[int, sympy.Expr] = {}
        for column in range(X.shape[1]):
            key: Key = ("", (column,), 0.0)
            self._index[key] = len(self._nodes)
            self._nodes.append(_Node(key, X[:, column], 1))

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def n_variables(self) -> int:
        """Number of nodes that are variables."""
        return len(self.names)

    def add(self, operator: str, arguments: tuple[int, ...], constant: float = 0.0) -> int:
        """Return the node of an operator applied to nodes, made if it is new."""
        if OPERATORS[operator].symmetric:
            arguments = tuple(sorted(arguments))
        key: Key = (operator, arguments, constant)
        found = self._index.get(key)
        if found is not None:
            return found
        with np.errstate(all="ignore"):
            columns = [self.values(node) for node in arguments]
            if operator in ("log", "sqrt") and np.any(columns[0] < 0):
                columns[0] = np.abs(columns[0])
            extra = (constant,) if OPERATORS[operator].has_scale else ()
            values = np.asarray(OPERATORS[operator].values(*columns, *extra), dtype=np.float64)
        size = 1 + sum(self._nodes[node].size for node in arguments)
        self._index[key] = len(self._nodes)
        self._nodes.append(_Node(key, values, size))
        return len(self._nodes) - 1

    def values(self, node: int) -> Array:
        """Return the feature on the data; it may hold values that are not finite."""
        return self._nodes[node].values

    def product(self, nodes: tuple[int, ...]) -> Array:
        """Return the product of nodes on the data."""
        values = self.values(nodes[0])
        with np.errstate(all="ignore"):
            for node in nodes[1:]:
                values = values * self.values(node)
        return values

    def product_node(self, nodes: tuple[int, ...]) -> int:
        """Return the product of nodes as a node."""
        product = nodes[0]
        for node in nodes[1:]:
            product = self.add("mul", (product, node))
        return product

    def size(self, node: int) -> int:
        """Return the number of operators and variables in a node as it was composed."""
        return self._nodes[node].size

    def children(self, node: int) -> tuple[int, ...]:
        """Return the argument nodes; none for a variable."""
        operator, arguments, _ = self._nodes[node].key
        return arguments if operator else ()

    def operator(self, node: int) -> str:
        """Return the outermost operator; an empty text for a variable."""
        return self._nodes[node].key[0]

    def formula(self, node: int) -> sympy.Expr:
        """Return the feature in canonical form, or as composed where that is shorter."""
        if node not in self._formulas:
            self._formulas[node] = self._build(node)
        return self._formulas[node]

    def _build(self, node: int) -> sympy.Expr:
        operator, arguments, constant = self._nodes[node].key
        if not operator:
            return sympy.Symbol(self.names[arguments[0]])
        inner = [self.formula(argument) for argument in arguments]
        if operator in ("log", "sqrt") and np.any(self.values(arguments[0]) < 0):
            inner[0] = sympy.Abs(inner[0])
        extra = (sympy.Float(constant),) if OPERATORS[operator].has_scale else ()
        composed = OPERATORS[operator].formula(*inner, *extra)
        expanded = canonical(composed)
        return expanded if complexity(expanded) <= complexity(composed) else composed
