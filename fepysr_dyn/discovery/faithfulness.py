"""Which of the best systems follows whole experiments: it can be good at each step and lead elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fepysr_dyn.discovery.confidence import share_followed
from fepysr_dyn.discovery.judging import formula_cost
from fepysr_dyn.integration import SolverOptions
from fepysr_dyn.refinement import Refinement
from fepysr_dyn.replay import replay
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

#: A mean squared residual over whole experiments that is so many times that over stretches of them is a miss.
_MUCH_WORSE = 4.0
#: A system that follows no whole experiment is chosen for being nearer only if it is by this factor.
_NEARER = 0.8
_SECONDS_PER_RUN = 3.0


def most_faithful(
    fitted: Sequence[tuple[OdeSystem, Refinement]], trajectories: Trajectories
) -> tuple[OdeSystem, Refinement]:
    """Return the best of those that follow whole experiments, or else the one that stays near them.

    A system that follows all of an experiment much worse than others follow long stretches of it does not
    count as one that follows it.
    """
    longest = max(run.sizes["time"] for run in trajectories)
    closest = min(refined.misfit for _, refined in fitted)
    whole = [pair for pair in fitted if pair[1].window >= longest and pair[1].misfit <= _MUCH_WORSE * closest]
    whole.sort(key=lambda pair: _whole_length(pair[0], pair[1], trajectories))
    for pair in whole:
        # Fits take fixed steps, which may leap over a pole.
        if share_followed(pair[1], trajectories) == 1.0:
            return pair
    # The first is the best on windows: only what is clearly nearer takes its place.
    distances = [_distance(refined, trajectories) for _, refined in fitted]
    nearest = int(np.argmin(distances))
    return fitted[nearest] if distances[nearest] < _NEARER * distances[0] else fitted[0]


def _distance(refined: Refinement, trajectories: Trajectories) -> float:
    """Return how far a system is from the data over whole experiments, in spreads; each sample at most one.

    Samples that are not reached count as one, so that a late blow-up is better than an early one.
    """
    options = SolverOptions(rtol=1e-6, atol=1e-8, time_limit=_SECONDS_PER_RUN)
    squares = []
    for run, initial in zip(trajectories, refined.initial, strict=True):
        result = replay(refined.system, run, initial=initial, options=options)
        for state, simulated in zip(refined.system.states, result.states, strict=True):
            data = run[state].to_numpy()
            miss = np.ones(len(data))
            miss[: len(simulated)] = (simulated - data[: len(simulated)]) / (np.nanstd(data) or 1.0)
            squares.append(np.fmin(miss**2, 1.0)[np.isfinite(data)])
    return float(np.sqrt(np.mean(np.concatenate(squares))))


def _whole_length(system: OdeSystem, refined: Refinement, trajectories: Trajectories) -> float:
    """Return the description length of a system that was fitted to whole experiments, in nats."""
    samples = sum(run.sizes["time"] for run in trajectories) * len(system.states)
    misfit = 0.5 * samples * math.log(max(refined.misfit, 1e-300))
    constants = 0.5 * len(refined.constants) * math.log(samples)
    return misfit + constants + formula_cost(system)
