from __future__ import annotations

import random

import pytest
import sympy
from sympy import Max, Piecewise, cos, exp, log, sin, sqrt, symbols, tanh

from fepysr_dyn.expressions import canonical, complexity
from fepysr_dyn.expressions.canonical import MAX_TERMS, expanded_terms

x, y, z = symbols("x y z")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ((x + y) ** 2 - x**2, 2 * x * y + y**2),
        (x * (y + z), x * y + x * z),
        (sin(x * (y + 1)), sin(x * y + x)),
        (sin(-x), -sin(x)),
        (exp(x) * exp(y), exp(x + y)),
        (0.5 * (x + 2), 0.5 * x + 1.0),
        ((x + 1) / y, x / y + 1 / y),
        (Max(x, y) * (x + 1), x * Max(x, y) + Max(x, y)),
        ((1 + tanh(x)) * (1 - tanh(x)), 1 - tanh(x) ** 2),
        (sympy.Integer(3), sympy.Integer(3)),
    ],
)
def test_expanded(expression: sympy.Expr, expected: sympy.Expr) -> None:
    assert canonical(expression) == expected


def test_too_many_terms_are_left_alone() -> None:
    wide = sympy.Add(*symbols("a0:30"))
    assert canonical(wide**20) == wide**20
    assert expanded_terms(wide**20) > MAX_TERMS
    assert expanded_terms((x + y) ** 3) == 4


def test_names_like_constants_stay_names() -> None:
    names = symbols("E I pi_ oo zoo S lambda")
    total = sympy.Add(*names) * names[0]
    assert canonical(total).free_symbols == set(names)
    assert canonical(total) == sympy.expand(total)


def test_functions_outside_the_grammar_survive() -> None:
    assert canonical(sympy.asin(x) * (x + 1)) == x * sympy.asin(x) + sympy.asin(x)


@pytest.mark.parametrize(
    ("expression", "nodes"),
    [
        (x, 1),
        (sympy.Float(-2.5), 1),
        (sympy.Rational(2, 3), 1),
        (sympy.pi, 1),
        (x + y, 3),
        (x - y, 3),
        (-x, 2),
        (-x - y, 4),
        (-2 * x, 3),
        (x * y * z, 5),
        (x / y, 3),
        (1 / x, 3),
        (1 / (x * y), 5),
        (x / (y * z), 5),
        (2 * x / 3, 3),
        (2 * x / (3 * y), 5),
        (x**2, 3),
        (x**-2, 5),
        (x / y**2, 5),
        (sqrt(x), 2),
        (1 / sqrt(x), 4),
        (y / sqrt(x), 4),
        (sin(x), 2),
        (exp(-x), 3),
        (sin(x) ** 2 + cos(x), 7),
        (x / (1 + x), 5),
        (Max(x, y), 3),
        (Piecewise((x, y < 1), (2, True)), 7),
        (log(x) * (x + 1) / (y - 1), 10),
    ],
)
def test_number_of_nodes(expression: sympy.Expr, nodes: int) -> None:
    assert complexity(expression) == nodes


def test_a_sum_of_fractions_is_not_put_over_one_denominator() -> None:
    terms = [1 / (x + i) for i in range(1, 25)]
    alone = complexity(sympy.Add(*terms))
    assert complexity(sympy.Add(*terms) / y) == alone + 2


def test_thousands_of_small_expressions() -> None:
    """All go through; how long it takes against sympy.expand is printed, not asserted."""
    from time import process_time

    stream = random.Random(0)  # noqa: S311

    def grow(depth: int) -> sympy.Expr:
        if depth == 0:
            return stream.choice([x, y, z, sympy.Integer(2), sympy.Float(0.5)])
        kind = stream.randrange(7)
        inner = grow(depth - 1)
        if kind < 2:
            return inner + grow(depth - 1)
        if kind < 4:
            return inner * grow(depth - 1)
        return (sin(inner), tanh(inner), inner**2)[kind - 4]

    expressions = [grow(3) for _ in range(1000)]
    start = process_time()
    forms = [canonical(expression) for expression in expressions]
    middle = process_time()
    expanded = [sympy.expand(expression) for expression in expressions]
    ratio = (middle - start) / (process_time() - middle)
    print(f"canonical takes {ratio:.2f} times as long as sympy.expand")  # noqa: T201
    assert len(set(forms)) <= len(set(expanded))
