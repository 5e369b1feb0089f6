"""From programs to candidates: constants refitted on all rows, idle parts pruned, formulas in sympy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.expressions import canonical
from fepysr_dyn.search.evolution.constants import optimise_constants
from fepysr_dyn.search.evolution.encoding import Program, decode, number
from fepysr_dyn.search.evolution.kernels import subtree_sizes
from fepysr_dyn.search.evolution.mutation import Rules, cost_of
from fepysr_dyn.search.evolution.normalising import normalise
from fepysr_dyn.search.evolution.opcodes import ARITY, FIRST_INPUT
from fepysr_dyn.search.evolution.workspace import Data, Workspace, make_workspace

Floats = NDArray[np.float64]

#: A number this close to an integer, relatively, is one.
_INTEGER = 1e-9
#: A summand this small, relatively, is rounding.
_NOTHING = 1e-12


@dataclass
class Finisher:
    """Refits and prunes programs on all rows.

    Parameters
    ----------
    data : Data
        All rows.
    inputs : sequence of sympy expressions
        What the input columns hold.
    resolution : float
        Loss that counts as exact.
    """

    data: Data
    rules: Rules
    inputs: Sequence[sympy.Expr]
    nodes: int
    resolution: float

    def __post_init__(self) -> None:
        """Allocate the workspace."""
        self.work: Workspace = make_workspace(self.data, self.nodes)

    def refit(self, program: Program, iterations: int = 40) -> tuple[Program, float]:
        """Return the program with its best constants, and its loss."""
        codes, values, length = self._padded(program)
        loss, _ = optimise_constants(codes, values, length, self.data, self.work, iterations, 0.0)
        rounded = np.where(_is_integer(values), np.round(values), values)
        if not np.array_equal(rounded, values):
            trial, _ = optimise_constants(codes, rounded, length, self.data, self.work, 0, 0.0)
            if trial <= max(loss * (1 + 1e-6), self.resolution):
                return Program(codes[:length], rounded[:length]), trial
        return Program(codes[:length], values[:length]), loss

    def prune(self, program: Program, loss: float) -> tuple[Program, float]:
        """Take away nodes as long as the loss stays where it is."""
        ceiling = max(loss * 1.001, self.resolution)
        improved = True
        while improved:
            improved = False
            for shorter in self._shorter(program):
                trial, value = self.refit(shorter, 8)
                if value <= ceiling:
                    program, loss, improved = trial, value, True
                    break
        return program, loss

    def expressions(self, program: Program) -> Iterator[sympy.Expr]:
        """Yield the formula with all its linear coefficients, then with fewer of them."""
        codes, values, length = self._padded(program)
        loss, _ = optimise_constants(codes, values, length, self.data, self.work, 0, 0.0)
        if not loss < np.inf:
            return
        terms = int(self.work.terms[0])
        parts = []
        for t in range(terms):
            root = int(self.work.roots[t])
            first = root - int(self.work.sizes[root]) + 1
            parts.append(decode(codes[first : root + 1], values[first : root + 1], self.inputs))
        if not self.data.is_scaled:
            yield parts[0]
            return
        sizes = np.array([1.0, *(np.sqrt(np.mean(self.work.outputs[t] ** 2)) for t in range(terms))])
        coefficients = self.work.coefficients[: terms + 1].copy()
        without = self._without_intercept(terms)
        yield _combine(coefficients, sizes, parts)
        yield _combine(without, sizes, parts)
        if terms == 1:
            yield parts[0]

    def _without_intercept(self, terms: int) -> Floats:
        from scipy.linalg import lstsq

        measured = np.empty((len(self.data.target), terms))
        for t in range(terms):
            output = self.work.outputs[t]
            if self.data.measurement.size:
                output = self.data.measurement @ output
            measured[:, t] = output * self.data.root_weights
        size = np.sqrt((measured**2).sum(axis=0))
        size[size == 0.0] = 1.0
        solution = lstsq(measured / size, self.data.target)[0] / size
        return np.concatenate([[0.0], solution])

    def _shorter(self, program: Program) -> Iterator[Program]:
        """Yield the program with each operator replaced by each of its operands."""
        codes, values, length = self._padded(program)
        sizes = np.zeros(self.nodes, dtype=np.int64)
        subtree_sizes(codes, length, sizes)
        before = cost_of(codes, length, self.rules.costs)
        for node in range(length - 1, -1, -1):
            operands = 0 if codes[node] >= FIRST_INPUT else int(ARITY[codes[node]])
            first, right = node - int(sizes[node]) + 1, node - 1
            spans = [(first, node)] if operands == 1 else []
            if operands == 2:
                middle = right - int(sizes[right]) + 1
                spans = [(first, middle), (middle, node)]
            for low, high in spans:
                keep = [*range(first), *range(low, high), *range(node + 1, length)]
                shorter = self._normal(Program(codes[keep], values[keep]))
                if len(shorter) and cost_of(shorter.codes, len(shorter), self.rules.costs) < before:
                    yield shorter

    def _normal(self, program: Program) -> Program:
        codes, values, length = self._padded(program)
        other = (np.zeros(self.nodes, dtype=np.int16), np.zeros(self.nodes))
        length, _, _ = normalise((codes, values), length, other, self.data.is_scaled, self.rules, self.work)
        return Program(other[0][:length], other[1][:length])

    def _padded(self, program: Program) -> tuple[NDArray[np.int16], Floats, int]:
        codes = np.zeros(self.nodes, dtype=np.int16)
        values = np.zeros(self.nodes)
        codes[: len(program)] = program.codes
        values[: len(program)] = program.values
        return codes, values, len(program)


def tidied(expression: sympy.Expr) -> sympy.Expr:
    """Return the expanded form with numbers that are integers up to rounding written as such.

    Factors that constants share inside and outside of a bracket meet when it is expanded.
    """
    expanded = canonical(expression)
    floats = {node: float(node) for node in expanded.atoms(sympy.Float)}
    whole = {
        node: sympy.Integer(round(value))
        for node, value in floats.items()
        if abs(value - round(value)) <= _INTEGER * abs(value)
    }
    return expanded.xreplace(whole)


def _is_integer(values: Floats) -> NDArray[np.bool_]:
    close: NDArray[np.bool_] = np.abs(values - np.round(values)) <= _INTEGER * np.abs(values)
    return close


def _combine(coefficients: Floats, sizes: Floats, parts: Sequence[sympy.Expr]) -> sympy.Expr:
    """Return ``c0 + c1*p1 + ...`` without what vanishes numerically beside the largest part."""
    shares = np.abs(coefficients) * sizes
    rounded = np.where(_is_integer(coefficients), np.round(coefficients), coefficients)
    kept = np.where(shares < _NOTHING * shares.max(), 0.0, rounded)
    total: sympy.Expr = sympy.Integer(0)
    for value, part in zip(kept.tolist(), [sympy.Integer(1), *parts], strict=True):
        total += number(value) * part
    return total
