"""Rational engine: quotients of sums of products, found from P - y*Q = 0 and refitted as P/Q."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, islice

import numpy as np
import sympy

from fepysr_dyn.expressions import compile_expression, complexity
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.least_squares import LOSS_FLOOR, NEAR_INTEGER, linear_combination
from fepysr_dyn.search.library import (
    Atom,
    Library,
    allowed_functions,
    apply,
    distinct,
    feature_atoms,
    inner_arguments,
    products,
    variable_atoms,
)
from fepysr_dyn.search.offers import offer_constant
from fepysr_dyn.search.partial_fractions import search_fractions
from fepysr_dyn.search.pointwise import refitted, unmeasured
from fepysr_dyn.search.problem import Array, RegressionProblem, Runtime
from fepysr_dyn.search.rational_fit import Quotient, explicit_fit, implicit_fit, null_vector, refit_free
from fepysr_dyn.search.rows import evaluated, row_factors, thinned
from fepysr_dyn.search.session import RESOLUTION, Session
from fepysr_dyn.search.subsets import SubsetConfig, best_subsets, independent_columns
from fepysr_dyn.search.writing import MOST_GATHERED

#: Groups of themes there are at most, and themes with one function in each.
_GROUPS = 8
_MAX_THEMES = 300


@dataclass(frozen=True)
class RationalConfig:
    """Options of the rational engine.

    Parameters
    ----------
    max_terms : int
        Largest number of terms above and below together.
    max_columns : int
        Largest number of columns above and below together.
    rows : int
        Rows used to find the structure; constants are fitted on all rows.
    keep_poles : bool
        Keep formulas whose denominator changes sign on the data's box even if they are not exact.
    """

    max_terms: int = 9
    max_columns: int = 300
    rows: int = 600
    keep_poles: bool = False
    subsets: SubsetConfig = field(default_factory=lambda: SubsetConfig(beam=4, pairs=200))


@dataclass(frozen=True, eq=False)
class Theme:
    """What may stand above and below the fraction line."""

    title: str
    above: Library
    below: Library

    def __len__(self) -> int:
        return len(self.above) + len(self.below)


@dataclass(frozen=True)
class RationalEngine:
    """Implicit sparse regression, solved into explicit quotients."""

    config: RationalConfig = field(default_factory=RationalConfig)

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        return "rational"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Return the best quotients found, simplest first."""
        session = Session(problem, runtime, self.name)
        offer_constant(session)
        if not {"/", "inv"} & set(problem.operators):
            session.notes.append("division is not among the operators")
        elif problem.measurement is not None:
            _search_unmeasured(session, self.config)
        else:
            search_rational(session, self.config)
        return session.front()


def _search_unmeasured(session: Session, config: RationalConfig) -> None:
    """Find quotients for the target row by row; the measurement operator then fits and judges them.

    P - y*Q = 0 is linear only in a target that belongs to a row.
    """
    problem = session.problem
    rows = replace(problem, target=unmeasured(problem), measurement=None, weights=None, noise=None)
    inner = Session(rows, session.runtime, "rational")
    search_rational(inner, config)
    session.spend(inner.spent)
    for candidate in inner.front():
        own = refitted(candidate.expression, problem, "rational")
        if own is not None:
            session.offer(own.expression)


def search_rational(session: Session, config: RationalConfig) -> None:
    """Read denominators off exact data; then go through themes from small to large, for any data."""
    search_fractions(session)
    if session.exact is not None or session.must_stop():
        return
    few = thinned(session.problem, config.rows)
    for position, group in enumerate(_theme_groups(few, config)):
        ranked: list[tuple[float, int, Theme]] = []
        for number, theme in enumerate(group):
            if session.must_stop():
                return
            ranked.append((_misfit(few, theme), number, theme))
            session.spend(len(theme))
        ranked.sort(key=lambda item: item[:2])
        session.report(min(1.0, position / _GROUPS), ranked[0][2].title if ranked else "")
        for _, _, theme in ranked[:5]:
            search_theme(session, few, theme, config)
            if session.must_stop() or session.exact is not None:
                return


def _misfit(few: RegressionProblem, theme: Theme) -> float:
    weights = row_factors(few, balanced=True)
    return null_vector(theme.above.values, theme.below.values, few.target, weights)[1]


def _theme(
    title: str, above: Sequence[tuple[Atom, ...]], below: Sequence[tuple[Atom, ...]], rows: int
) -> Theme:
    libraries = []
    for factors in (above, below):
        library = Library.of(factors, rows)
        kept = independent_columns(library.values, 1e-9)
        libraries.append(Library(tuple(library.factors[j] for j in kept), library.values[:, kept]))
    return Theme(title, *libraries)


