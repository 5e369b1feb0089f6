"""Properties of formulas that hold for every input."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fepysr_dyn.errors import ExpressionError
from fepysr_dyn.expressions import (
    canonical,
    compile_expression,
    compile_scalar,
    complexity,
    equivalent,
    free_constants,
    is_name,
    parse,
    to_text,
)
from fepysr_dyn.expressions.reals import renamed, substitute

NAMES = ["x", "y", "X1", "E", "I", "lambda", "c_0", "S"]
X, Y = sympy.symbols("x y")
slow_sympy = settings(
    derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)

numbers = st.one_of(
    st.integers(-20, 20).map(sympy.Integer),
    st.fractions(-5, 5, max_denominator=20).map(lambda f: sympy.Rational(f.numerator, f.denominator)),
    st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False).map(sympy.Float),
)
symbols = st.sampled_from([sympy.Symbol(name) for name in NAMES])
UNARY = [sympy.exp, sympy.log, sympy.sqrt, sympy.sin, sympy.cos, sympy.tan, sympy.tanh, sympy.sinh]
UNARY += [sympy.cosh, sympy.atan, sympy.Abs, sympy.sign]


def _safe(expression: sympy.Expr) -> bool:
    bad = (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I, sympy.re, sympy.im, sympy.arg)
    return not expression.has(*bad)


def _combined(inner: st.SearchStrategy[sympy.Expr]) -> st.SearchStrategy[sympy.Expr]:
    pairs = st.tuples(inner, inner)
    conditions = st.tuples(st.sampled_from([sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge]), symbols, numbers).map(
        lambda parts: parts[0](parts[1], parts[2])
    )
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.filter(lambda p: not p[1].is_zero).map(lambda p: p[0] / p[1]),
        st.tuples(inner, st.integers(-3, 4)).filter(lambda p: not p[0].is_zero).map(lambda p: p[0] ** p[1]),
        st.tuples(st.sampled_from(UNARY), inner).map(lambda p: p[0](p[1])),
        pairs.map(lambda p: sympy.Min(*p, evaluate=False)),
        pairs.map(lambda p: sympy.Max(*p, evaluate=False)),
        st.tuples(inner, conditions, conditions, inner).map(
            lambda p: sympy.Piecewise((p[0], sympy.Or(p[1], p[2])), (p[3], True), evaluate=False)
        ),
    ).filter(_safe)


expressions = st.recursive(st.one_of(numbers, symbols), _combined, max_leaves=8).filter(_safe)
polynomials = st.recursive(
    st.one_of(st.integers(-5, 5).map(sympy.Integer), st.sampled_from([X, Y, sympy.sin(X), sympy.exp(Y)])),
    lambda inner: st.tuples(inner, inner, st.booleans()).map(lambda p: p[0] + p[1] if p[2] else p[0] * p[1]),
    max_leaves=8,
)

#: Formulas as text, by the grammar: what they build is up to the parser.
texts = st.recursive(
    st.sampled_from(["x", "y", "2", "0.5", "1e-3", "pi", "0", "1/3", "X1", "c_0", "E", "-2.5"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", " + ", "**"]), inner).map("".join),
        inner.map("({})".format),
        inner.map("-{}".format),
        st.tuples(
            st.sampled_from([f.__name__ for f in UNARY if f is not sympy.Abs] + ["abs", "ln"]), inner
        ).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"Max({p[0]}, {p[1]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"hill({p[0]}, {p[1]}, {p[2]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"Piecewise(({p[0]}, {p[1]} < 1), ({p[2]}, True))"),
    ),
    max_leaves=12,
)


def _read(text: str) -> sympy.Expr | None:
    try:
        return parse(text)
    except ExpressionError:
        return None


formulas = texts.map(_read).filter(lambda expression: expression is not None)


def _values(expression: sympy.Expr, points: int = 7) -> np.ndarray:
    random = np.random.default_rng(0)
    columns = [random.uniform(0.3, 1.7, points) for _ in NAMES]
    return compile_expression(expression, NAMES)(*columns)


def _close(left: np.ndarray, right: np.ndarray, rtol: float = 1e-8) -> bool:
    both = np.isfinite(left) & np.isfinite(right) & (np.abs(left) < 1e100)
    return bool(np.allclose(left[both], right[both], rtol=rtol, atol=1e-8))


@slow_sympy
@given(expressions)
def test_text_keeps_the_function(expression: sympy.Expr) -> None:
    try:
        again = parse(to_text(expression))
    except ExpressionError as error:
        # Only the stated bounds may stand between an expression and its text.
        assert any(word in str(error) for word in ("limited", "large", "range", "power", "real", "zero"))
        return
    assert _close(_values(again), _values(expression))


@slow_sympy
@given(formulas)
def test_what_was_read_is_written_and_read_unchanged(expression: sympy.Expr) -> None:
    again = parse(to_text(expression))
    if again != expression:
        # sympy multiplies numbers into sums and merges powers, and text cannot say that it did not:
        # 1/(3*(x + 1)). The second reading is final.
        assert _close(_values(again), _values(expression))
        expression, again = again, parse(to_text(again))
    assert again == expression
    assert hash(again) == hash(expression)


@slow_sympy
@given(
    st.recursive(
        st.one_of(numbers, symbols),
        lambda i: st.tuples(i, i).map(lambda p: p[0] + p[1]) | st.tuples(i, i).map(lambda p: p[0] * p[1]),
        max_leaves=10,
    )
)
def test_sums_and_products_come_back_identical(expression: sympy.Expr) -> None:
    # What no float64 can hold has no text either.
    assume(all(1e-300 < abs(number) < 1e300 for number in expression.atoms(sympy.Float) if number != 0.0))
    assume(all(abs(number) < 10**60 for number in expression.atoms(sympy.Rational)))
    assert parse(to_text(expression)) == expression


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    _read_or_refused(text)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            [
                *("x", "y", "1", "0", "9", "1e308", "(", ")", "+", "-", "*", "/", "**", ",", "<", "&", "|"),
                *("exp(", "log(", "tanh(", "Piecewise((", "True", "Max(", "sqrt(", "abs(", "hill("),
                *(".5", "e", "__", "\x00"),
            ]
        ),
        max_size=40,
    ).map("".join)
)
def test_any_tokens_are_read_or_refused(text: str) -> None:
    _read_or_refused(text)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(["tanh", "sqrt", "cosh", "abs", "log", "sign", "exp", "atan"]), max_size=24),
    st.sampled_from(
        ["{f}({s})", "1/({f}({s}) + 1)", "{f}(x - {s})", "{f}(x/({s}))**2", "({f}({s}) + y)**0.3"]
    ),
)
def test_nesting_does_not_multiply_the_work(functions: list[str], form: str) -> None:
    text = "x"
    for function in functions:
        text = form.format(f=function, s=text)
    _read_or_refused(text, seconds=5)


def _read_or_refused(text: str, seconds: float = 2.0) -> None:
    start = time.process_time()
    try:
        result = parse(text)
    except ExpressionError as error:
        assert "\n" not in str(error)
        assert 0 <= error.position <= len(text)
    else:
        assert isinstance(result, sympy.Expr)
        assert all(is_name(str(symbol)) for symbol in result.free_symbols)
    assert time.process_time() - start < seconds


@slow_sympy
@given(polynomials, polynomials)
def test_equal_polynomials_have_one_canonical_form(first: sympy.Expr, second: sympy.Expr) -> None:
    product = first * second
    assert canonical(product) == canonical(sympy.expand(product))
    assert canonical((first + second) ** 2 - first**2) == canonical(2 * first * second + second**2)


@slow_sympy
@given(formulas)
def test_canonical_form_is_the_same_function_and_stable(expression: sympy.Expr) -> None:
    form = canonical(expression)
    assert _close(_values(form), _values(expression), rtol=1e-5)
    again = canonical(form)  # symengine merges some powers of powers only when it meets them again
    assert canonical(again) == again


@slow_sympy
@given(formulas)
def test_complexity_counts_at_least_the_leaves(expression: sympy.Expr) -> None:
    size = complexity(expression)
    leaves = sum(1 for node in sympy.preorder_traversal(expression) if node.is_Symbol)
    assert size >= max(1, leaves)
    assert complexity(renamed(expression, {sympy.Symbol("x"): sympy.Symbol("another")})) == size


@slow_sympy
@given(formulas)
def test_compiled_numbers_agree_with_high_precision(expression: sympy.Expr) -> None:
    point = {name: 0.37 + 0.11 * i for i, name in enumerate(NAMES)}
    values = list(point.values())
    numbers = {sympy.Symbol(name): sympy.Float(value) for name, value in point.items()}
    try:
        exact = complex(expression.evalf(30, subs=numbers))
    except (TypeError, ValueError):  # sympy cannot compare complex numbers, such as (-x)**x
        assume(False)
    assume(math.isfinite(exact.real) and exact.imag == 0 and 1e-6 < abs(exact.real) < 1e12)
    compiled = compile_expression(expression, NAMES)(*(np.array([value]) for value in values))[0]
    # Cancellation in double precision is not an error of the compiler.
    assume(abs(compiled - exact.real) < 1e-3 * abs(exact.real) or not _cancels(expression))
    assert compiled == pytest.approx(exact.real, rel=1e-6)
    try:
        (scalar,) = compile_scalar([expression], NAMES)(*values)
    except (ArithmeticError, ValueError):
        return
    assert float(scalar) == pytest.approx(compiled, rel=1e-9)


def _cancels(expression: sympy.Expr) -> bool:
    trig = (sympy.sin, sympy.cos, sympy.tan, sympy.Add)
    return any(isinstance(node, trig) for node in sympy.preorder_traversal(expression))


@slow_sympy
@given(formulas)
def test_free_constants_can_be_put_back(expression: sympy.Expr) -> None:
    template = free_constants(expression)
    assert not template.expression.atoms(sympy.Float)
    assert not {str(s) for s in expression.free_symbols} & set(template.parameters)
    assert _close(_values(template.with_values(template.values)), _values(expression))


@slow_sympy
@given(formulas, numbers)
def test_substitution_is_evaluation(expression: sympy.Expr, number: sympy.Expr) -> None:
    replaced = substitute(expression, {"x": number})
    assert sympy.Symbol("x") not in replaced.free_symbols
    assume(_safe(replaced))
    random = np.random.default_rng(1)
    columns = [random.uniform(0.3, 1.7, 5) for _ in NAMES]
    left = compile_expression(replaced, NAMES)(*columns)
    columns[NAMES.index("x")] = np.full(5, float(number))
    assert _close(left, compile_expression(expression, NAMES)(*columns), rtol=1e-6)


@slow_sympy
@given(polynomials, st.floats(1e-3, 10))
def test_a_shift_is_noticed(expression: sympy.Expr, shift: float) -> None:
    size = float(
        np.median(
            np.abs(
                compile_expression(expression, ["x", "y"])(*np.random.default_rng(0).uniform(-2, 2, (2, 200)))
            )
        )
    )
    assume(size < 50)
    assert equivalent(expression, sympy.expand(expression))
    assert not equivalent(expression, expression + sympy.Float(shift))
