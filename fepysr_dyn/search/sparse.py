"""Sparse engine: sums of few products of variables, features and elementary functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import sympy

from fepysr_dyn.expressions import complexity
from fepysr_dyn.search.evaluation import tree_values
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.least_squares import cleaned_coefficients, linear_combination, solve_columns
from fepysr_dyn.search.library import (
    Atom,
    Library,
    allowed_functions,
    apply,
    distinct,
    feature_atoms,
    inner_arguments,
    largest_degree,
    products,
    variable_atoms,
)
from fepysr_dyn.search.problem import Array, RegressionProblem, Runtime
from fepysr_dyn.search.session import Session
from fepysr_dyn.search.subsets import SubsetConfig, best_subsets
from fepysr_dyn.search.wide import WideConfig, promising_products

#: Taking out common factors saves at most about this much complexity.
MOST_GATHERED = 6


@dataclass(frozen=True)
class SparseConfig:
    """Options of the sparse engine.

    Parameters
    ----------
    max_terms : int
        Largest number of terms of a sum.
    max_degree : int
        Largest total degree of a polynomial library.
    max_columns : int
        Largest library whose columns are formed.
    max_products : int
        Largest number of products that are scored at once without forming them.
    max_chunks : int
        How many such sets of products are gone through.
    rows : int
        Rows used to find subsets; the constants are always fitted on all rows.
    """

    max_terms: int = 10
    max_degree: int = 9
    max_columns: int = 360
    max_products: int = 200_000
    max_chunks: int = 3
    rows: int = 1_500
    subsets: SubsetConfig = field(default_factory=SubsetConfig)
    wide: WideConfig = field(default_factory=WideConfig)


@dataclass(frozen=True)
class SparseEngine:
    """Best subsets over growing libraries of products."""

    config: SparseConfig = field(default_factory=SparseConfig)

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        return "sparse"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Return the best sums found, smallest first."""
        session = Session(problem, runtime, self.name)
        search_sparse(session, self.config)
        return session.front()


def search_sparse(session: Session, config: SparseConfig) -> None:
    """Offer sums over growing libraries until one is exact or all are done."""
    offer_constant(session)
    few = thinned(session.problem, config.rows)
    stages = list(_libraries(few, config))
    for position, (title, columns) in enumerate(stages):
        if session.must_stop() or session.exact is not None:
            return
        session.report(position / (len(stages) + 1), title)
        library = Library.of(columns, _rows(few))
        search_library(session, few, library, config)
    if session.must_stop() or session.exact is not None:
        return
    session.report(len(stages) / (len(stages) + 1), "products of elementary functions")
    _search_products(session, config)


def offer_constant(session: Session) -> None:
    """Offer the weighted mean, the simplest answer of all."""
    problem = session.problem
    ones = problem.measure(np.ones(_rows(problem)))[:, None] * session.row_weights[:, None]
    value = solve_columns(ones, problem.target * session.row_weights)
    session.offer(sympy.Float(float(value[0])))


def _rows(problem: RegressionProblem) -> int:
    return len(next(iter(problem.columns.values())))


def thinned(problem: RegressionProblem, rows: int) -> RegressionProblem:
    """Return the problem on at most so many random rows; a measured problem is left whole."""
    total = _rows(problem)
    if problem.measurement is not None or total <= rows:
        return problem
    chosen = np.sort(np.random.default_rng(problem.seed).choice(total, rows, replace=False))
    # The extremes decide where functions are defined, so they always stay.
    extremes = [
        int(k) for v in (*problem.columns.values(), problem.target) for k in (np.argmin(v), np.argmax(v))
    ]
    chosen = np.union1d(chosen, extremes)
    return replace(
        problem,
        columns={name: np.asarray(values)[chosen] for name, values in problem.columns.items()},
        target=problem.target[chosen],
        weights=None if problem.weights is None else problem.weights[chosen],
    )


