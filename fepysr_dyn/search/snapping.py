"""Constants replaced by simple values where the data cannot tell the difference.

A simple value is taken when it shortens the description: the bits it saves against writing the constant to
its own precision must outweigh what the fit loses, and the fit may not get worse beyond its uncertainty.
So 0.4998 ± 0.0004 becomes 1/2, while 1.35 ± 0.02 does not become 4/3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy

from fepysr_dyn.expressions import Template, complexity, free_constants
from fepysr_dyn.search.front import Candidate, evaluate_candidate
from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.refit import ConstantFitter, Fit

#: Relative root mean squared residual that counts as numerical resolution.
RESOLUTION = 1e-11
#: How far, in standard errors, a constant may be moved, and how much chi-squared all moves may cost: the
#: 99 % point for one constant and one unit for each further one.
_ERRORS = 3.0
_CHI_SQUARED = 6.6
#: Largest denominator of a fraction, and digits of a decimal.
_DENOMINATOR = 12
_DIGITS = 4
_LARGEST = 1e5
#: Multiples of π and e lie everywhere, so one must be hit closely to be believed.
_KNOWN_BITS = 9.0
#: A term that vanishes saves its nodes as well.
_ZERO_BITS = -8.0
#: Bits a simple value must save; many values are tried.
_LEAST_SAVED = 2.0
_KNOWN = ((sympy.pi, math.pi), (sympy.E, math.e))


@dataclass(frozen=True)
class _Simple:
    value: sympy.Expr
    number: float
    bits: float


def value_bits(number: sympy.Expr) -> float:
    """Return the description length of a number in bits; of a float, that of its shortest decimal.

    Examples
    --------
    >>> value_bits(sympy.Integer(1)) < value_bits(sympy.Rational(3, 7)) < value_bits(sympy.Float(0.123456))
    True
    """
    if number.is_Rational:
        return _fraction_bits(Fraction(int(number.p), int(number.q)))
    if number.is_Float:
        return _fraction_bits(Fraction(repr(float(number))))
    return 3.0


def _fraction_bits(number: Fraction) -> float:
    return 1.0 + 2 * math.log2(1 + abs(number.numerator)) + 2 * math.log2(number.denominator)


def precision_bits(value: float, error: float) -> float:
    """Return the bits needed to write a value to its own uncertainty."""
    return 3.0 + max(0.0, math.log2(max(abs(value), 1e-300) / max(error, abs(value) * 1e-16, 1e-300)))


def snap(candidate: Candidate, problem: RegressionProblem) -> Candidate:
    """Return the candidate with simple constants, or the candidate itself where none are justified.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> x = np.linspace(-2, 2, 40)
    >>> problem = RegressionProblem({"x": x}, x**2 / 3 + np.pi)
    >>> found = evaluate_candidate(parse("0.33333333*x**2 + 3.1415927"), problem, "example")
    >>> snap(found, problem).expression
    x**2/3 + pi
    """
    if not np.isfinite(candidate.loss):
        return candidate
    template = free_constants(candidate.expression)
    if not template.values or len(template.values) >= len(problem.target):
        return candidate
    fitter = ConstantFitter(template, problem)
    best = fitter.fit(np.array(template.values))
    if not np.isfinite(best.loss) or not np.all(np.isfinite(best.values)):
        return candidate
    chosen = _hold_simple_values(fitter, best, len(problem.target))
    return _rebuilt(candidate, template, chosen, problem)


def _hold_simple_values(fitter: ConstantFitter, best: Fit, rows: int) -> tuple[Fit, dict[int, _Simple]]:
    """Hold one constant after the other, the surest first, refitting the rest each time."""
    variance = max(best.loss, RESOLUTION**2) / max(rows - len(best.values), 1)
    held: dict[int, _Simple] = {}
    refused: set[tuple[int, float]] = set()
    current = best
    while len(held) < len(best.values):
        move = _best_move(current, held, refused)
        if move is None:
            break
        index, simple = move
        start = current.values.copy()
        start[index] = simple.number
        trial = fitter.fit(start, held=(*held, index))
        cost = (trial.loss - best.loss) / variance
        saved = precision_bits(current.values[index], current.errors[index]) - simple.bits
        step_cost = max(0.0, trial.loss - current.loss) / variance
        if cost <= _CHI_SQUARED + len(held) and saved - _LEAST_SAVED > step_cost / (2 * math.log(2)):
            held[index] = simple
            current = trial
        else:
            refused.add((index, simple.number))
    return current, held


def _best_move(
    current: Fit, held: dict[int, _Simple], refused: set[tuple[int, float]]
) -> tuple[int, _Simple] | None:
    best: tuple[float, int, _Simple] | None = None
    for index, value in enumerate(current.values):
        if index in held:
            continue
        error = float(current.errors[index])
        # A direction the data do not fix has a huge error and would take any value.
        reach = min(_ERRORS * error, 0.2 * abs(value) + _ERRORS * error * (abs(value) < _ERRORS * error))
        reach = max(reach, 1e-13 * abs(value))
        written = precision_bits(float(value), error)
        for simple in _simple_values(float(value), reach):
            saved = written - simple.bits
            if (
                saved > _LEAST_SAVED
                and (index, simple.number) not in refused
                and (best is None or saved > best[0])
            ):
                best = (saved, index, simple)
    return None if best is None else (best[1], best[2])


def _simple_values(value: float, reach: float) -> Iterator[_Simple]:
    """Yield the simple values within reach, the shortest of each kind."""
    if abs(value) <= reach:
        yield _Simple(sympy.S.Zero, 0.0, _ZERO_BITS)
    if not math.isfinite(value) or abs(value) > _LARGEST:
        return
    for denominator in range(1, _DENOMINATOR + 1):
        near = Fraction(round(value * denominator), denominator)
        # Tenths are written as decimals, below.
        written_so = near.denominator == denominator != 10
        if near and written_so and abs(float(near) - value) <= reach:
            number = sympy.Rational(near.numerator, near.denominator)
            yield _Simple(number, float(near), _fraction_bits(near))
    for digits in range(1, _DIGITS + 1):
        decimal = Fraction(round(value * 10**digits), 10**digits)
        if decimal and abs(float(decimal) - value) <= reach:
            yield _Simple(sympy.Float(float(decimal)), float(decimal), _fraction_bits(decimal))
            break
    for symbol, size in _KNOWN:
        for denominator in (1, 2, 3, 4, 6):
            factor = Fraction(round(value / size * denominator), denominator)
            if factor and abs(factor.numerator) <= 12 and abs(float(factor) * size - value) <= reach:
                number = sympy.Rational(factor.numerator, factor.denominator) * symbol
                yield _Simple(number, float(factor) * size, _KNOWN_BITS + _fraction_bits(factor))
                break


def _rebuilt(
    candidate: Candidate,
    template: Template,
    chosen: tuple[Fit, dict[int, _Simple]],
    problem: RegressionProblem,
) -> Candidate:
    fit, held = chosen
    numbers = {
        sympy.Symbol(name): held[i].value if i in held else sympy.Float(float(fit.values[i]))
        for i, name in enumerate(template.parameters)
    }
    expression = template.expression.subs(numbers)
    if not held and fit.loss >= candidate.loss:
        return candidate
    if expression.has(sympy.nan, sympy.zoo, sympy.oo) or not uses_only(expression, problem.operators):
        return candidate
    if complexity(expression) > max(problem.max_complexity, candidate.complexity):
        return candidate
    snapped = evaluate_candidate(expression, problem, candidate.engine)
    return snapped if np.isfinite(snapped.loss) else candidate
