"""Smaller problems inside a problem: what is left when a term or a factor of a good formula is taken away.

A search often has one part of the truth right long before the rest. Without that part the rest is a problem
of its own, and a much easier one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import sympy

from fepysr_dyn.expressions import compile_expression, complexity
from fepysr_dyn.search.front import ParetoFront
from fepysr_dyn.search.problem import Array, RegressionProblem

#: Formulas of the front whose parts are tried, and coefficients tried for one term.
_FORMULAS = 8
_NEAR = 0.35
#: A factor this close to zero, relative to its size, cannot be divided out.
_SMALLEST = 1e-6
#: Other terms are taken away together only while they are few: more are an approximation of something.
_FEW_TERMS = 3


@dataclass(frozen=True)
class Rest:
    """What is left of a problem, and how an answer to it answers the whole.

    Parameters
    ----------
    problem : RegressionProblem
        With another target, and less room for complexity.
    kind : {"term", "factor"}
        How the part was taken away.
    part : sympy expression
        What was taken away; with its kind, it tells rests apart.
    wrap : callable
        From a formula for the rest to one for the whole.
    """

    problem: RegressionProblem
    kind: str
    part: sympy.Expr
    wrap: Callable[[sympy.Expr], sympy.Expr]

    @property
    def key(self) -> tuple[str, sympy.Expr]:
        """What was taken away, and how."""
        return self.kind, self.part


def rests(front: ParetoFront, problem: RegressionProblem) -> Iterator[Rest]:
    """Yield the rests of a front's best formulas, those of the best fits first.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> from fepysr_dyn.search.front import evaluate_candidate
    >>> x = np.linspace(1, 2, 20)
    >>> problem = RegressionProblem({"x": x}, x**2 + np.sin(3 * x))
    >>> front = ParetoFront.of([evaluate_candidate(parse("1.03*x**2 + 0.1"), problem, "example")])
    >>> [rest.part for rest in rests(front, problem)][0]
    x**2
    """
    seen: set[tuple[str, sympy.Expr]] = set()
    for candidate in list(reversed(front.candidates))[:_FORMULAS]:
        terms = _without_terms(candidate.expression, problem)
        factors = _without_factors(candidate.expression, problem)
        # In turns, so that both kinds come among the first.
        for pair in itertools.zip_longest(terms, factors):
            for rest in pair:
                if rest is not None and rest.key not in seen:
                    seen.add(rest.key)
                    yield rest


def _without_terms(expression: sympy.Expr, problem: RegressionProblem) -> Iterator[Rest]:
    terms = [term for term in sympy.Add.make_args(expression) if term.free_symbols]
    # A coefficient that is simple by itself marks a term that is right; then the largest terms count.
    ranked = sorted(terms, key=lambda term: (not _is_simple(term), -_spread(term, problem)))
    for term in ranked[:3]:
        number, shape = term.as_coeff_Mul()
        for value in _simple_near(float(number)):
            part = value * shape
            target = problem.target - problem.measure(_values(part, problem))
            if not np.all(np.isfinite(target)):
                continue
            yield Rest(_smaller(problem, part, target, problem.weights), "term", part, partial(_plus, part))


def _without_factors(expression: sympy.Expr, problem: RegressionProblem) -> Iterator[Rest]:
    """Divide by a factor of one term, after the other terms have been taken away."""
    if problem.measurement is not None:
        return
    terms = sympy.Add.make_args(expression)
    for term in (expression, *terms) if len(terms) > 1 else terms:
        _, shape = term.as_coeff_Mul()
        remaining = [expression - term, sympy.S.Zero] if 1 < len(terms) <= _FEW_TERMS else [sympy.S.Zero]
        for factor, others in itertools.product(sympy.Mul.make_args(shape), dict.fromkeys(remaining)):
            if not factor.free_symbols or factor == expression:
                continue
            rest = without(problem, others, factor)
            if rest is not None:
                yield rest


def without(problem: RegressionProblem, others: sympy.Expr, factor: sympy.Expr) -> Rest | None:
    """Return what is left when terms are taken away and the rest is divided by a factor, if it is finite."""
    with np.errstate(all="ignore"):
        values = np.broadcast_to(_values(factor, problem), problem.target.shape)
        target = (problem.target - _values(others, problem)) / values
    size = np.abs(values)
    if not np.all(np.isfinite(target)) or not np.min(size) > _SMALLEST * np.median(size):
        return None
    if factor == 1:
        smaller = _smaller(problem, others, target, problem.weights)
    else:
        weights = values**2 if problem.weights is None else problem.weights * values**2
        if not np.all((weights > 0) & np.isfinite(weights)):
            return None
        # The error of a quotient differs from row to row; the weights say so, one number cannot.
        smaller = replace(_smaller(problem, factor + others, target, weights), noise=None)
    return Rest(smaller, "factor", factor + others, partial(_times_plus, factor, others))


def _smaller(
    problem: RegressionProblem, part: sympy.Expr, target: Array, weights: Array | None
) -> RegressionProblem:
    room = max(3, problem.max_complexity - complexity(part) - 1)
    return replace(problem, target=target, weights=weights, max_complexity=room)


def _plus(part: sympy.Expr, found: sympy.Expr) -> sympy.Expr:
    return found + part


def _times_plus(factor: sympy.Expr, others: sympy.Expr, found: sympy.Expr) -> sympy.Expr:
    return found * factor + others


def _is_simple(term: sympy.Expr) -> bool:
    number = float(term.as_coeff_Mul()[0])
    return abs(number * 2 - round(number * 2)) <= 1e-3 * abs(number)


def _simple_near(value: float) -> list[sympy.Expr]:
    """Return the simple coefficients a distorted one may stand for, the nearest first."""
    whole = [Fraction(round(value)), Fraction(round(value * 2), 2)]
    near = {number for number in whole if number and abs(float(number) - value) <= _NEAR * abs(value)}
    ordered = sorted(near, key=lambda number: (number.denominator, abs(float(number) - value)))
    return [sympy.Rational(number.numerator, number.denominator) for number in ordered]


def _values(expression: sympy.Expr, problem: RegressionProblem) -> Array:
    function = compile_expression(expression, problem.names)
    return function(*(np.asarray(column, dtype=np.float64) for column in problem.columns.values()))


def _spread(term: sympy.Expr, problem: RegressionProblem) -> float:
    with np.errstate(all="ignore"):
        spread = float(np.std(problem.measure(_values(term, problem))))
    return spread if np.isfinite(spread) else 0.0