def _libraries(
    problem: RegressionProblem, config: SparseConfig
) -> Iterator[tuple[str, list[tuple[Atom, ...]]]]:
    """Yield libraries from small to large, each with a title."""
    variables = variable_atoms(problem)
    features = [atom for atom in feature_atoms(problem) if not atom.expression.is_Symbol]
    names = allowed_functions(problem.operators)
    room = max(24, min(config.max_columns, int(0.75 * len(problem.target))))
    degree = largest_degree(len(variables), room, config.max_degree)
    yield "polynomials", products(variables, degree, room)
    if features:
        mixed = distinct([*variables, *features])
        yield "products of features", products(mixed, 3, max(room, 2 * len(mixed)))
    monomials = _monomials(variables)
    simple = apply([n for n in names if n != "abs"], variables)
    mixed = distinct([*variables, *simple])
    yield (
        "products with functions of variables",
        [*monomials, *products(mixed, 4, max(room - len(monomials), 2 * len(mixed)))],
    )
    functions = distinct([*features, *apply(names, inner_arguments(variables, 1))])
    yield "functions of products and sums", _with_monomials(variables, functions, config.max_columns)


def _monomials(variables: Sequence[Atom]) -> list[tuple[Atom, ...]]:
    return products(variables, largest_degree(len(variables), 90, 6), 90)


def _with_monomials(
    variables: Sequence[Atom], functions: Sequence[Atom], max_columns: int
) -> list[tuple[Atom, ...]]:
    """Return monomials, and each function times low monomials while there is room."""
    result = _monomials(variables)
    for factors in products(variables, 2, max_columns):
        more = [(*factors, function) for function in functions]
        if len(result) + len(more) > 2 * max_columns:
            break
        result += more
    return result


def search_library(session: Session, few: RegressionProblem, library: Library, config: SparseConfig) -> None:
    """Offer the best subsets of an explicit library, for plain and for balanced rows."""
    session.spend(len(library))
    measured = few.measure(library.values)
    limits = replace(config.subsets, max_terms=config.max_terms)
    for balanced in (False, True) if session.heavy_tailed else (False,):
        weights = row_factors(few, balanced=balanced)
        subsets = best_subsets(measured * weights[:, None], few.target * weights, limits, session.must_stop)
        for subset in subsets:
            columns = list(subset.columns)
            # The residual on fewer rows tells roughly whether a refit on all of them is worth it.
            if not session.would_help(library.least_size(columns) - MOST_GATHERED, 0.0):
                continue
            terms = [library.expression(j) for j in columns]
            values = library.values[:, columns] if few is session.problem else None
            offer_terms(session, terms, values, balanced=balanced)
        if session.exact is not None or session.must_stop():
            return


def row_factors(problem: RegressionProblem, *, balanced: bool) -> Array:
    """Return square roots of the weights; balanced ones also divide each row by its size."""
    inner = Session(problem, None, "")
    return inner.row_weights * inner.balance if balanced else inner.row_weights


def offer_terms(
    session: Session, terms: Sequence[sympy.Expr], values: Array | None = None, *, balanced: bool = False
) -> float:
    """Fit the coefficients of terms on all rows and offer the sum; return its loss.

    The values of the terms on all rows are evaluated if they are not given.
    """
    problem = session.problem
    values = evaluated(problem, terms) if values is None else values
    if not np.all(np.isfinite(values)):
        return float("inf")
    weights = session.row_weights * (session.balance if balanced else 1.0)
    A = problem.measure(values) * weights[:, None]
    y = problem.target * weights
    coefficients = cleaned_coefficients(A, y, solve_columns(A, y))
    loss = problem.loss(values @ coefficients)
    session.spend(1)
    expression = linear_combination(coefficients, terms)
    if session.would_help(complexity(expression) - MOST_GATHERED, loss):
        session.add(shortest(expression), loss)
    return loss


def evaluated(problem: RegressionProblem, terms: Sequence[sympy.Expr]) -> Array:
    """Return the values of terms on all rows, shape (rows, terms)."""
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in problem.columns.items()}
    return np.asarray(np.column_stack([tree_values(term, columns) for term in terms]))


def shortest(expression: sympy.Expr) -> sympy.Expr:
    """Return the expression, or its form with common factors taken out if that is smaller."""
    expression = expression.replace(_has_exponentials, _one_exponential)
    if not expression.is_Add:
        return expression
    gathered = sympy.factor_terms(expression)
    return gathered if complexity(gathered) < complexity(expression) else expression


def _has_exponentials(node: sympy.Basic) -> bool:
    return bool(node.is_Mul and sum(isinstance(factor, sympy.exp) for factor in node.args) > 1)


