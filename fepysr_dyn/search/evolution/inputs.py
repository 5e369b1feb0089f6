"""A regression problem as the engine's own objects: input columns, rules, library."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.expressions import compile_expression, complexity
from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.config import EvolutionConfig
from fepysr_dyn.search.evolution.library import (
    ENTRY_NODES,
    Library,
    distinct_up_to_scale,
    enumerate_expressions,
    monomials,
)
from fepysr_dyn.search.evolution.mutation import Rules
from fepysr_dyn.search.evolution.opcodes import ADD_TERM
from fepysr_dyn.search.evolution.workspace import Data, make_data, node_costs
from fepysr_dyn.search.problem import RegressionProblem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Products of inputs in the library.
_MONOMIALS = 60
#: Weights of the mutations, in the order of `mutate` and of the kinds in `evolve`.
_WEIGHTS = {
    "change node": 1.5,
    "operator around": 2.0,
    "replace by operand": 1.0,
    "swap": 0.1,
    "rotate": 0.3,
    "random subtree": 1.0,
    "crossover": 2.0,
    "random tree": 0.05,
    "add term": 0.6,
    "solve backwards": 1.0,
    "drop term": 0.5,
}


@dataclass(frozen=True)
class Task:
    """All that the islands need to know."""

    inputs: tuple[sympy.Expr, ...]
    full: Data
    search: Data
    rules: Rules
    library: Library
    nodes: int


def make_task(problem: RegressionProblem, config: EvolutionConfig) -> Task:
    """Evaluate the inputs and choose the rows, rules and library of a search."""
    inputs, columns = _inputs(problem)
    is_scaled = {"+", "*"} <= set(problem.operators)
    full = make_data(problem, columns, is_scaled=is_scaled)
    rules = _rules(problem, inputs, is_scaled)
    rows = _spread_rows(problem, columns.shape[1], config.search_rows)
    search = full
    if problem.measurement is None and len(rows) < columns.shape[1]:
        weights = None if problem.weights is None else problem.weights[rows]
        part = replace(
            problem,
            columns={name: np.asarray(values)[rows] for name, values in problem.columns.items()},
            target=problem.target[rows],
            weights=weights,
        )
        search = make_data(part, columns[:, rows], is_scaled=is_scaled)
    library = _library(problem, columns, full, rules, config)
    if len(library.lengths) == 0:
        # Only constant columns: there is nothing to look up.
        rules = rules._replace(chances=np.minimum(rules.chances / rules.chances[ADD_TERM - 1], 1.0))
    # A cost is at least one per node, except that features stand for several.
    return Task(inputs, full, search, rules, library, nodes=max(problem.max_complexity, 3) + 24)


def _inputs(problem: RegressionProblem) -> tuple[tuple[sympy.Expr, ...], Floats]:
    """Return variables and usable features with their values."""
    inputs: list[sympy.Expr] = [sympy.Symbol(name) for name in problem.names]
    columns = [np.asarray(problem.columns[name], dtype=np.float64) for name in problem.names]
    for feature in problem.features:
        values = compile_expression(feature, problem.names)(*columns[: len(problem.names)])
        if feature not in inputs and np.all(np.isfinite(values)) and np.ptp(values) > 0:
            inputs.append(feature)
            columns.append(values)
    return tuple(inputs), np.vstack(columns)


def _rules(problem: RegressionProblem, inputs: tuple[sympy.Expr, ...], is_scaled: bool) -> Rules:
    codes = [op.CODES[name] for name in problem.operators]
    allowed = np.zeros(op.FIRST_INPUT, dtype=np.int64)
    allowed[codes] = 1
    costs = node_costs(np.array([complexity(value) for value in inputs], dtype=np.int64), op.COST)
    weights = np.array(list(_WEIGHTS.values()))
    if not is_scaled:
        weights[8:] = 0.0
    # A sign is left to the coefficients wherever there are any.
    unary = [c for c in codes if op.ARITY[c] == 1 and not (c == op.NEG and is_scaled)]
    return Rules(
        binary=np.array([c for c in codes if op.ARITY[c] == 2], dtype=np.int64),
        unary=np.array(unary, dtype=np.int64),
        allowed=allowed,
        costs=costs,
        chances=np.cumsum(weights) / weights.sum(),
        inputs=len(inputs),
        max_cost=problem.max_complexity,
    )


def _spread_rows(problem: RegressionProblem, rows: int, most: int) -> Integers:
    """Choose rows evenly over the ordered target, so that its extremes are seen."""
    if rows <= most:
        return np.arange(rows)
    if problem.measurement is not None:
        return np.linspace(0, rows - 1, most).astype(np.int64)
    order = np.argsort(problem.target, kind="stable")
    return np.sort(order[np.linspace(0, rows - 1, most).astype(np.int64)])


def _library(
    problem: RegressionProblem, columns: Floats, data: Data, rules: Rules, config: EvolutionConfig
) -> Library:
    rows = _spread_rows(problem, columns.shape[1], min(config.screening_rows, 256))
    screened = np.ascontiguousarray(columns[:, rows])
    operators = [int(code) for code in np.flatnonzero(rules.allowed)]
    costs = [int(value) for value in rules.costs[op.FIRST_INPUT :]]
    programs, sizes, values = enumerate_expressions(screened, costs, operators, 2 * config.library)
    if rules.allowed[op.MUL]:
        # Products of inputs right behind the inputs and their functions: laws are full of them.
        more_programs, more_costs, more_values = monomials(screened, _MONOMIALS)
        simple = sum(size <= 2 for size in sizes)
        programs = programs[:simple] + more_programs + programs[simple:]
        sizes = sizes[:simple] + more_costs + sizes[simple:]
        values = np.vstack([values[:simple], more_values, values[simple:]])
    kept = distinct_up_to_scale(values)[: config.library]
    kept = np.array([k for k in kept if len(programs[k]) <= ENTRY_NODES], dtype=np.int64)
    codes = np.zeros((len(kept), ENTRY_NODES), dtype=np.int16)
    for row, k in enumerate(kept):
        codes[row, : len(programs[k])] = programs[k]
    measured = np.zeros((0, 0))
    if problem.measurement is None:
        target, weights = np.asarray(problem.target)[rows], data.root_weights[rows]
    else:
        target, weights = np.zeros(len(rows)), np.ones(len(rows))
        measured = _measured(codes, [len(programs[k]) for k in kept], data)
    return Library(
        codes=codes,
        lengths=np.array([len(programs[k]) for k in kept], dtype=np.int64),
        costs=np.array([sizes[k] for k in kept], dtype=np.int64),
        values=np.ascontiguousarray(values[kept]),
        inputs=screened,
        target=np.ascontiguousarray(target, dtype=np.float64),
        weights=np.ascontiguousarray(weights, dtype=np.float64),
        measured=measured,
    )


def _measured(codes: NDArray[np.int16], lengths: list[int], data: Data) -> Floats:
    """Return what the weak form makes of the entries; invalid ones become zero and are never picked."""
    from fepysr_dyn.search.evolution.fitting import evaluate_terms
    from fepysr_dyn.search.evolution.workspace import make_workspace

    work = make_workspace(data, ENTRY_NODES)
    plain = data._replace(is_scaled=False)
    values = np.zeros((len(codes), data.X.shape[1]))
    constants = np.zeros(ENTRY_NODES)
    for row, length in enumerate(lengths):
        if evaluate_terms(codes[row], constants, length, plain, work) > 0:
            values[row] = work.outputs[0]
    return np.ascontiguousarray((values @ data.measurement.T) * data.root_weights)
