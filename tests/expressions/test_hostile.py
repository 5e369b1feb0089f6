"""Nothing that arrives as a formula runs code, hangs, or ends in anything but our own error."""

from __future__ import annotations

import time

import pytest
import sympy

from fepysr_dyn.errors import ExpressionError
from fepysr_dyn.expressions import canonical, compile_expression, complexity, parse, to_text

#: Refused, each for its own reason.
REFUSED = [
    '__import__("os").system("touch hacked")',
    "__import__('os')",
    "().__class__.__bases__[0].__subclasses__()",
    "x.__class__",
    "x.free_symbols",
    "lambda: 1",
    "lambda x: x",
    "(lambda: 1)()",
    "eval('1')",
    "exec('import os')",
    "open('/etc/passwd')",
    "print(1)",
    "globals()",
    "getattr(x, y)",
    "sympify(x)",
    "Symbol(x)",
    "Function(x)",
    "x := 1",
    "(x := 1)",
    "x = 1",
    "x == 1",
    "x != 1",
    "[x for x in y]",
    "{x: 1}",
    "[1, 2]",
    "(1, 2)",
    "x[0]",
    "f'{x}'",
    "'text'",
    '"text"',
    "b'bytes'",
    "x if y else 1",
    "not x",
    "x and y",
    "x or y",
    "x; y",
    "x\\\ny",
    "# comment",
    "x # comment",
    "x // y",
    "x % y",
    "x @ y",
    "x ^ y",
    "~x",
    "x << 2",
    "x >> 2",
    "x!",
    "2x",
    "x y",
    "1 2",
    "1j",
    "2 + 3j",
    "0x10",
    "0b1",
    "1_000",
    "1e",
    "1e999",
    "9" * 100,
    "9" * 5000,
    "9**9**9",
    "9**9**9**9",
    "2**(2**100)",
    "10**60*10**60",
    "x*10**60*10**60",
    "x**1000",
    "x**-1000",
    "(x**60)**60",
    "((x + 1)**64)**64",
    "x**40*x**40",
    "exp(exp(exp(1e3)))",
    "exp(1000)",
    "exp(699)*exp(699)",
    "1e308*10",
    "1e300*1e300*x",
    "1e-300*1e-300*x",
    "0**-1",
    "0**x",
    "1/0",
    "1/0.0",
    "x/(1 - 1)",
    "log(0)",
    "log(-1)",
    "log(sin(4))",
    "sqrt(-1)",
    "sqrt(-2.5)",
    "(-8)**(1/3)",
    "(-1)**0.5",
    "tan(pi/2)",
    "michaelis_menten(1, -1)",
    "hill(0, 0, 1)",
    "hill(x, 0, -1)",
    "hill(x)",
    "exp()",
    "exp(x, y)",
    "exp",
    "Max",
    "Piecewise",
    "True",
    "False + 1",
    "Max()",
    "Max(" + ", ".join(["x"] * 21) + ")",
    "unknown_function(x)",
    "Piecewise()",
    "Piecewise((1, True)",
    "Piecewise((1, x))",
    "Piecewise((1, x < 1))",
    "Piecewise((1, x < 1), (2, False))",
    "Piecewise((1, x == 1), (2, True))",
    "Piecewise((1, x < y < 1), (2, True))",
    "Piecewise((1, 1), (2, True))",
    "Piecewise((1, Piecewise((x, x < 1), (y, True)) < 1), (2, True))",
    "Piecewise((1, " + " | ".join(f"x < {i}" for i in range(1000)) + "), (2, True))",
    "x < 1",
    "(x < 1)*2",
    "x & y",
    "",
    "   ",
    "()",
    "(",
    ")",
    "x)",
    "((x)",
    "x +",
    "* x",
    "x ** ",
    "x,",
    ",",
    "x..y",
    "1.2.3",
    ".",
    "\x00",
    "x\x00",
    "x\u2028y",
    "\ud800",
    "\ufeffx",
    "ｘ",
    "х + 1",  # Cyrillic
    "x² + 1",
    "½",
    "∞",
    "√x",
    "١٢",
    "a" * 101,
    "x" * 10_001,
    "(" * 5000,
    "(" * 61 + "x" + ")" * 61,
    "exp(" * 40 + "x" + ")" * 40,
    "**".join(["x"] * 200),
    "Piecewise((1, (" * 20 + "x" + ") < 1), (2, True))" * 20,
    "+".join(f"1/{n}" for n in range(2, 900)),
    "*".join(f"(x{i} + 1)" for i in range(900)),
    "inf()",
]

