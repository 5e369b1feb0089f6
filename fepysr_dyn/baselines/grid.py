"""A grid of settings, each scored by re-integration on data kept out of its fit; all points are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.baselines.base import NOT_FITTED, BaselineResult, GridPoint, Rates, Settings
from fepysr_dyn.baselines.pysindy_calls import quiet
from fepysr_dyn.baselines.splitting import Split, split_inside, thinned
from fepysr_dyn.errors import DataError, MissingDependencyError
from fepysr_dyn.integration import SolverOptions
from fepysr_dyn.measured_system import measured_system
from fepysr_dyn.trajectories import Trajectories
from fepysr_dyn.validation import Validation, validate

Array = NDArray[np.float64]

#: Samples per experiment at which the settings of a grid are compared.
SCORED_SAMPLES = 300
#: Seconds for one integration of one setting.
SECONDS_PER_RUN = 3.0

#: Settings whose error is within this factor of the best, or below what any measurement could tell, count as
#: equally good, and the one with the fewest terms is chosen: least squares without a threshold follows the
#: errors of the derivatives into terms that are not there.
TOLERANCE = 1.1
NEGLIGIBLE = 1e-4


class Fitter(Protocol):
    """A baseline prepared for some data: what all settings share is already computed."""

    @property
    def grid(self) -> Iterable[Settings]:
        """The settings worth trying on these data, the likeliest first."""
        ...

    def fit(self, settings: Settings) -> Rates:
        """Return the right-hand sides at one setting; a ValueError says why there are none."""
        ...


#: Data, a seed and the time (of `time.monotonic`) by which to be done.
Prepare = Callable[[Trajectories, int, float], Fitter]


@dataclass(frozen=True)
class _Attempt:
    """A grid point with the right-hand sides it stands for; none if it could not be fitted."""

    point: GridPoint
    rates: Rates


def choose(
    name: str,
    prepare: Prepare,
    trajectories: Trajectories,
    *,
    split: Split | None = None,
    seed: int = 0,
    time_limit: float = 60.0,
) -> BaselineResult:
    """Fit and score all settings, and fit the best one on all the data.

    Nothing that goes wrong with a setting is raised: it is that setting's outcome.
    """
    started = time.monotonic()
    deadline = started + time_limit
    try:
        split = split or split_inside(trajectories)
        with quiet():
            fitter = prepare(split.training, seed, deadline)
    except DataError as error:
        return BaselineResult(name, None, message=str(error), seconds=time.monotonic() - started)
    attempts, complete = _walk(name, fitter, split, deadline)
    fitted = [attempt for attempt in attempts if attempt.rates]
    grid = tuple(attempt.point for attempt in attempts)
    if not fitted:
        message = grid[0].message if grid else "no setting could be tried within the time limit"
        return BaselineResult(name, None, {}, grid, message, time.monotonic() - started, complete)
    best = _best(fitted)
    rates = _refitted(name, partial(prepare, trajectories, seed, deadline), best, trajectories, deadline)
    return BaselineResult(
        name,
        measured_system(name, rates, trajectories),
        dict(best.point.settings),
        grid,
        "" if complete else f"the time limit of {time_limit:g} s ended the grid after {len(grid)} settings",
        time.monotonic() - started,
        complete,
    )


def _best(fitted: Sequence[_Attempt]) -> _Attempt:
    """Return the attempt with the fewest terms among those that end like the best and are as good."""
    best = min(fitted, key=lambda attempt: attempt.point.error).point
    limit = max(TOLERANCE * best.error, NEGLIGIBLE)
    good = [
        attempt
        for attempt in fitted
        if attempt.point.error <= limit and attempt.point.outcome == best.outcome
    ]
    return min(good, key=lambda attempt: (attempt.point.terms, attempt.point.error))


def saturated_error(scores: Validation, measured: Trajectories) -> float:
    """Return the error by which settings are compared; see `GridPoint`."""
    squares = []
    for state in measured.states:
        data = [run[state].to_numpy() for run in measured]
        # Over all runs together: a window in which a state hardly moves must not decide.
        spread = float(np.nanstd(np.concatenate(data))) or 1.0
        for run_score, values in zip(scores.runs, data, strict=True):
            error = ((run_score.simulated[state].to_numpy() - values) / spread)[np.isfinite(values)]
            squares.append(np.where(np.isfinite(error), np.minimum(error**2, 1.0), 1.0))
    return float(np.sqrt(np.mean(np.concatenate(squares))))


def _walk(name: str, fitter: Fitter, split: Split, deadline: float) -> tuple[list[_Attempt], bool]:
    held_out = Trajectories(tuple(thinned(run, SCORED_SAMPLES) for run in split.held_out))
    attempts: list[_Attempt] = []
    # Neighbouring thresholds often leave the same terms: such a system is scored once.
    known: dict[tuple[sympy.Expr, ...], GridPoint] = {}
    for settings in fitter.grid:
        if time.monotonic() > deadline:
            return attempts, False
        began = time.monotonic()
        try:
            with quiet():
                rates = fitter.fit(settings)
        except MissingDependencyError:
            raise
        except Exception as error:  # a library may fail in any way on any data
            attempts.append(_Attempt(_failed(settings, error, time.monotonic() - began), {}))
            continue
        key = tuple(rates.values())
        if key in known:
            point = known[key]
            point = GridPoint(**{**vars(point), "settings": settings, "seconds": time.monotonic() - began})
        else:
            point = _scored(name, rates, settings, held_out, split.initial, began)
            known[key] = point
        attempts.append(_Attempt(point, rates))
    return attempts, True


def _scored(
    name: str,
    rates: Rates,
    settings: Settings,
    held_out: Trajectories,
    initial: Sequence[Array] | None,
    began: float,
) -> GridPoint:
    scores = score(name, rates, held_out, initial)
    worst = min(scores.runs, key=lambda run: run.worst_r2)
    return GridPoint(
        settings=settings,
        error=saturated_error(scores, held_out),
        r2=scores.worst_r2,
        nrmse=scores.worst_nrmse,
        outcome=str(worst.outcome),
        message=worst.message,
        terms=sum(len(sympy.Add.make_args(rate)) for rate in rates.values() if rate != 0),
        seconds=time.monotonic() - began,
    )


def score(
    name: str, rates: Rates, trajectories: Trajectories, initial: Sequence[Array] | None = None
) -> Validation:
    """Re-integrate with tolerances good enough for comparing settings."""
    options = SolverOptions(rtol=1e-7, atol=1e-9, time_limit=SECONDS_PER_RUN)
    system = measured_system(name, rates, trajectories)
    with quiet():
        return validate(
            system, trajectories, initial=initial, options=options, conservation=False, chaos=False
        )


def _failed(settings: Settings, error: Exception, seconds: float) -> GridPoint:
    lines = str(error).strip().splitlines()
    message = lines[0] if lines else type(error).__name__
    return GridPoint(settings, 1.0, -np.inf, np.inf, NOT_FITTED, message, 0, seconds)


def _refitted(
    name: str, prepare: Callable[[], Fitter], best: _Attempt, trajectories: Trajectories, deadline: float
) -> Rates:
    """Fit the chosen setting on all the data; keep the fit on a part if that follows all of it better."""
    if time.monotonic() > deadline:
        return best.rates
    try:
        with quiet():
            rates = prepare().fit(best.point.settings)
    except Exception:  # as above
        return best.rates
    measured = Trajectories(tuple(thinned(run, SCORED_SAMPLES) for run in trajectories))
    errors = [
        saturated_error(score(name, candidate, measured), measured) for candidate in (rates, best.rates)
    ]
    return rates if errors[0] <= errors[1] else best.rates
