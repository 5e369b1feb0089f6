"""Derivatives to regression problems, one per state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError
from fepysr_dyn.expressions import compile_expression
from fepysr_dyn.search.problem import Budget, RegressionProblem

if TYPE_CHECKING:
    from fepysr_dyn.derivatives import Derivatives
    from fepysr_dyn.discovery.config import DiscoveryConfig, EquationPrior
    from fepysr_dyn.trajectories import Trajectories

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

#: Fewer rows than this cannot decide between right-hand sides.
LEAST_ROWS = 10
#: Standard errors so far below the spread of the derivative are estimates of a truncation error, to within
#: such a factor; others are those of smoothing.
_TRUNCATION = 1e-4
_TRUNCATION_SLACK = 2.0
#: Samples whose derivative is worse than the median by more than this factor are left out,
_TRUSTED = 3.0
#: unless it is good by any standard, relative to the spread of the derivative: a rest may have better ones,
#: but only the fast phases tell the law.
_GOOD = 1e-9
#: Under noise a derivative tells something unless its error is larger than this share of the spread. Rests
#: are known better than the phases between them, but it is those that tell the law: weights are enough.
_TELLING = 0.5
#: So large a share of the rows, and so many of them, are enough to go without the others.
_ENOUGH = 0.25
_ENOUGH_ROWS = 100


def all_columns(derivatives: Derivatives) -> dict[str, Array]:
    """Return smoothed states and inputs of all experiments, one after the other."""
    names = (*derivatives.states, *derivatives.inputs)
    return {name: np.concatenate([run[name].to_numpy() for run in derivatives]) for name in names}


def pointwise_problem(
    state: str, trajectories: Trajectories, derivatives: Derivatives, config: DiscoveryConfig, seed: int
) -> RegressionProblem:
    """Return the problem "derivative of a state from states and inputs", at the most telling samples.

    Whatever is known about the equation beforehand is for `unknown_part`.
    """
    return _pointwise(state, derivatives, config, seed)[0]


def tolerant_problem(
    state: str, trajectories: Trajectories, derivatives: Derivatives, config: DiscoveryConfig, seed: int
) -> RegressionProblem:
    """Return the pointwise problem with the standard errors of the smoothed states."""
    problem, rows = _pointwise(state, derivatives, config, seed)
    errors = {
        name: np.concatenate([run[f"{name}_se"].to_numpy() for run in derivatives])[rows]
        for name in derivatives.states
    }
    known = {name: np.where(np.isfinite(error), error, 0.0) for name, error in errors.items()}
    return replace(problem, column_errors=known)


def _pointwise(
    state: str, derivatives: Derivatives, config: DiscoveryConfig, seed: int
) -> tuple[RegressionProblem, Rows]:
    """Return the pointwise problem, and the samples that are its rows."""
    columns = all_columns(derivatives)
    target = np.concatenate([run[f"d{state}"].to_numpy() for run in derivatives])
    error = np.concatenate([run[f"d{state}_se"].to_numpy() for run in derivatives])
    usable = np.isfinite(target) & np.isfinite(error) & np.all(np.isfinite(list(columns.values())), axis=0)
    rows = np.flatnonzero(usable & trusted_rows(error, usable, float(np.std(target[usable]))))
    if len(rows) < LEAST_ROWS:
        raise DataError(
            f"state '{state}': {len(rows)} samples have a derivative and all columns, {LEAST_ROWS} are needed"
        )
    rows = rows[telling_rows([run["time"].to_numpy() for run in derivatives], columns, rows, config.max_rows)]
    weights = _weights(error[rows])
    return RegressionProblem(
        columns={name: values[rows] for name, values in columns.items()},
        target=target[rows],
        weights=weights,
        noise=_noise(error[rows], weights, float(np.std(target[rows]))) or None,
        operators=config.operators,
        max_complexity=config.max_complexity,
        budget=Budget(config.evaluations, config.seconds_per_state),
        seed=seed,
    ), rows


def weak_problem(
    state: str, trajectories: Trajectories, derivatives: Derivatives, config: DiscoveryConfig, seed: int
) -> RegressionProblem:
    """Return the problem "integrals of the rate against test functions".

    The target comes from the samples themselves; the columns are smoothed, because noise inside a nonlinear
    rate would not average out.
    """
    from fepysr_dyn.derivatives.weak_form import weak_form

    form = weak_form(trajectories, state)
    columns = all_columns(derivatives)
    known_samples = form.complete & np.all(np.isfinite(list(columns.values())), axis=0)
    rows = np.all(form.measurement[:, ~known_samples] == 0.0, axis=1)
    samples = known_samples & np.any(form.measurement[rows] != 0.0, axis=0)
    if rows.sum() < LEAST_ROWS:
        raise DataError(
            f"state '{state}': the weak form needs {LEAST_ROWS} complete test functions, found {rows.sum()}"
        )
    measurement = form.measurement[np.ix_(rows, samples)]
    weights = form.weights[rows]
    return RegressionProblem(
        columns={name: values[samples] for name, values in columns.items()},
        target=form.target[rows],
        weights=weights / np.mean(weights),
        measurement=measurement,
        operators=config.operators,
        max_complexity=config.max_complexity,
        budget=Budget(config.evaluations, config.seconds_per_state),
        seed=seed,
    )


def unknown_part(problem: RegressionProblem, prior: EquationPrior) -> RegressionProblem:
    """Return the problem of what is not known: the known term taken away, only the columns that may occur."""
    known = compile_expression(prior.known_term(), problem.names)(*problem.columns.values())
    names = problem.names if prior.columns is None else prior.columns
    return replace(
        problem,
        columns={name: problem.columns[name] for name in names},
        column_errors={name: error for name, error in problem.column_errors.items() if name in names},
        features=tuple(
            f for f in problem.features if {symbol.name for symbol in f.free_symbols} <= set(names)
        ),
        target=problem.target - problem.measure(np.broadcast_to(known, problem.matrix.shape[1])),
    )


def trusted_rows(error: Array, usable: NDArray[np.bool_], spread: float) -> NDArray[np.bool_]:
    """Return which derivatives are about as good as the typical one, or good enough for anything.

    Without noise, a phase that is too fast for the sampling has derivatives that are wrong by orders of
    magnitude more than the rest. Equations are decided by the good ones; the trajectory as a whole is for the
    refinement.
    """
    if not usable.any():
        return usable
    typical, better = np.quantile(error[usable], [0.5, _ENOUGH])
    if better <= 10 * _GOOD * spread and np.sum(usable) * _ENOUGH >= _ENOUGH_ROWS:
        # Enough rows are as good as exact: the others would only blur them.
        typical = better
    good = _TELLING if typical > _TRUNCATION * spread else _GOOD
    trusted: NDArray[np.bool_] = error <= max(_TRUSTED * float(typical), good * spread)
    return trusted


def telling_rows(times: list[Array], columns: Mapping[str, Array], rows: Rows, most: int) -> Rows:
    """Return positions in `rows` of at most so many samples, spread over time and over the path.

    Half of the measure is time, half is the length of the path in state space, so that a short fast phase is
    represented beside a long rest.
    """
    if len(rows) <= most:
        return np.arange(len(rows))
    table = np.vstack([values[rows] / (np.std(values[rows]) or 1.0) for values in columns.values()])
    ends = np.cumsum([len(t) for t in times])
    experiment = np.searchsorted(ends, rows, side="right")
    length = np.sqrt(np.sum(np.diff(table, axis=1) ** 2, axis=0))
    # From one experiment to the next there is no path.
    length[np.diff(experiment) != 0] = 0.0
    path = np.concatenate([[0.0], np.cumsum(length)])
    share = 0.5 * np.arange(len(rows)) / (len(rows) - 1) + 0.5 * path / (path[-1] or 1.0)
    return np.unique(np.searchsorted(share, np.linspace(0.0, share[-1], most)))


def _noise(error: Array, weights: Array | None, spread: float) -> float:
    """Return the error of the target as the loss sees it: under noise, poor rows weigh little."""
    plain = float(np.sqrt(np.mean(error**2)))
    if plain < _TRUNCATION * spread:
        return _TRUNCATION_SLACK * plain
    return float(np.sqrt(np.average(error**2, weights=weights)))


def _weights(error: Array) -> Array | None:
    """Weights from standard errors; very small ones are not believed to be that much better."""
    typical = float(np.median(error))
    if typical == 0.0:
        return None
    weights = 1.0 / np.maximum(error, typical / 3) ** 2
    return np.asarray(weights / np.mean(weights))
