"""Linear combinations of states that the data keep constant, and whether a system keeps them too.

Such sums (a total of molecules, a population) are what a mechanism conserves. They are looked for in the data
alone and then asked of the equations, which know nothing of each other when they are searched one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError
from fepysr_dyn.expressions import canonical, compile_expression, to_text
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

#: A combination is constant if it varies by less than so many times its noise, which is an estimate.
_NOISE_FACTOR = 1.5
#: Standard errors within which a coefficient is taken for a simple number.
_ERRORS = 4.0
#: Least variation, as a share of that of its terms, that is told from none.
_RESOLUTION = 1e-7
#: With more noise than this share of the variation of the terms, many combinations look constant.
_MOST_NOISE = 0.1
#: Rates whose combination is below this share of their own size cancel.
_CANCELS = 1e-9
_LEAST_SAMPLES = 10


@dataclass(frozen=True)
class Conserved:
    """A linear combination of states that is constant in every experiment.

    Parameters
    ----------
    coefficients : mapping of str to float
        Of at least two states.
    variation : float
        How much it varies in the data, as a share of the variation of its terms.
    drift : float
        The same combination of a system's rates along the data, as a share of the size of these rates: 0 if
        the system conserves it as well.
    """

    coefficients: Mapping[str, float]
    variation: float
    drift: float

    @property
    def kept(self) -> bool:
        """Whether the rates cancel, up to rounding."""
        return self.drift <= _CANCELS

    @property
    def text(self) -> str:
        """The combination as a formula."""
        terms = []
        for state, value in self.coefficients.items():
            simple = float(value).is_integer()
            number = sympy.Integer(int(value)) if simple else sympy.Float(f"{value:.4g}")
            terms.append(number * sympy.Symbol(state))
        return to_text(sympy.Add(*terms))

    def __str__(self) -> str:
        if self.kept:
            return f"{self.text} is constant in the data, and the equations keep it so"
        share = f"{self.drift:.2g} of the size of the rates"
        return f"{self.text} is constant in the data up to their noise, but the equations change it ({share})"

    def to_dict(self) -> dict[str, Any]:
        """Return what a JSON document holds of this."""
        return {
            "expression": self.text,
            "coefficients": dict(self.coefficients),
            "variation": self.variation,
            "drift": self.drift,
            "kept": self.kept,
        }


def conserved_quantities(system: OdeSystem, trajectories: Trajectories) -> tuple[Conserved, ...]:
    """Return the combinations that the data keep constant, each with what the system does to it."""
    return tuple(
        Conserved(coefficients, variation, _drift(system, coefficients, trajectories))
        for coefficients, variation in constant_combinations(trajectories, system.states)
    )


def constant_combinations(
    trajectories: Trajectories, states: Sequence[str]
) -> list[tuple[dict[str, float], float]]:
    """Return coefficients of combinations that are constant in every experiment, and their variation.

    The value may differ from experiment to experiment. States that do not move are left out: each of them
    alone is constant, which says nothing about the mechanism.

    Examples
    --------
    >>> from fepysr_dyn.trajectories import make_experiment
    >>> t = np.linspace(0.0, 5.0, 100)
    >>> run = make_experiment(t, states={"a": np.exp(-t), "b": 2 - 2 * np.exp(-t), "c": np.sin(t)})
    >>> [found for found, _ in constant_combinations(Trajectories((run,)), ["a", "b", "c"])]
    [{'a': 1.0, 'b': 0.5}]
    """
    moving = [state for state in states if _spread(trajectories, state) > 0]
    if len(moving) < 2:
        return []
    table = np.vstack([_centred(run, moving) for run in trajectories])
    if len(table) < _LEAST_SAMPLES:
        return []
    spread = np.sqrt(np.mean(table**2, axis=0))
    noise = np.array([_noise(trajectories, state) for state in moving])
    if np.max(noise / spread) > _MOST_NOISE:
        return []
    # In units of their noise, the directions in which nothing but noise is left are the unbiased ones.
    unit = np.maximum(noise, _RESOLUTION * spread)
    _, sizes, directions = np.linalg.svd(table / unit, full_matrices=False)
    null = directions[sizes <= _NOISE_FACTOR * np.sqrt(len(table))] / unit
    if not len(null):
        return []
    found = []
    for basis in _readable(null, spread, unit, len(table)):
        row = _simplest(table, basis)
        limit = _NOISE_FACTOR * float(np.linalg.norm(row * unit))
        if np.count_nonzero(row) > 1 and np.sqrt(np.mean((table @ row) ** 2)) <= limit:
            named = zip(moving, row.tolist(), strict=True)
            found.append(({state: value for state, value in named if value}, _variation(table, row)))
    return found


def _variation(table: Array, row: Array) -> float:
    """Return how much a combination varies as a share of the variation of its terms."""
    terms = table * row
    size = float(np.sqrt(np.mean(np.sum(terms**2, axis=1))))
    return float(np.sqrt(np.mean(np.sum(terms, axis=1) ** 2))) / size


def _readable(null: Array, scale: Array, noise: Array, samples: int) -> list[Array]:
    """Return a basis of combinations in few states each, coefficients simple where the data allow it."""
    from scipy.linalg import qr

    # States that decide most get the coefficient one in one combination and none in the others.
    pivots = qr(null * scale, mode="r", pivoting=True)[1][: len(null)]
    rows = []
    for row in np.linalg.solve(null[:, pivots], null):
        # What the noise of the whole combination leaves open about the share of one state.
        open_to = _ERRORS * float(np.linalg.norm(row * noise)) / np.sqrt(samples)
        tolerance = np.maximum(open_to, 1e-6 * np.max(np.abs(row) * scale)) / scale
        row = np.where(np.abs(row) <= tolerance, 0.0, row)
        lead = row[np.flatnonzero(row)[0]]
        row, tolerance = row / lead, tolerance / abs(lead)
        simple = np.round(2 * row) / 2
        rows.append(np.where((np.abs(row - simple) <= tolerance) & (simple != 0), simple, row))
    return sorted(rows, key=lambda row: [not value for value in row])


def _simplest(table: Array, row: Array) -> Array:
    """Return the combination with whole and half numbers if the data cannot tell it from the given one."""
    simple = np.round(2 * row) / 2
    if np.any((simple == 0) != (row == 0)):
        return row
    before, after = (float(np.mean((table @ values) ** 2)) for values in (row, simple))
    return simple if len(table) * (after - before) <= 9 * np.count_nonzero(row) * before else row


def _drift(system: OdeSystem, coefficients: Mapping[str, float], trajectories: Trajectories) -> float:
    """Return the combination of a system's rates along the data as a share of their size."""
    rates = system.explicit_rates()
    terms = [_exact(value) * rates[state] for state, value in coefficients.items()]
    if canonical(sympy.Add(*terms)) == 0:
        return 0.0
    names = (*system.states, *system.inputs)
    columns = [np.concatenate([run[name].to_numpy() for run in trajectories]) for name in names]
    with np.errstate(all="ignore"):
        values = np.array([compile_expression(term, names)(*columns) for term in terms])
    values = values[:, np.all(np.isfinite(values), axis=0)]
    size = float(np.sqrt(np.mean(np.sum(values**2, axis=0)))) if values.size else 0.0
    if size == 0.0:
        return float("nan") if not values.size else 0.0
    return float(np.sqrt(np.mean(np.sum(values, axis=0) ** 2))) / size