def _theme_groups(problem: RegressionProblem, config: RationalConfig) -> Iterator[Iterable[Theme]]:
    """Yield groups of themes; within a group the best-fitting themes are looked at first."""
    rows = len(problem.target)
    room = max(8, min(config.max_columns, int(0.6 * rows)))
    variables = variable_atoms(problem)
    features = [a for a in feature_atoms(problem) if not a.expression.is_Symbol]
    names = allowed_functions([n for n in problem.operators if n not in ("/", "inv", "abs", "sign")])

    def fitting(
        title: str, atoms: Sequence[Atom], degrees: Sequence[tuple[int, int]], most: int = 1
    ) -> list[Theme]:
        themes = (
            _theme(title, products(atoms, high, room), products(atoms, low, room), rows)
            for high, low in degrees
        )
        return [theme for theme in themes if len(theme) <= room and len(theme.below) > 1][-most:]

    yield fitting("small polynomials", variables, [(1, 1), (2, 1), (2, 2)], 3)
    yield fitting("polynomials", variables, [(3, 2), (3, 3), (4, 3), (4, 4), (5, 4), (6, 4), (6, 6)])
    if features:
        mixed = distinct([*variables, *features])
        yield fitting("features", mixed, [(1, 1), (2, 1), (2, 2), (3, 2)])
    simple = apply(names, variables)
    mixed = distinct([*variables, *simple])
    over_monomials = _theme(
        "functions over monomials", products(mixed, 2, room), products(variables, 2, room), rows
    )
    yield chain(
        [over_monomials] if 1 < len(over_monomials) <= room else [],
        fitting("functions of variables", mixed, [(1, 1), (2, 1), (2, 2)]),
        _single_function_themes(variables, simple, room, rows, 1),
    )
    yield _two_function_themes(variables, simple, room, rows)
    functions = apply(names, inner_arguments(variables, 1))
    yield _single_function_themes(variables, functions, room, rows, 1)
    yield _single_function_themes(variables, functions, room, rows, 2)
    yield _single_function_themes(variables, apply(names, inner_arguments(variables, 2)), room, rows, 1)


def _single_function_themes(
    variables: Sequence[Atom], functions: Sequence[Atom], room: int, rows: int, degree: int
) -> Iterator[Theme]:
    """Yield themes of monomials with the powers of one function."""
    for function in distinct(functions)[:_MAX_THEMES]:
        monomials = products(variables, degree, room)
        powers: list[tuple[Atom, ...]] = [(), (function,), (function, function)][: degree + 1]
        above = [(*m, *p) for p in powers for m in monomials]
        below = [(*m, *p) for p in powers for m in (monomials if degree > 1 else [()])]
        theme = _theme("quotients with one function", above, below, rows)
        if len(theme) <= room and len(theme.below) > 1:
            yield theme


def _two_function_themes(
    variables: Sequence[Atom], functions: Sequence[Atom], room: int, rows: int
) -> Iterator[Theme]:
    """Yield themes of degree two in the variables and two functions, for where all at once are too many."""
    for first, second in islice(combinations(distinct(functions), 2), _MAX_THEMES):
        columns = products([*variables, first, second], 2, room)
        theme = _theme("quotients with two functions", columns, columns, rows)
        if len(theme) <= room:
            yield theme


def search_theme(session: Session, few: RegressionProblem, theme: Theme, config: RationalConfig) -> None:
    """Offer the best quotients of every size within a theme."""
    P, Q, y = theme.above.values, theme.below.values, few.target
    balanced = row_factors(few, balanced=True)
    fit = implicit_fit(P, Q, y, row_factors(few, balanced=False), rounds=3)
    vector, misfit = null_vector(P, Q, y, balanced)
    # Rows divided by the denominator of the full fit weigh the implicit residual like the explicit one.
    size = np.abs(Q @ fit.below)
    even = balanced / np.maximum(size / (np.median(size) + 1e-300), 1e-3)
    weights = even if misfit > RESOLUTION and np.isfinite(fit.cost) else balanced
    A = np.column_stack([P, -y[:, None] * Q]) * weights[:, None]
    share = np.abs(vector) * np.linalg.norm(A, axis=0)
    below = np.arange(P.shape[1], A.shape[1])
    order = [int(below[0]), *(int(below[k]) for k in np.argsort(-share[below], kind="stable"))]
    limits = SubsetConfig(config.max_terms - 1, config.subsets.beam, config.subsets.pairs, 2)
    tried: set[tuple[int, ...]] = set()
    for pivot in dict.fromkeys(order[:4]):
        if session.must_stop():
            return
        others = [j for j in range(A.shape[1]) if j != pivot]
        subsets = best_subsets(A[:, others], -A[:, pivot], limits, session.must_stop)
        for subset in subsets:
            chosen = tuple(sorted([*(others[j] for j in subset.columns), pivot]))
            for terms in (chosen, *_one_fewer(chosen, misfit)):
                if terms not in tried and not session.must_stop():
                    tried.add(terms)
                    _offer_quotient(session, few, theme, terms, config)
        if session.exact is not None:
            return


def _one_fewer(chosen: tuple[int, ...], misfit: float) -> list[tuple[int, ...]]:
    """Return the subsets with one term less, for where there is noise.

    Implicit rows hold noise in their columns as well, so that the best subset of a size often carries a term
    that the quotient itself does not need.
    """
    if misfit <= RESOLUTION:
        return []
    return [tuple(j for j in chosen if j != left_out) for left_out in chosen]