def _one_exponential(node: sympy.Mul) -> sympy.Expr:
    """Return a product with its exponentials put together."""
    powers = [factor.args[0] for factor in node.args if isinstance(factor, sympy.exp)]
    rest = [factor for factor in node.args if not isinstance(factor, sympy.exp)]
    return sympy.Mul(*rest, sympy.exp(sympy.Add(*powers)))


def _search_products(session: Session, config: SparseConfig) -> None:
    """Pursue products of two or three factors over very wide libraries."""
    few = thinned(session.problem, 500)
    left, right = wide_factors(few)
    if session.problem.measurement is not None:
        # A measured product is no product of measured factors: form the simplest ones.
        columns = [(a, b) for b in right for a in left][: 4 * config.max_columns]
        search_library(session, few, Library.of(columns, _rows(few)), config)
        return
    room = max(60, config.max_products // len(left))
    common = right[: room // 4]
    rest = right[room // 4 :]
    step = room - len(common)
    chunks = [[*common, *rest[k : k + step]] for k in range(0, max(1, len(rest)), step)]
    pairs = [(left, chunk, config.wide) for chunk in chunks[: config.max_chunks]]
    several = right[: int(np.sqrt(10 * config.max_products))]
    pairs.append((several, several, replace(config.wide, beam=3, depth=2)))
    # Simple terms that stand beside a large one come late in a pursuit, so they are always there.
    simple: list[tuple[Atom, ...]] = [(atom,) for atom in (*left[1:40], *right[1:60])]
    for balanced in (False, True) if session.heavy_tailed else (False,):
        weights = row_factors(few, balanced=balanced)
        for first, second, wide in pairs:
            if session.exact is not None or session.must_stop():
                return
            found, subsets = promising_products(first, second, few.target, weights, wide, session.must_stop)
            session.spend(len(first) * len(second) // 100)
            for subset in subsets:
                offer_terms(session, [a.expression * b.expression for a, b in subset], balanced=balanced)
            if session.exact is None:
                terms: list[tuple[Atom, ...]] = [(), *simple, *found]
                search_library(session, few, Library.of(terms, _rows(few)), config)


def wide_factors(problem: RegressionProblem) -> tuple[list[Atom], list[Atom]]:
    """Return the two sets of factors of the wide library, the simple ones first."""
    variables = variable_atoms(problem)
    features = feature_atoms(problem)
    names = allowed_functions(problem.operators)
    rows = _rows(problem)
    one = Atom(sympy.Integer(1), np.ones(rows))
    monomials = _multiplied(products(variables, largest_degree(len(variables), 60, 6), 60), rows)
    simple = apply(names, variables)
    low = _multiplied(products(variables, 2, 30), rows)
    powers = [atom**n for n in (3, 4) for atom in variables]
    left = [*monomials, *features, *simple, *(a * f for f in simple for a in [*low, *powers])]
    left = [one, *distinct([atom for atom in left if atom.usable])][:400]
    functions = apply(names, inner_arguments(variables, 1))
    inner = [*simple, *apply(names, features)]
    smooth = [name for name in names if name in ("sin", "cos", "exp", "tanh", "log")]
    squares = apply(smooth, [atom**2 for atom in variables])
    right = [
        *_multiplied(products(variables, 3, 35), rows),
        *features,
        *functions,
        *apply([n for n in names if n != "inv"], inner),
        *apply(smooth, _shifted(variables, inner)),
        *apply(names, inner_arguments(variables, 2)),
        *apply(smooth, _shifted(variables, squares)),
    ]
    return left, [one, *distinct([atom for atom in right if atom.usable])]


def _shifted(variables: Sequence[Atom], functions: Sequence[Atom]) -> list[Atom]:
    """Return sums and differences of a variable and a function."""
    result = [a + f for a in variables for f in functions] + [a - f for a in variables for f in functions]
    return distinct([atom for atom in result if atom.usable], multiples=True)


def _multiplied(factors: Iterable[tuple[Atom, ...]], rows: int) -> list[Atom]:
    library = Library.of(factors, rows)
    atoms = [Atom(library.expression(j), library.values[:, j]) for j in range(len(library))]
    return [atom for atom in atoms if atom.usable]
