"""One inner constant, scanned: for every value the rest is a linear or rational problem, solved at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from fepysr_dyn.search.families import Family, allowed_families, arguments
from fepysr_dyn.search.library import Atom, Library, variable_atoms
from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.rational import RationalConfig, Theme, search_theme
from fepysr_dyn.search.rows import row_factors, thinned
from fepysr_dyn.search.session import Session
from fepysr_dyn.search.sparse import SparseConfig, search_library


@dataclass(frozen=True)
class ScanConfig:
    """Grid points per constant, rows for the scan, and minima that are followed up in each group."""

    points: int = 28
    rows: int = 160
    follow: int = 3


@dataclass(frozen=True, eq=False)
class Minimum:
    """A constant at which the misfit has a local minimum."""

    misfit: float
    family: Family
    argument: Atom
    companions: tuple[Atom, ...]
    constant: float


def scan_constants(session: Session, config: ScanConfig) -> None:
    """Offer what one function with a free inner constant explains, together with the variables."""
    few = thinned(session.problem, config.rows)
    variables = variable_atoms(few)
    groups: list[tuple[Atom, ...]] = [(), *((atom,) for atom in variables)]
    if len(variables) > 1:
        groups.append(tuple(variables))
    families = allowed_families(session.problem.operators)
    can_divide = bool({"/", "inv"} & set(session.problem.operators)) and few.measurement is None
    for position, companions in enumerate(groups):
        session.report(position / len(groups), "scanning inner constants")
        minima: list[Minimum] = []
        for family in families:
            for argument in arguments(variables):
                if session.must_stop():
                    return
                minima += _minima(few, family, argument, companions, config.points, can_divide)
                session.spend(config.points)
        minima.sort(key=lambda minimum: minimum.misfit)
        for minimum in _different(minima, config.follow):
            _follow(session, few, minimum, can_divide=can_divide)
            if session.must_stop() or session.exact is not None:
                return


def _different(minima: Sequence[Minimum], count: int) -> list[Minimum]:
    """Return the best minima, at most one of each family and argument."""
    best: dict[tuple[str, object], Minimum] = {}
    for minimum in minima:
        best.setdefault((minimum.family.name, minimum.argument.expression), minimum)
    return list(best.values())[:count]


def _columns(companions: Sequence[Atom], functions: Array) -> Array:
    """Return 1 and companions, alone and times each function: shape (..., rows, columns)."""
    plain = np.stack([np.ones(functions.shape[-2]), *(atom.values for atom in companions)], axis=-1)
    plain = np.broadcast_to(plain, (*functions.shape[:-1], plain.shape[-1]))
    mixed = [plain * functions[..., [k]] for k in range(functions.shape[-1])]
    return np.concatenate([plain, *mixed], axis=-1)


class _Misfit:
    """Relative misfit of the full theme as a function of the inner constant."""

    def __init__(
        self,
        few: RegressionProblem,
        family: Family,
        argument: Atom,
        companions: Sequence[Atom],
        can_divide: bool,
    ) -> None:
        self._few, self._family, self._argument, self._companions = few, family, argument, companions
        self._quotient = can_divide and family.quotient
        self._weights = row_factors(few, balanced=True)

    def __call__(self, constants: Array) -> Array:
        functions = self._family.values(constants, self._argument.values)
        usable = np.all(np.isfinite(functions), axis=(1, 2))
        result = np.full(len(constants), np.inf)
        if not np.any(usable):
            return result
        columns = self._few.measure(_columns(self._companions, functions[usable]))
        y = np.broadcast_to(self._few.target[:, None], (*columns.shape[:-1], 1))
        below = [y, y * self._few.measure(functions[usable])] if self._quotient else [y]
        matrix = np.concatenate([columns, *below], axis=-1) * self._weights[:, None]
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        sigma = np.linalg.svd(matrix / np.where(norms > 0, norms, 1.0), compute_uv=False)
        result[usable] = sigma[:, -1] / sigma[:, 0]
        return result

    def at(self, constant: float) -> float:
        return float(self(np.array([constant]))[0])


def _minima(
    few: RegressionProblem,
    family: Family,
    argument: Atom,
    companions: tuple[Atom, ...],
    points: int,
    can_divide: bool,
) -> list[Minimum]:
    grid = family.grid(argument.values, points)
    if len(grid) < 3:
        return []
    misfit = _Misfit(few, family, argument, companions, can_divide)
    curve = misfit(grid)
    inner = [
        k
        for k in range(1, len(grid) - 1)
        if curve[k] <= min(curve[k - 1], curve[k + 1]) and curve[k] < np.inf
    ]
    inner.sort(key=lambda k: float(curve[k]))
    found = []
    for k in inner[:2]:
        low, high = sorted((grid[k - 1], grid[k + 1]))
        if low < 0 < high:
            # Zero is no member of most families: stay on the side of the grid point.
            low, high = (low, -1e-3 * abs(low)) if grid[k] < 0 else (1e-3 * high, high)
        fit = minimize_scalar(
            lambda c: np.log(misfit.at(c) + 1e-18),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-9 * abs(high - low), "maxiter": 60},
        )
        constant, value = (float(fit.x), misfit.at(float(fit.x)))
        if value > curve[k]:
            constant, value = float(grid[k]), float(curve[k])
        found.append(Minimum(value, family, argument, companions, constant))
    return found


def _follow(session: Session, few: RegressionProblem, minimum: Minimum, *, can_divide: bool) -> None:
    """Look for the sparse answer at the constant, then refine all constants together."""
    functions = minimum.family.atoms(minimum.constant, minimum.argument)
    plain: list[tuple[Atom, ...]] = [(), *((atom,) for atom in minimum.companions)]
    above = [*plain, *((*factors, f) for f in functions for factors in plain)]
    rows = len(functions[0].values)
    library = Library.of(above, rows)
    if can_divide and minimum.family.quotient:
        below = Library.of([(), *((f,) for f in functions)], rows)
        search_theme(session, few, Theme("scan", library, below), RationalConfig())
    else:
        search_library(session, few, library, SparseConfig(max_terms=6))
    session.refine_front()
