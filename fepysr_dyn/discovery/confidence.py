"""How often the chosen structure is chosen again when blocks of time are resampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.discovery.states import StateSearch
from fepysr_dyn.expressions import canonical, equivalent, free_constants
from fepysr_dyn.integration import SolverOptions
from fepysr_dyn.refinement import Refinement
from fepysr_dyn.replay import replay
from fepysr_dyn.search.front import Candidate, ParetoFront, evaluate_candidate
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.refit import refit_candidate
from fepysr_dyn.search.selection import choose, wider_box
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

#: An equation that misses the derivative, or the samples, by more than this many times their error is wrong.
_REFUTED = 1.5
#: Noise counts as at least this share of a state's spread.
_LEAST_NOISE = 1e-6
#: Two exact laws are the same if they agree so closely around the data.
_SAME_LAW = 1e-6
#: Blocks of neighbouring rows, long enough to keep errors that are correlated in time together.
_BLOCKS = 12
#: What is left of the confidence in a system that does not follow whole experiments.
_LOST = 0.5
#: A system that takes longer for one experiment is not followed any further.
_SECONDS_PER_RUN = 3.0


def unrefuted(rate: sympy.Expr, problem: RegressionProblem) -> float:
    """Return one for a rate that meets the derivatives within their error, less the more it misses them.

    However often a structure wins among others, it is wrong if it contradicts the data.
    """
    if not problem.noise:
        return 1.0
    loss = evaluate_candidate(rate, problem, "").loss
    error = float(np.sqrt(loss)) * problem.scale / problem.noise
    return min(1.0, _REFUTED / error) if error > 0 else 1.0


def share_followed(refined: Refinement, trajectories: Trajectories) -> float:
    """Return the share of experiments that a system can be integrated through.

    A system that blows up under the data it was fitted to has a wrong equation, and nothing says which. The
    same holds, to a lesser degree, for one that follows stretches of an experiment and not the whole.
    """
    options = SolverOptions(rtol=1e-6, atol=1e-8, time_limit=_SECONDS_PER_RUN)
    runs = list(zip(trajectories, refined.initial, strict=True))
    through = sum(replay(refined.system, run, initial=start, options=options).complete for run, start in runs)
    return through / len(runs) * (_LOST if refined.lost else 1.0)


def share_explained(refined: Refinement, trajectories: Trajectories, smoothed: Sequence[xr.Dataset]) -> float:
    """Return one for a system that follows the samples to within their noise, less the more it misses them.

    The noise is what smoothing without any equation leaves. If a state is missed, some equation is wrong, and
    nothing says which.
    """
    worst = 0.0
    for state, residual in refined.residuals.items():
        samples = np.concatenate([run[state].to_numpy() for run in trajectories])
        smooth = np.concatenate([run[state].to_numpy() for run in smoothed])
        noise = max(float(np.nanmean((samples - smooth) ** 2)), _LEAST_NOISE**2 * float(np.nanvar(samples)))
        worst = max(worst, residual / noise if noise > 0 else 0.0)
    return min(1.0, _REFUTED / float(np.sqrt(worst))) if worst > 0 else 1.0


def structure_confidence(search: StateSearch, problem: RegressionProblem, resamples: int, seed: int) -> float:
    """Return the share of resamples in which the front's chosen structure is chosen again.

    The front is not searched anew: its candidates are refitted and chosen from on each resample, which
    tells how much the choice hangs on particular stretches of the data.
    """
    if resamples < 1 or len(search.front) < 2:
        return 1.0
    chosen, box = search.choice.unsnapped.expression, wider_box(problem)
    streams = np.random.SeedSequence(seed).spawn(resamples)
    again = 0
    for stream in streams:
        resampled = _resampled(problem, np.random.default_rng(stream))
        candidates = [refit_candidate(c.expression, resampled, c.engine) for c in _contenders(search)]
        choice = choose(ParetoFront.of(candidates), resampled, simple_constants=False)
        other = choice.unsnapped.expression
        # An exact law can be written in several ways; with noise equal functions say nothing of structure.
        is_same = structure_of(other) == structure_of(chosen) or (
            search.choice.exact and equivalent(other, chosen, box, rtol=_SAME_LAW)
        )
        again += is_same
    return again / resamples


def structure_of(expression: sympy.Expr) -> sympy.Expr:
    """Return the expanded expression with all numbers but exponents replaced by one and the same symbol."""
    template = free_constants(canonical(expression), rationals=True)
    anonymous = sympy.Symbol("c")
    return template.expression.xreplace({sympy.Symbol(name): anonymous for name in template.parameters})


def _contenders(search: StateSearch) -> list[Candidate]:
    """Return the candidates of the front and the chosen one, each structure once."""
    seen = {structure_of(c.expression): c for c in (*search.front, search.choice.unsnapped)}
    return list(seen.values())


def _resampled(problem: RegressionProblem, random: np.random.Generator) -> RegressionProblem:
    """Draw blocks with replacement; a block drawn twice counts twice."""
    n = len(problem.target)
    blocks = min(_BLOCKS, max(2, n // 5))
    block_of: NDArray[np.int64] = np.arange(n) * blocks // n
    counts = np.bincount(random.integers(0, blocks, blocks), minlength=blocks)[block_of]
    kept = counts > 0
    weights = np.ones(n) if problem.weights is None else problem.weights
    if problem.measurement is not None:
        return replace(
            problem,
            target=problem.target[kept],
            measurement=problem.measurement[kept],
            weights=weights[kept] * counts[kept],
        )
    return replace(
        problem,
        columns={name: values[kept] for name, values in problem.columns.items()},
        target=problem.target[kept],
        weights=weights[kept] * counts[kept],
    )
