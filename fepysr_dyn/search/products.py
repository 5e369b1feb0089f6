"""Wide libraries of the sparse engine: products of nested functions, far too many to be formed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import sympy

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
from fepysr_dyn.search.offers import offer_terms
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.rows import evaluated, row_count, row_factors, thinned, weightings
from fepysr_dyn.search.session import Session
from fepysr_dyn.search.wide import WideConfig, product_gains, promising_products

#: Sums of more terms are not worth an exchange of each.
_MOST_EXCHANGED = 6


@dataclass(frozen=True)
class ProductConfig:
    """Options of the search over products.

    Parameters
    ----------
    max_products : int
        Largest number of products that are scored at once.
    max_chunks : int
        How many such sets of products are gone through.
    max_formed : int
        Products that are formed where they cannot be scored unformed (weak form).
    max_singles : int
        Functions whose sums are searched before any products.
    rows : int
        Rows used to find products; the constants are always fitted on all rows.
    """

    max_products: int = 200_000
    max_chunks: int = 3
    max_formed: int = 1_400
    max_singles: int = 1_100
    rows: int = 500
    pursuit: WideConfig = field(default_factory=WideConfig)


def search_products(
    session: Session, config: ProductConfig, search: Callable[[RegressionProblem, Library], None]
) -> None:
    """Pursue products of two or three factors; `search` looks for subsets of those met on the way."""
    few = thinned(session.problem, config.rows)
    left, right = wide_factors(few)
    if session.problem.measurement is not None:
        # A measured product is no product of measured factors: form the simplest ones.
        columns = [(a, b) for b in right for a in left][: config.max_formed]
        search(few, Library.of(columns, row_count(few)))
        return
    singles: list[tuple[Atom, ...]] = [(), *((atom,) for atom in right[1 : config.max_singles])]
    search(few, Library.of(singles, row_count(few)))
    room = max(60, config.max_products // len(left))
    common = right[: room // 4]
    rest = right[room // 4 :]
    step = room - len(common)
    chunks = [[*common, *rest[k : k + step]] for k in range(0, max(1, len(rest)), step)]
    pairs = [(left, chunk, config.pursuit) for chunk in chunks[: config.max_chunks]]
    several = right[: int(np.sqrt(10 * config.max_products))]
    pairs.append((several, several, replace(config.pursuit, beam=3, depth=2)))
    # Simple terms that stand beside a large one come late in a pursuit, so they are always there.
    simple: list[tuple[Atom, ...]] = [(atom,) for atom in (*left[1:40], *right[1:60])]
    for balanced in weightings(session.problem):
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
                search(few, Library.of(terms, row_count(few)))
            if session.exact is None:
                _exchange(session, few, (first, second), balanced=balanced)


def _exchange(
    session: Session,
    few: RegressionProblem,
    factors: tuple[Sequence[Atom], Sequence[Atom]],
    *,
    balanced: bool,
) -> None:
    """Replace terms of the best sums by the best of all products, one at a time, while that helps."""
    weights = row_factors(few, balanced=balanced)
    for candidate in session.best(2):
        terms = _terms(candidate.expression)
        loss = candidate.loss
        for _ in range(3):
            if session.must_stop() or session.exact is not None or len(terms) > _MOST_EXCHANGED:
                break
            trials = []
            for position in range(len(terms)):
                rest = [*terms[:position], *terms[position + 1 :]]
                basis = evaluated(few, rest or [sympy.Integer(1)])
                gains = product_gains(*factors, few.target, weights, basis)
                i, j = divmod(int(np.argmax(gains)), gains.shape[1])
                changed = [*rest, factors[0][i].expression * factors[1][j].expression]
                trials.append((offer_terms(session, changed, balanced=balanced), position, changed))
            best = min(trials, key=lambda trial: trial[:2], default=(loss, 0, terms))
            if not best[0] < 0.9 * loss:
                break
            loss, terms = best[0], best[2]


def _terms(expression: sympy.Expr) -> list[sympy.Expr]:
    parts = sympy.Add.make_args(sympy.expand(expression, power_exp=False))
    return [part.as_coeff_Mul()[1] for part in parts]


def wide_factors(problem: RegressionProblem) -> tuple[list[Atom], list[Atom]]:
    """Return the two sets of factors of the wide library, the simple ones first."""
    variables = variable_atoms(problem)
    features = feature_atoms(problem)
    names = allowed_functions(problem.operators)
    rows = row_count(problem)
    one = Atom(sympy.Integer(1), np.ones(rows))
    monomials = _multiplied(products(variables, largest_degree(len(variables), 60, 6), 60), rows)
    simple = apply(names, variables)
    low = _multiplied(products(variables, 2, 30), rows)
    powers = [atom**n for n in (3, 4) for atom in variables]
    left = [*monomials, *features, *simple, *(a * f for f in simple for a in [*low, *powers])]
    left = [one, *distinct([atom for atom in left if atom.usable])][:400]
    core = [name for name in names if name in ("sin", "cos", "exp", "log", "sqrt", "inv")]
    functions = apply(names, inner_arguments(variables, 1))
    inner = [*apply(core, variables), *apply(core, features)]
    smooth = [name for name in names if name in ("sin", "cos", "exp", "log")]
    squares = apply(smooth, [atom**2 for atom in variables])
    right = [
        *_multiplied(products(variables, 3, 35), rows),
        *features,
        *functions,
        *apply([n for n in core if n != "inv"], inner),
        *apply(smooth, _shifted(variables, inner)),
        *apply(core, inner_arguments(variables, 2)),
        *apply(smooth, _shifted(variables, squares)),
        *apply([n for n in names if n not in core], [*inner_arguments(variables, 2), *inner]),
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
