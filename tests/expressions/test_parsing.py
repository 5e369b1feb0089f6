from __future__ import annotations

import pytest
import sympy

from fepysr_dyn.errors import ExpressionError
from fepysr_dyn.expressions import is_name, parse, to_text

x, y, z, k = sympy.symbols("x y z k")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y*z", x + y * z),
        ("-x**2", -(x**2)),
        ("(-x)**2", x**2),
        ("2**-x", 2 ** (-x)),
        ("x**y**z", x ** (y**z)),
        ("x - y - z", x - y - z),
        ("x/y/z", x / y / z),
        ("x/y*z", x * z / y),
        ("--x", x),
        ("x - -y", x + y),
        ("2*(x + y)*sin(x)", 2 * (x + y) * sympy.sin(x)),
        ("-(x + y)*sin(x)", -(x + y) * sympy.sin(x)),
        ("1/sqrt(x)", x ** sympy.Rational(-1, 2)),
        ("x**0.5", x ** sympy.Float(0.5)),
        ("3/4", sympy.Rational(3, 4)),
        ("0.1 + x", x + 0.1),
        ("1e-3*x", 0.001 * x),
        ("pi*x", sympy.pi * x),
        ("exp(0)", sympy.Integer(1)),
        ("sqrt(16)", sympy.Integer(4)),
        ("ln(x)", sympy.log(x)),
        ("arctan(x)", sympy.atan(x)),
        ("abs(x)", sympy.Abs(x)),
        ("max(x, 1)", sympy.Max(x, 1)),
        ("hill(x, k, 4)", x**4 / (k**4 + x**4)),
        ("mm(x, k)", x / (k + x)),
        ("x·y − z", x * y - z),
        ("Piecewise((x, x < 1), (2, True))", sympy.Piecewise((x, x < 1), (2, True))),
        (
            "Piecewise((x, (x + 1)*2 < y & y >= 0 | z > 1), (2, True))",
            sympy.Piecewise((x, (((x + 1) * 2 < y) & (y >= 0)) | (z > 1)), (2, True)),
        ),
        (
            "Piecewise((x, z > 1 | x < 1 & y > 0), (2, True))",
            sympy.Piecewise((x, (z > 1) | ((x < 1) & (y > 0))), (2, True)),
        ),
    ],
)
def test_reads_what_is_meant(text: str, expected: sympy.Expr) -> None:
    found = parse(text)
    assert found == expected or sympy.simplify(found - expected) == 0


def test_expressions_made_by_sympy_come_back_identical() -> None:
    made = [
        x * sympy.exp(-y) / (1 + sympy.sin(x) ** 2) + sympy.sqrt(x) / z,
        sympy.tanh(x * y - 0.5) ** 3 / (sympy.cosh(z) + 2),
        sympy.Abs(x - y) * sympy.sign(z) + x ** sympy.Rational(-3, 2),
        2 ** (x / 3) * sympy.log(1 + sympy.exp(x)) - sympy.pi / 7,
        sympy.Piecewise((x**2, (x < 1) & (y > 0)), (sympy.Max(x, y), True)),
        sympy.exp(1) * x + sympy.sqrt(2) * sympy.atan(y) - 1.5e-7,
    ]
    for expression in made:
        again = parse(to_text(expression))
        assert again == expression, (again, expression)
        assert again.free_symbols == expression.free_symbols


@pytest.mark.parametrize(
    ("text", "position", "fragment"),
    [
        ("x + $", 4, "unexpected character '$'"),
        ("x ^ 2", 2, "write powers as **"),
        ("x + exq(y)", 4, "did you mean 'exp'"),
        ("x * (y + 1", 10, "expected ')', found the end"),
        ("x + y z", 6, "unexpected 'z'"),
        ("1/(x - x)", 1, "division by zero"),
        ("sin(x, y)", 0, "takes 1 arguments, got 2"),
        ("x**65", 1, "exponents are limited to 64"),
    ],
)
def test_errors_point_at_the_character(text: str, position: int, fragment: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert caught.value.position == position
    assert fragment in str(caught.value)
    assert f"at character {position + 1}" in str(caught.value)


def test_unknown_symbols_are_refused_with_a_suggestion() -> None:
    assert parse("gamma1*X", ["gamma1", "X"]).free_symbols == set(sympy.symbols("gamma1 X"))
    with pytest.raises(ExpressionError, match="unknown symbol 'gama1'; did you mean 'gamma1'"):
        parse("gama1*X", ["gamma1", "X"])


def test_symbols_carry_no_assumptions() -> None:
    (symbol,) = parse("abs(x)*exp(x)").free_symbols
    assert symbol == sympy.Symbol("x")
    assert symbol.is_real is None


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        *(("x", True), ("X_1", True), ("_", True), ("1x", False), ("x y", False), ("exp", False)),
        *(("Piecewise", False), ("", False), ("é", False), ("x\n", False), ("a" * 101, False)),
        *(("lambda", True), ("pi", False)),
    ],
)  # fmt: skip
def test_names(name: str, answer: bool) -> None:
    assert is_name(name) is answer


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (x / 3 + 0.1, "x/3 + 0.1"),
        (sympy.Float(1e-5) * x, "1e-05*x"),
        (sympy.Float(2.0) * x, "2.0*x"),
        (sympy.E**x, "exp(x)"),
        (sympy.E + x, "x + exp(1)"),
        (sympy.cot(x) * y, "y*(1/tan(x))"),
    ],
)
def test_spelling(expression: sympy.Expr, text: str) -> None:
    assert to_text(expression) == text
    parse(text)


def test_all_seventeen_digits_survive() -> None:
    value = 0.1 + 0.2
    assert float(parse(to_text(sympy.Float(value) * x)).coeff(x)) == value
