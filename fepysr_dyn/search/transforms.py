"""Outer functions: the target is transformed, and a sparse sum is looked for inside.

The logarithm turns products of powers and exponentials into sums, so it also finds laws such as
``c * x**a * cos(x*y) * exp(b*z)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import sympy

from fepysr_dyn.expressions import compile_expression
from fepysr_dyn.search.least_squares import offer_refitted
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
from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.rows import thinned
from fepysr_dyn.search.session import Session
from fepysr_dyn.search.sparse import SparseConfig, search_library
from fepysr_dyn.search.subsets import SubsetConfig


@dataclass(frozen=True)
class TransformConfig:
    """Rows and columns used inside, and how many answers of each kind are refitted outside."""

    rows: int = 500
    max_columns: int = 400
    follow: int = 8
    subsets: SubsetConfig = field(default_factory=lambda: SubsetConfig(beam=4, pairs=450, per_size=1))


@dataclass(frozen=True)
class Outer:
    """An outer function y = f(g).

    Parameters
    ----------
    needs : str
        Operator that must be allowed.
    domain : callable
        Whether a target can be its value.
    inverse : callable
        From the target to the inside.
    slope : callable
        dy/dg as a function of y: residuals inside count by it.
    wrap : callable
        From the inside to the formula.
    """

    needs: str
    domain: Callable[[Array], bool]
    inverse: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    wrap: Callable[[sympy.Expr], sympy.Expr]


OUTER = (
    Outer("exp", lambda y: bool(np.all(y != 0)), lambda y: np.log(np.abs(y)), np.abs, sympy.exp),
    Outer("log", lambda y: bool(np.max(np.abs(y)) < 30), np.exp, lambda y: np.exp(-y), sympy.log),
    Outer(
        "sqrt",
        lambda y: bool(np.all(y >= 0)),
        np.square,
        lambda y: 0.5 / np.maximum(y, 1e-9),
        sympy.sqrt,
    ),
    Outer("inv", lambda y: bool(np.all(y != 0)), lambda y: 1 / y, np.square, lambda g: 1 / g),
    Outer(
        "tanh",
        lambda y: bool(np.max(np.abs(y)) < 1 - 1e-9),
        np.arctanh,
        lambda y: 1 - y**2,
        sympy.tanh,
    ),
    Outer(
        "atan",
        lambda y: bool(np.max(np.abs(y)) < np.pi / 2 - 1e-9),
        np.tan,
        lambda y: np.cos(y) ** 2,
        sympy.atan,
    ),
)


def search_transformed(session: Session, config: TransformConfig) -> None:
    """Offer outer functions of sparse sums; needs the target row by row."""
    problem = session.problem
    if problem.measurement is not None:
        return
    names = set(problem.operators) | ({"inv"} if "/" in problem.operators else set())
    usable = [outer for outer in OUTER if outer.needs in names and outer.domain(problem.target)]
    for position, outer in enumerate(usable):
        if session.must_stop() or session.exact is not None:
            return
        session.report(position / len(usable), f"sums inside {outer.needs}")
        _search_inside(session, outer, config)


def _search_inside(session: Session, outer: Outer, config: TransformConfig) -> None:
    problem = session.problem
    y = problem.target
    size = np.abs(y) + (float(np.median(np.abs(y))) or 1.0)
    # An error of the target is an error inside divided by the slope; large rows must not decide alone.
    factors = np.maximum(outer.slope(y) / size, 1e-12)
    weights = factors**2 * (1.0 if problem.weights is None else problem.weights)
    with np.errstate(all="ignore"):
        target = outer.inverse(y)
    if not np.all(np.isfinite(target)) or np.ptp(target) == 0:
        return
    inside = replace(
        problem,
        target=target,
        weights=weights / np.mean(weights),
        operators=(*problem.operators, "abs", "log") if outer.needs == "exp" else problem.operators,
        max_complexity=problem.max_complexity + 10,
    )
    inner = Session(inside, session.runtime, session.engine)
    few = thinned(inside, config.rows)
    limits = SparseConfig(max_terms=7, max_columns=config.max_columns, subsets=config.subsets)
    for factors_of in _libraries(few, outer, config.max_columns):
        search_library(inner, few, Library.of(factors_of, len(few.target)), limits)
        session.spend(len(factors_of))
        if inner.exact is not None or session.must_stop():
            break
    front = [candidate for candidate in inner.front() if candidate.loss < 0.3]
    for candidate in [*front[-config.follow :]][::-1]:
        if session.must_stop():
            return
        for expression in _wrapped(candidate.expression, outer, problem):
            offer_refitted(session, expression, max_steps=30)
        if session.exact is not None:
            return


def _libraries(
    problem: RegressionProblem, outer: Outer, max_columns: int
) -> Iterator[list[tuple[Atom, ...]]]:
    """Yield libraries for the inside; under exp also logarithms, which become factors outside."""
    variables = variable_atoms(problem)
    features = feature_atoms(problem)
    names = allowed_functions(problem.operators)
    room = max(24, min(max_columns, int(0.75 * len(problem.target))))
    degree = largest_degree(len(variables), room // 2, 5)
    polynomials = products(variables, degree, room)
    if outer.needs == "exp":
        logs = _logarithms(variables)
        crossed = [(a, b) for a in variables for b in logs]
        yield [*products(variables, 2, room), *((a,) for a in logs), *crossed]
    yield polynomials
    functions = apply([n for n in names if n not in ("abs", "inv")], inner_arguments(variables, 1))
    simple = distinct([*features, *functions])
    low = products(variables, 2, room)
    if outer.needs == "exp":
        pool = distinct([*functions, *features, *_sums(variables)])
        yield [*low, *((a,) for a in distinct([*_logarithms([*variables, *pool]), *simple]))]
    mixed = distinct([*variables, *apply([n for n in names if n != "abs"], variables), *features])
    squares = products(mixed, 2, max(room, 4 * len(mixed)))
    known = {id(factors[0]) for factors in squares if len(factors) == 1}
    factors = _logarithms([*variables, *simple]) if outer.needs == "exp" else []
    yield [*squares, *((a,) for a in [*simple, *factors] if id(a) not in known)]


def _sums(variables: list[Atom]) -> list[Atom]:
    inner = inner_arguments(variables, 2) if len(variables) <= 2 else inner_arguments(variables, 1)
    return [atom for atom in inner if not atom.monomial]


def _logarithm(atom: Atom) -> sympy.Expr:
    return sympy.log(atom.expression if np.min(atom.values) > 0 else sympy.Abs(atom.expression))


def _logarithms(atoms: list[Atom]) -> list[Atom]:
    found = []
    for atom in atoms:
        if np.min(np.abs(atom.values)) > 0:
            found.append(Atom(partial(_logarithm, atom), np.log(np.abs(atom.values))))
    return [atom for atom in distinct(found) if atom.usable]


def _wrapped(inside: sympy.Expr, outer: Outer, problem: RegressionProblem) -> list[sympy.Expr]:
    if outer.needs != "exp":
        return [outer.wrap(inside)]
    factors: list[sympy.Expr] = []
    rest: list[sympy.Expr] = []
    for term in sympy.Add.make_args(sympy.expand(inside)):
        number, part = term.as_coeff_Mul()
        if part == 1:
            factors.append(sympy.Float(float(sympy.exp(number))))
        elif isinstance(part, sympy.log):
            factors.append(_power(part.args[0], number))
        elif part.is_Mul and any(isinstance(f, sympy.log) for f in part.args):
            logarithm = next(f for f in part.args if isinstance(f, sympy.log))
            factors.append(_power(logarithm.args[0], number * part / logarithm))
        else:
            rest.append(term)
    product = sympy.Mul(*factors) * (sympy.exp(sympy.Add(*rest)) if rest else 1)
    if "abs" not in problem.operators:
        product = product.replace(sympy.Abs, lambda argument: argument)
    columns = [np.asarray(problem.columns[name], dtype=np.float64) for name in problem.names]
    signs = np.sign(compile_expression(product, problem.names)(*columns)) * np.sign(problem.target)
    return [-product if np.nansum(signs) < 0 else product]


def _power(base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
    """Return a power; near-integers are made whole, because only then a negative base has a sign."""
    if exponent.is_Number:
        nearest = round(float(exponent))
        if abs(float(exponent) - nearest) < 1e-3 and nearest != 0:
            plain = base.args[0] if isinstance(base, sympy.Abs) else base
            return plain**nearest
        if abs(abs(float(exponent)) - 0.5) < 1e-6:
            return base ** sympy.Rational(int(np.sign(float(exponent))), 2)
    return base**exponent