#: Read, however they look.
READ = [
    "-" * 1500 + "x",
    "+-" * 700 + "x",
    "(" * 55 + "x" + ")" * 55,
    "nan + inf",  # names like any other
    "E + I + N + S + Q + O",
    "lambda_ + None",
    "_ + __",
    "sin(10**50)",
    "sin(pi*10**40 + x)",
    "x**x**x**x",
    "(x + 1)**64*(y + 1)**64",
    "(((x + 1)**8 + 1)**8 + 1)**8",
    "abs(x - " * 20 + "1" + ")" * 20,
    "sign(x - " * 20 + "1" + ")" * 20,
    "tanh(x/(" * 12 + "y" + "))" * 12,
    "1/(tanh(sqrt(" * 6 + "x" + ")) + 1)" * 6,
    "1/(sqrt(" * 12 + "x" + ") + 1)" * 12,
    "cosh(sinh(tanh(" * 5 + "x" + ")))" * 5,
    "Max(x, Min(y, " * 8 + "z" + "))" * 8,
    "abs(Max(" + ", ".join(f"x{i} + y{i}*z" for i in range(20)) + "))**2",
    "hill(" * 3 + "x" + ", 0.5, 3)" * 3,
    "sqrt(2 + " * 20 + "1" + ")" * 20,
    "(" * 20 + "2" + "**(1/3) + 1)" * 20,
    "sqrt(1000000000000000000000000000057*1000000000000000000000000000099)",
    "sin(pi/120)*tan(pi/240)",
    "1/(sin(2)**2 + cos(2)**2 - 1)",
    "+".join(["x"] * 4000),
    "+".join(f"x{i}" for i in range(1500)),
    "*".join(f"x{i}" for i in range(1500)),
    "exp(" + "+".join(f"x{i}" for i in range(1500)) + ")",
    "Piecewise((x, (x < 1) & (y > 2) | (z <= 3)), (Piecewise((1, x >= y), (2, True)), True))",
    "Piecewise((1, (((((((((((x))))))))))) < 1), (2, True))",
    "Piecewise((1, 1 < 2), (2, True))",
    "sqrt(100000) + log(5000) + abs(-12345) + Max(1000, 2000)",
    "1**x",
    "2 − x·y × 3",
    "1.e5 + .5e-3 + 00012",
]  # fmt: skip


def test_the_lists_are_long_enough() -> None:
    assert len(set(REFUSED)) == len(REFUSED) >= 100
    assert len(set(READ)) == len(READ) >= 30


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: ascii(text[:30]))
def test_refused_with_one_line(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert time.process_time() - start < 2
    message = str(caught.value)
    assert message and "\n" not in message and len(message) < 300
    assert 0 <= caught.value.position <= len(text)


@pytest.mark.parametrize("text", READ, ids=lambda text: ascii(text[:30]))
def test_read_in_bounded_time(text: str) -> None:
    start = time.process_time()
    expression = parse(text)
    assert time.process_time() - start < 2
    assert isinstance(expression, sympy.Expr)
    assert not any(
        symbol.assumptions0 != sympy.Symbol("x").assumptions0 for symbol in expression.free_symbols
    )
    assert complexity(expression) >= 1
    assert to_text(expression)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "text", [text for text in READ if len(text) < 1000], ids=lambda text: ascii(text[:30])
)
def test_what_is_read_can_also_be_used(text: str) -> None:
    start = time.process_time()
    expression = parse(text)
    canonical(expression)
    names = sorted(map(str, expression.free_symbols)) or ["x"]
    assert compile_expression(expression, names)(*([1.25] * len(names))).shape == ()
    assert time.process_time() - start < 10


@pytest.mark.parametrize("found", [None, 1, 2.5, b"x", ["x"], sympy.Symbol("x")])
def test_only_text_is_a_formula(found: object) -> None:
    with pytest.raises(ExpressionError, match="a formula must be text"):
        parse(found)  # type: ignore[arg-type]


def test_no_code_was_run(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in REFUSED:
        with pytest.raises(ExpressionError):
            parse(text)
    assert not list(tmp_path.iterdir())
