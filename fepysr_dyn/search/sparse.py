"""Sparse engine: sums of few products of variables, features and elementary functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from fepysr_dyn.search.front import ParetoFront
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
from fepysr_dyn.search.offers import offer_constant, offer_terms
from fepysr_dyn.search.problem import RegressionProblem, Runtime
from fepysr_dyn.search.products import ProductConfig, search_products
from fepysr_dyn.search.rows import row_count, row_factors, thinned, weightings
from fepysr_dyn.search.session import Session
from fepysr_dyn.search.subsets import SubsetConfig, best_subsets
from fepysr_dyn.search.writing import MOST_GATHERED


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
    rows : int
        Rows used to find subsets; the constants are always fitted on all rows.
    """

    max_terms: int = 10
    max_degree: int = 9
    max_columns: int = 360
    rows: int = 1_500
    subsets: SubsetConfig = field(default_factory=SubsetConfig)
    wide: ProductConfig = field(default_factory=ProductConfig)


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
        library = Library.of(columns, row_count(few))
        search_library(session, few, library, config)
    if session.must_stop() or session.exact is not None:
        return
    session.report(len(stages) / (len(stages) + 1), "products of elementary functions")
    search_products(session, config.wide, lambda few, library: search_library(session, few, library, config))


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
    # Fewer columns than rows: backward elimination then needs no luck with correlated columns.
    low = products(variables, 4, room // 2)
    yield "sums of functions", [*low, *((atom,) for atom in functions[: room - len(low)])]
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
    for balanced in weightings(session.problem):
        weights = row_factors(few, balanced=balanced)
        subsets = best_subsets(
            measured * weights[:, None],
            few.target * weights,
            limits,
            session.must_stop,
            seed=0 if library.factors and not library.factors[0] else None,
        )
        for subset in subsets:
            columns = list(subset.columns)
            least = library.least_size(columns) - MOST_GATHERED
            if least > session.problem.max_complexity:
                continue
            terms = [library.expression(j) for j in columns]
            values = library.values[:, columns] if few is session.problem else None
            offer_terms(session, terms, values, least=least, balanced=balanced)
        if session.exact is not None or session.must_stop():
            return