def _offer_quotient(
    session: Session,
    few: RegressionProblem,
    theme: Theme,
    chosen: Sequence[int],
    config: RationalConfig,
) -> None:
    """Fit a quotient on all rows and offer it; columns below the line count on from those above."""
    top = [j for j in chosen if j < len(theme.above)]
    bottom = [j - len(theme.above) for j in chosen if j >= len(theme.above)]
    if not top or not bottom:
        return
    least = theme.above.least_size(top) + theme.below.least_size(bottom) - MOST_GATHERED
    if least > session.problem.max_complexity:
        return
    above = [theme.above.expression(j) for j in top]
    below = [theme.below.expression(j) for j in bottom]
    if few is session.problem:
        values = (theme.above.values[:, top], theme.below.values[:, bottom])
    else:
        values = (evaluated(session.problem, above), evaluated(session.problem, below))
    offer_quotient(session, (above, below), values, least=least, keep_poles=config.keep_poles)


def offer_quotient(
    session: Session,
    terms: tuple[Sequence[sympy.Expr], Sequence[sympy.Expr]],
    values: tuple[Array, Array],
    *,
    least: int = 1,
    keep_poles: bool = False,
) -> float:
    """Fit a quotient of sums on all rows and offer it, cleaned; return its loss.

    `least` is a lower bound of its complexity: no formula is built for what cannot reach the front.
    """
    problem = session.problem
    above, below = terms
    P, Q = values
    if not (np.all(np.isfinite(P)) and np.all(np.isfinite(Q))):
        return float("inf")
    weights = row_factors(problem, balanced=False)
    session.spend(10)
    fit = implicit_fit(P, Q, problem.target, weights)
    # An explicit fit improves on the implicit one, but hardly by more than this factor.
    if not session.would_help(least, 0.02 * fit.cost / (len(problem.target) * problem.scale**2)):
        return float("inf")
    if len(below) > 1:
        fit = explicit_fit(P, Q, problem.target, weights, fit, 12)
    if not np.isfinite(fit.cost):
        return float("inf")
    numbers = _cleaned_quotient(P, Q, problem.target, weights, fit)
    with np.errstate(all="ignore"):
        loss = problem.loss((P @ numbers[: len(above)]) / (Q @ numbers[len(above) :]))
    if not session.would_help(least, loss):
        return loss
    numerator = linear_combination(numbers[: len(above)], above)
    denominator = linear_combination(numbers[len(above) :], below)
    if denominator == 0 or numerator == 0:
        return loss
    if not session.would_help(complexity(numerator / denominator) - MOST_GATHERED, loss):
        return loss
    # Where the data themselves show a pole it is real; elsewhere it is a risk nobody asked for.
    if keep_poles or loss < 1e-12 or not changes_sign(denominator, problem):
        session.add(numerator / denominator, loss)
    return loss


def _cleaned_quotient(P: Array, Q: Array, y: Array, weights: Array, fit: Quotient) -> Array:
    """Scale all coefficients so that most are whole numbers, and round those if the fit stays as good."""
    values = np.concatenate([fit.above, fit.below])
    sizes = np.concatenate([np.linalg.norm(P, axis=0), np.linalg.norm(Q * y[:, None], axis=0)])
    large = np.abs(values) * sizes > 1e-10 * np.max(np.abs(values) * sizes)
    best, most = values / values[P.shape[1] + int(np.argmax(np.abs(fit.below)))], -1
    for pivot in np.flatnonzero(large)[::-1]:
        scaled = values / values[pivot]
        near = np.abs(scaled - np.round(scaled)) <= NEAR_INTEGER * np.maximum(1.0, np.abs(scaled))
        whole = int(np.sum(near & (np.round(scaled) != 0)))
        if whole > most:
            best, most = scaled, whole
    near = np.abs(best - np.round(best)) <= NEAR_INTEGER * np.maximum(1.0, np.abs(best))
    rounded = np.where(near, np.round(best), best)
    if not np.any(rounded[: P.shape[1]]) or not np.any(rounded[P.shape[1] :]):
        return np.asarray(best)
    if np.sum(near) < 2:
        return np.asarray(best)
    refitted, cost = refit_free(P, Q, y, weights, rounded, near)
    floor = LOSS_FLOOR * float(np.sum((weights * y) ** 2))
    return refitted if cost <= 1.0001 * fit.cost + floor else np.asarray(best)


def changes_sign(denominator: sympy.Expr, problem: RegressionProblem, points: int = 2_000) -> bool:
    """Return whether an expression has both signs, or none, on the box of the data."""
    random = np.random.default_rng(problem.seed)
    columns = []
    for values in problem.columns.values():
        inside = random.uniform(np.min(values), np.max(values), points)
        columns.append(np.concatenate([np.asarray(values, dtype=np.float64)[:points], inside]))
    length = max(len(column) for column in columns)
    columns = [column[-length:] for column in columns]
    values = compile_expression(denominator, problem.names)(*columns)
    values = values[np.isfinite(values)]
    return bool(not len(values) or np.min(values) <= 0 <= np.max(values))