def _exact(value: float) -> sympy.Expr:
    return sympy.Integer(int(value)) if float(value).is_integer() else sympy.Float(value)


def _centred(run: xr.Dataset, states: Sequence[str]) -> Array:
    values = np.column_stack([run[state].to_numpy() for state in states])
    values = values[np.all(np.isfinite(values), axis=1)]
    return values - values.mean(axis=0) if len(values) else values


def _spread(trajectories: Trajectories, state: str) -> float:
    largest = max(float(np.nanmax(np.abs(run[state].to_numpy()))) for run in trajectories)
    spread = max(float(np.nanstd(run[state].to_numpy())) for run in trajectories)
    return spread if spread > 1e-9 * largest else 0.0


def _noise(trajectories: Trajectories, state: str) -> float:
    """Return the standard deviation of the error of a state: white noise, or that of its smoothing."""
    from fepysr_dyn.derivatives.estimation import series_of
    from fepysr_dyn.derivatives.noise import noise_level

    levels = []
    for run in trajectories:
        try:
            white = noise_level(series_of(run, state))
        except DataError:
            # Too short to tell anything about its noise.
            continue
        stated = run[f"{state}_se"].to_numpy() if f"{state}_se" in run else np.zeros(1)
        levels.append(max(white, float(np.sqrt(np.nanmean(stated**2)))))
    return max(levels, default=0.0)
