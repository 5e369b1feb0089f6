from __future__ import annotations

import pytest
import sympy
from sympy import cos, exp, log, sin, sqrt, symbols, tanh

from fepysr_dyn.expressions import equivalent, parse, same_structure

x, y, k = symbols("x y k")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (sin(x) ** 2 + cos(x) ** 2, sympy.Integer(1)),
        (sin(x) ** 2 + cos(x) ** 2 - 1, sympy.Integer(0)),
        (sin(2 * x), 2 * sin(x) * cos(x)),
        (cos(x - y), cos(x) * cos(y) + sin(x) * sin(y)),
        ((x**2 - 1) / (x - 1), x + 1),
        (1 / x + 1 / y, (x + y) / (x * y)),
        (x / (1 + x), 1 - 1 / (1 + x)),
        (tanh(x), (exp(2 * x) - 1) / (exp(2 * x) + 1)),
        (1 / (1 + exp(-x)), (1 + tanh(x / 2)) / 2),
        ((x + y) ** 3, x**3 + 3 * x**2 * y + 3 * x * y**2 + y**3),
        (exp(x) * exp(y), exp(x + y)),
        (0.1 * x + 0.2 * x, 0.3 * x),
        (x * 1.0000000001, x),
        (0.333333333 * x, x / 3),
        (1 / (x - 0.3), 1 / (x - 0.3000000001)),
        (sympy.Abs(x), sympy.sqrt(x**2)),
        (sympy.Max(x, y), (x + y + sympy.Abs(x - y)) / 2),
        (parse("Piecewise((x, x > 0), (-x, True))"), sympy.Abs(x)),
        (sympy.Integer(0), sympy.Integer(0)),
        (x - x, sympy.Integer(0)),
    ],
)
def test_equal_functions(first: sympy.Expr, second: sympy.Expr) -> None:
    for seed in range(3):
        assert equivalent(first, second, seed=seed)
        assert equivalent(second, first, seed=seed)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (x, x + 1e-3),
        (x, 1.001 * x),
        (sin(x), x),
        (sin(x), x - x**3 / 6),
        (x, y),
        (x, -x),
        (x**2, x**4),
        (1 / (x - 0.3), 1 / (x - 0.31)),
        (x / (1 + x), x / (1.01 + x)),
        (exp(x), 1 + x + x**2 / 2),
        (tanh(x), sympy.atan(x)),
        (sympy.Integer(0), sympy.Float(1e-6)),
        (sympy.Integer(0), 1e-9 * x),
        (log(x), log(x) + 0.01),
        (sqrt(x), x),
        (x + y, x + y + 1e-3 * x * y),
    ],
)
def test_different_functions(first: sympy.Expr, second: sympy.Expr) -> None:
    for seed in range(3):
        assert not equivalent(first, second, seed=seed)
        assert not equivalent(second, first, seed=seed)


def test_the_box_decides() -> None:
    # Equal for positive numbers only.
    assert equivalent(sympy.Abs(x), x, {"x": (0.1, 3.0)})
    assert not equivalent(sympy.Abs(x), x, {"x": (-1.0, 3.0)})
    assert equivalent(log(x * y), log(x) + log(y), {"x": (0.1, 3.0), "y": (0.1, 3.0)})


def test_nowhere_finite_is_not_equal() -> None:
    assert not equivalent(log(-1 - x**2), log(-2 - x**2))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("found", "truth"),
    [
        (1.9 * x + 0.3, 2.1 * x + 0.5),
        (0.9 * x / (0.4 + x), 1.3 * x / (0.6 + x)),
        (1.1 * exp(-0.8 * x), 1.3 * exp(-1.0 * x)),
        (0.9 * sin(1.1 * x) + 0.1 * y, sin(x) + 0.2 * y),
        (2.0 * exp(1.0 * x + 0.5), 3.0 * exp(1.1 * x)),  # a redundant constant is no other structure
        (x - 0.32 * x**3, x - x**3 / 3),
    ],
)
def test_same_structure_with_other_constants(found: sympy.Expr, truth: sympy.Expr, seed: int) -> None:
    box = {"x": (0.1, 2.0), "y": (-1.0, 1.0)}
    assert same_structure(found, truth, box, seed=seed)
    assert not equivalent(found, truth, box, seed=seed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("found", "truth"),
    [
        (1.9 * x + 0.3 * x**2, 2.1 * x),  # a term too many
        (1.9 * x + 0.001, 2.1 * x),
        (1.9 * x, 2.1 * x + 0.5),  # a term missing
        (1.9 * x, 2.1 * x + 0.05 * y),
        (1.9 * sin(x), 2.1 * x),
        (0.9 * x / (0.4 + x), 1.3 * x**2 / (0.6 + x**2)),
        (2 * x, 2.1 * x),  # whole numbers are not constants to fit
    ],
)
def test_other_structure(found: sympy.Expr, truth: sympy.Expr, seed: int) -> None:
    assert not same_structure(found, truth, {"x": (0.1, 2.0), "y": (-1.0, 1.0)}, seed=seed)


def test_variables_may_be_called_like_parameters() -> None:
    c = sympy.Symbol("c_0")
    assert same_structure(1.9 * c + 0.3, 2.1 * c + 0.5)


def test_a_term_that_only_others_growing_could_hide_is_not_of_the_structure():
    found = parse("777.4*x/(388.7*x + cos(x)**2 + 271.7)")
    assert not same_structure(found, parse("2*x/(x + 0.7)"), {"x": (0.2, 3.0)})
