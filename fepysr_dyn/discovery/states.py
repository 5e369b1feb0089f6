"""The search for one right-hand side: a unit of work that any executor can carry out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import sympy

from fepysr_dyn.discovery.config import DiscoveryConfig
from fepysr_dyn.expressions import compile_expression, free_constants
from fepysr_dyn.refinement import FittedConstant
from fepysr_dyn.search.front import ParetoFront, evaluate_candidate
from fepysr_dyn.search.portfolio import QUICK, Portfolio
from fepysr_dyn.search.problem import Budget, RegressionProblem, Runtime, SearchEngine
from fepysr_dyn.search.refit import ConstantFitter
from fepysr_dyn.search.registry import make_engine
from fepysr_dyn.search.selection import Choice, choose, surely_exact

#: Share of a state's time for the quick engines before stage 1 is asked.
_QUICK_SHARE = 0.25


@dataclass(frozen=True)
class StateSearch:
    """What was found for one state.

    Parameters
    ----------
    front : ParetoFront
        Whole right-hand sides, a known term included, that agree with what is known.
    features : tuple of sympy expressions
        Proposals of stage 1; empty if it was not needed.
    """

    state: str
    front: ParetoFront
    choice: Choice
    features: tuple[sympy.Expr, ...]


def search_state(
    state: str, problem: RegressionProblem, config: DiscoveryConfig, runtime: Runtime | None = None
) -> StateSearch:
    """Search the right-hand side of one state: quick engines, then stage 1, then the chosen engine.

    In the weak form the quick engines search alone: what they find there competes with the whole search over
    derivatives, and integrals are too few for more.
    """
    runtime = runtime or Runtime()
    features: tuple[sympy.Expr, ...] = ()
    front = ParetoFront(())
    if problem.measurement is not None:
        engine = Portfolio(_quick_engines()) if config.engine == "portfolio" else make_engine(config.engine)
        return _chosen(state, engine.search(problem, runtime), problem, config)
    if config.engine == "portfolio" and config.features:
        seconds = problem.budget.seconds * _QUICK_SHARE
        quick = replace(problem, budget=Budget(problem.budget.evaluations, seconds))
        front = Portfolio(_quick_engines()).search(quick, runtime)
    if not any(surely_exact(candidate, problem) for candidate in front):
        if config.features and not runtime.must_stop():
            features = _features(problem, runtime)
        front = make_engine(config.engine).search(replace(problem, features=features), runtime).merge(front)
    return _chosen(state, front, problem, config, features)


def _quick_engines() -> list[SearchEngine]:
    return [make_engine(name) for name in QUICK]


def _chosen(
    state: str,
    front: ParetoFront,
    problem: RegressionProblem,
    config: DiscoveryConfig,
    features: tuple[sympy.Expr, ...] = (),
) -> StateSearch:
    allowed = _whole(state, front, problem, config)
    return StateSearch(state, allowed, choose(allowed, _whole_problem(state, problem, config)), features)


def _features(problem: RegressionProblem, runtime: Runtime) -> tuple[sympy.Expr, ...]:
    from fepysr_dyn.stage_one import run_stage_one

    matrix = np.ascontiguousarray(problem.matrix.T)
    library = run_stage_one(matrix, problem.target, problem.names, None, problem.seed, runtime)
    return () if library is None else tuple(library.expressions)


def _whole_problem(state: str, problem: RegressionProblem, config: DiscoveryConfig) -> RegressionProblem:
    """Return the problem for the whole rate: the known part added to the target again."""
    known = config.prior(state).known_term()
    if known == 0:
        return problem
    prediction = compile_expression(known, problem.names)(*problem.columns.values())
    return replace(problem, target=problem.target + problem.measure(prediction))


def _whole(
    state: str, front: ParetoFront, problem: RegressionProblem, config: DiscoveryConfig
) -> ParetoFront:
    """Return the front of whole rates, without those that contradict what is known."""
    prior = config.prior(state)
    known = prior.known_term()
    whole = _whole_problem(state, problem, config)
    candidates = [
        candidate if known == 0 else evaluate_candidate(candidate.expression + known, whole, candidate.engine)
        for candidate in front
    ]
    kept = [c for c in candidates if prior.allows(c.expression, problem.columns)]
    message = front.message
    if candidates and not kept:
        kept = candidates
        message = f"no candidate agrees with what is known about '{state}'; all are shown. {message}".strip()
    return ParetoFront.of(kept, complete=front.complete, message=message)


def fitted_constants(search: StateSearch, problem: RegressionProblem) -> tuple[FittedConstant, ...]:
    """Return the constants of the chosen right-hand side with the errors of its fit to the derivative."""
    template = free_constants(search.choice.candidate.expression)
    values = np.array(template.values)
    errors = ConstantFitter(template, problem).fit(values, steps=0).errors if len(values) else values
    return tuple(
        FittedConstant(search.state, float(value), float(error))
        for value, error in zip(values, errors, strict=True)
    )
