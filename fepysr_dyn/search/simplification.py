"""Other ways to write a formula, of which the shortest that still fits is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np
import sympy

from fepysr_dyn.expressions import canonical
from fepysr_dyn.expressions.canonical import expanded_terms
from fepysr_dyn.search.front import Candidate, evaluate_candidate
from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.selection import description_bits
from fepysr_dyn.search.snapping import snap
from fepysr_dyn.search.writing import positive_sums

#: Larger expressions are left as they are: factoring them can take minutes.
_LARGEST = 60
_TERMS = 60
#: A shorter form may itself have a shorter form.
_ROUNDS = 4
#: With more different floats algebra becomes slow and finds nothing.
_SYMBOLS = 4
#: Logarithms of constants are looked for among these shares of one, and must be met this closely.
_DECIMALS = 1_000
_CLOSE = 1e-9


def shortened(candidate: Candidate, problem: RegressionProblem, *, tolerance: float = 1e-22) -> Candidate:
    """Return the equal form of a candidate with the shortest description.

    Tried are expansion, factoring, cancellation, one sine for a sine and a cosine, constants inside an
    exponential, and exponentials below the line only.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> x = np.linspace(1, 2, 9)
    >>> problem = RegressionProblem({"x": x}, (x + 1) ** 3)
    >>> long = evaluate_candidate(parse("x**3 + 3*x**2 + 3*x + 1"), problem, "example")
    >>> shortened(long, problem).expression
    (x + 1)**3
    """
    if candidate.complexity > _LARGEST or expanded_terms(candidate.expression) > _TERMS:
        return candidate
    best = candidate
    for _ in range(_ROUNDS):
        improved = _shorter(best, problem, max(candidate.loss * 1.01, tolerance))
        if improved is best:
            break
        best = improved
    return best


def _shorter(candidate: Candidate, problem: RegressionProblem, worst: float) -> Candidate:
    best, least = candidate, description_bits(candidate, problem)
    for form in _forms(candidate.expression):
        if form.has(sympy.nan, sympy.zoo, sympy.oo, sympy.I) or not uses_only(form, problem.operators):
            continue
        other = evaluate_candidate(form, problem, candidate.engine)
        if other.constants != candidate.constants:
            other = snap(other, problem)
        # Forms are equal on paper; rounding or a branch of a root may say otherwise.
        if not (np.isfinite(other.loss) and other.loss <= worst):
            continue
        bits = description_bits(other, problem)
        if bits < least and other.complexity <= problem.max_complexity:
            best, least = other, bits
    return best


def _forms(expression: sympy.Expr) -> Iterator[sympy.Expr]:
    ways: list[Callable[[sympy.Expr], sympy.Expr]] = [
        positive_sums,
        canonical,
        sympy.powsimp,
        _one_phase,
        _inside_exponential,
        lambda e: _inside_exponential(_exponential_below(e)),
    ]
    algebra = [sympy.factor_terms, sympy.cancel, _factored, sympy.together, _collected, _divided]
    algebra.append(partial(_divided, numbers_too=False))
    symbolic, numbers = _without_floats(expression)
    if len(numbers) <= _SYMBOLS:
        ways += [partial(_with_floats, way, symbolic, numbers) for way in algebra]
    for way in ways:
        try:
            yield way(expression)
        except (sympy.PolynomialError, NotImplementedError, ValueError, TypeError, AttributeError):
            # sympy's algebra refuses some functions; the other forms remain.
            continue


def _without_floats(expression: sympy.Expr) -> tuple[sympy.Expr, dict[sympy.Symbol, sympy.Float]]:
    """Return an expression with symbols for floats, one for all that agree: algebra needs exact numbers."""
    numbers: dict[sympy.Symbol, sympy.Float] = {}
    replaced: dict[sympy.Float, sympy.Expr] = {}
    for number in sorted(expression.atoms(sympy.Float), key=float):
        size = abs(float(number))
        known = next((s for s, v in numbers.items() if abs(float(v) - size) <= _CLOSE * size), None)
        if known is None:
            known = sympy.Symbol(f"float_{len(numbers)}")
            numbers[known] = sympy.Float(size)
        replaced[number] = known if float(number) > 0 else -known
    return expression.xreplace(replaced), numbers


def _with_floats(
    way: Callable[[sympy.Expr], sympy.Expr],
    symbolic: sympy.Expr,
    numbers: dict[sympy.Symbol, sympy.Float],
    expression: sympy.Expr,
) -> sympy.Expr:
    return way(symbolic).xreplace(numbers)


def _divided(expression: sympy.Expr, *, numbers_too: bool = True) -> sympy.Expr:
    """Write a quotient as a whole part and a shorter quotient; the whole part with or without its number."""
    above, below = sympy.fraction(sympy.together(expression))
    if not below.free_symbols:
        return expression
    above, below = sympy.expand(above), sympy.expand(below)
    (whole,), rest = sympy.reduced(above, [below])
    if not numbers_too:
        number, whole = whole.as_coeff_Add()
        rest = sympy.expand(rest + number * below)
    return whole + sympy.factor_terms(rest) / below


def _factored(expression: sympy.Expr) -> sympy.Expr:
    return sympy.factor(expression, deep=True)


def _collected(expression: sympy.Expr) -> sympy.Expr:
    symbols = sorted(expression.free_symbols, key=str)
    return sympy.collect(canonical(expression), symbols) if symbols else expression


def _one_phase(expression: sympy.Expr) -> sympy.Expr:
    """Write a*sin(u) + b*cos(u) as one sine with a phase."""
    waves: dict[tuple[sympy.Expr, sympy.Expr], dict[type, float]] = {}
    others: list[sympy.Expr] = []
    for term in sympy.Add.make_args(sympy.expand_mul(expression, deep=False)):
        number, rest = term.as_coeff_Mul()
        wave = next((f for f in sympy.Mul.make_args(rest) if f.func in (sympy.sin, sympy.cos)), None)
        if wave is None:
            others.append(term)
            continue
        sums = waves.setdefault((wave.args[0], rest / wave), {sympy.sin: 0.0, sympy.cos: 0.0})
        sums[wave.func] += float(number)
    for (inside, factor), sums in waves.items():
        a, b = sums[sympy.sin], sums[sympy.cos]
        if a and b:
            # Of the two signs, the one with the smaller phase.
            sign = 1.0 if a > 0 else -1.0
            phase = sympy.Float(math.atan2(b * sign, a * sign))
            others.append(sympy.Float(sign * math.hypot(a, b)) * factor * sympy.sin(inside + phase))
        else:
            others.append(a * factor * sympy.sin(inside) if a else b * factor * sympy.cos(inside))
    return sympy.Add(*others)


def _exponential_below(expression: sympy.Expr) -> sympy.Expr:
    """Write exp(u)/(exp(u) + c) as 1/(1 + c*exp(-u)): a switch is read more easily so.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> _exponential_below(x * sympy.exp(2 * x) / (sympy.exp(2 * x) + 3))
    x/(1 + 3*exp(-2*x))
    """

    def divided(product: sympy.Expr) -> sympy.Expr:
        above = next((factor for factor in product.args if factor.func is sympy.exp), None)
        below = next(
            (factor for factor in product.args if factor.is_Pow and factor.exp == -1 and factor.base.is_Add),
            None,
        )
        if above is None or below is None:
            return product
        shares = [sympy.powsimp(term / above) for term in below.base.args]
        return sympy.Mul(*(f for f in product.args if f not in (above, below))) / sympy.Add(*shares)

    return expression.replace(lambda node: node.is_Mul, divided)


def _inside_exponential(expression: sympy.Expr) -> sympy.Expr:
    """Write c*exp(u) as exp(u + log(c)), where the logarithm is a short decimal.

    A float would not do: sympy takes it out of the exponential again.
    """

    def absorbed(term: sympy.Expr) -> sympy.Expr:
        number, rest = term.as_coeff_Mul()
        if not number.is_Float or float(number) == 0.0:
            return term
        size, sign = abs(float(number)), (1 if float(number) > 0 else -1)
        inside = Fraction(round(math.log(size) * _DECIMALS), _DECIMALS)
        if abs(math.exp(float(inside)) - size) > _CLOSE * size:
            return term
        factors = list(sympy.Mul.make_args(rest))
        for index, factor in enumerate(factors):
            if factor.func is sympy.exp:
                factors[index] = sympy.exp(
                    factor.args[0] + sympy.Rational(inside.numerator, inside.denominator)
                )
                return sympy.Mul(sign, *factors)
        return term

    return expression.replace(lambda node: node.is_Mul, absorbed)
