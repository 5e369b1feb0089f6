"""The search for one right-hand side: a unit of work that any executor can carry out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import sympy

from fepysr_dyn.discovery.config import DiscoveryConfig, EquationPrior
from fepysr_dyn.discovery.fluxes import fluxes_of_others
from fepysr_dyn.discovery.forms import KINETIC, POINTWISE, TOLERANT
from fepysr_dyn.discovery.problems import unknown_part
from fepysr_dyn.expressions import free_constants
from fepysr_dyn.expressions.canonical import NODE_COST
from fepysr_dyn.linearised import RateRegression
from fepysr_dyn.refinement import FittedConstant
from fepysr_dyn.search.column_errors import weighed_like
from fepysr_dyn.search.front import Candidate, ParetoFront, evaluate_candidate
from fepysr_dyn.search.kinetic import KineticConfig, KineticEngine, without_small_negatives
from fepysr_dyn.search.portfolio import QUICK, Portfolio
from fepysr_dyn.search.problem import Budget, RegressionProblem, Runtime, SearchEngine
from fepysr_dyn.search.refit import ConstantFitter
from fepysr_dyn.search.registry import make_engine
from fepysr_dyn.search.relatives import best_relatives
from fepysr_dyn.search.selection import Choice, choose, surely_exact

#: Share of a state's time for the quick engines before stage 1 is asked.
_QUICK_SHARE = 0.35
#: The search along a system, round by round: the next one goes on from there, so it need not be thorough.
_SKETCHED = KineticConfig(starts=1, pairs=3, polish=False)
#: Relatives of a law that are looked at.
_RELATIVES = 6
#: Nats by which these may look worse than the system's own law.
_HARDLY_WORSE = 15.0
#: Laws that are tried in the system first, and the nats by which they may be worse than its own one: what
#: small changes do is less than the whole truth about large ones.
_LIKELY = 10
_ABOUT_AS_GOOD = 50.0


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
    state: str,
    problem: RegressionProblem,
    config: DiscoveryConfig,
    runtime: Runtime | None = None,
    *,
    form: str = POINTWISE,
) -> StateSearch:
    """Search the right-hand side of one state: quick engines, then stage 1, then the chosen engine.

    What is known about the equation is taken out of the problem first and is part of every answer.

    In the weak form the quick engines search alone, in the kinetic and the tolerant form the kinetic engine:
    what they find competes with the whole search over derivatives.
    """
    runtime = runtime or Runtime()
    prior = config.prior(state)
    rest = unknown_part(problem, prior)
    features: tuple[sympy.Expr, ...] = ()
    if form == POINTWISE:
        front, features = _searched(rest, config, runtime)
    elif config.engine != "portfolio":
        front = make_engine(config.engine).search(rest, runtime)
    elif form == TOLERANT:
        rest = KineticEngine().weighed(rest, runtime)
        # Whatever was found is chosen from with the weights that it was found with.
        problem = replace(problem, weights=rest.weights, noise=rest.noise, column_errors={})
        front = KineticEngine().search(rest, runtime)
    else:
        engine = KineticEngine() if form == KINETIC else Portfolio(_quick_engines())
        front = engine.search(rest, runtime)
    allowed = _whole(state, front, problem, prior)
    return StateSearch(state, allowed, choose(allowed, problem), features)


def search_again(
    state: str, problem: RegressionProblem, law: sympy.Expr, config: DiscoveryConfig, runtime: Runtime
) -> StateSearch:
    """Search the terms of rate laws once more, with the weights that rows have if a law is near the truth.

    How much a row says depends on how steep the law is there. A law that was chosen on trajectories knows
    that better than any that was found from derivatives, even if it is not the right one yet.
    """
    prior = config.prior(state)
    weighed = weighed_like(law, without_small_negatives(problem))
    front = KineticEngine().search(unknown_part(weighed, prior), runtime)
    allowed = _whole(state, front, weighed, prior)
    return StateSearch(state, allowed, choose(allowed, weighed), ())


def search_along(
    state: str,
    rates: Mapping[str, sympy.Expr],
    regression: RateRegression,
    config: DiscoveryConfig,
    runtime: Runtime,
    *,
    thorough: bool = False,
) -> tuple[list[Candidate], list[Candidate]]:
    """Search what the trajectories of a system near the truth say about one of its equations.

    Laws in the terms of kinetics, and of the other equations of the system, are searched from nothing. What
    differs from the system's own law in a term or two counts if it looks hardly worse than that.

    Returns
    -------
    likely, rest
        First what describes the samples best for its length. What is likely is about as good as the system's
        own law, or better.
    """
    if not len(regression.target):
        # Whatever the rate is, no sample would be off by more than its noise.
        return [], []
    law, fluxes = rates[state], fluxes_of_others(state, rates)
    problem = RegressionProblem(
        columns=regression.columns,
        features=fluxes,
        target=regression.target,
        measurement=regression.measurement,
        nuisance=regression.nuisance,
        noise=1.0,
        operators=config.operators,
        max_complexity=config.max_complexity,
        budget=Budget(config.evaluations, config.seconds_per_state),
    )
    prior = config.prior(state)
    relatives = [] if state in config.priors else best_relatives(law, problem, _RELATIVES)
    front = KineticEngine(KineticConfig() if thorough else _SKETCHED).search(
        unknown_part(problem, prior), runtime
    )
    own = _length(evaluate_candidate(law, problem, ""), problem)
    found = {
        candidate: _length(candidate, problem)
        for candidate in (evaluate_candidate(relative, problem, "relatives") for relative in relatives)
    }
    found = {candidate: length for candidate, length in found.items() if length < own + _HARDLY_WORSE}
    for candidate in _whole(state, front, problem, prior):
        if prior.allows(candidate.expression, problem.columns):
            found[candidate] = _length(candidate, problem)
    ranked = sorted(found, key=lambda candidate: found[candidate])
    likely = [candidate for candidate in ranked if found[candidate] < own + _ABOUT_AS_GOOD][:_LIKELY]
    return likely, [candidate for candidate in ranked if candidate not in likely]


def _length(candidate: Candidate, problem: RegressionProblem) -> float:
    """Return the description length of target and formula, in nats; what is below noise counts as that."""
    rows = len(problem.target)
    misfit = max(candidate.loss * problem.scale**2, (problem.noise or 0.0) ** 2, 1e-300)
    constants = 0.5 * len(candidate.constants) * math.log(rows)
    return 0.5 * rows * math.log(misfit) + NODE_COST * candidate.complexity + constants


def _searched(
    problem: RegressionProblem, config: DiscoveryConfig, runtime: Runtime
) -> tuple[ParetoFront, tuple[sympy.Expr, ...]]:
    """Return what the stages find together, and the features of the first."""
    if config.engine != "portfolio":
        features = _features(problem, runtime) if config.features else ()
        return make_engine(config.engine).search(replace(problem, features=features), runtime), features
    if not config.features:
        return Portfolio().search(problem, runtime), ()
    # Stage 1 takes longer than the quick engines, and is for what they do not find.
    seconds = problem.budget.seconds * _QUICK_SHARE
    quick = replace(problem, budget=Budget(problem.budget.evaluations, seconds))
    front = Portfolio(_quick_engines()).search(quick, runtime)
    if runtime.must_stop() or any(surely_exact(candidate, problem) for candidate in front):
        return front, ()
    features = _features(problem, runtime)
    return Portfolio(known=front).search(replace(problem, features=features), runtime), features


def _quick_engines() -> list[SearchEngine]:
    return [make_engine(name) for name in QUICK]


def _features(problem: RegressionProblem, runtime: Runtime) -> tuple[sympy.Expr, ...]:
    from fepysr_dyn.stage_one import run_stage_one

    matrix = np.ascontiguousarray(problem.matrix.T)
    library = run_stage_one(matrix, problem.target, problem.names, None, problem.seed, runtime)
    return () if library is None else tuple(library.expressions)


def _whole(state: str, front: ParetoFront, problem: RegressionProblem, prior: EquationPrior) -> ParetoFront:
    """Return the front of whole rates, without those that contradict what is known."""
    known = prior.known_term()
    candidates = [
        candidate
        if known == 0
        else evaluate_candidate(candidate.expression + known, problem, candidate.engine)
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
