"""What is typeset means the same as the formula: MathML is read back by the rules of the eye."""

import itertools
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import sympy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fepysr_dyn.expressions import compile_expression, parse
from fepysr_dyn.report.mathml import math

NAMES = ("x", "y", "k1")
SIGNS = {"−": "-", "·": "*", "≤": "<=", "≥": ">="}
FUNCTIONS = {"ln": "log", "sgn": "sign", "min": "Min", "max": "Max"}

numbers = st.one_of(
    st.integers(-9, 9).map(sympy.Integer),
    st.fractions(-5, 5, max_denominator=9).map(lambda f: sympy.Rational(f.numerator, f.denominator)),
    st.floats(-1e9, 1e9, allow_nan=False, allow_subnormal=False)
    .filter(lambda v: abs(v) > 1e-9)
    .map(sympy.Float),
)
leaves = st.one_of(numbers, st.sampled_from([sympy.Symbol(name) for name in NAMES]))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
        st.tuples(inner, inner).map(lambda p: sympy.Mul(p[0], p[1], evaluate=False)),
        st.tuples(inner, inner).map(lambda p: p[0] / p[1]),
        st.tuples(inner, st.integers(-3, 3)).map(lambda p: p[0] ** p[1]),
        st.tuples(st.sampled_from([sympy.exp, sympy.sin, sympy.tanh, sympy.Abs, sympy.sqrt]), inner).map(
            lambda p: p[0](p[1])
        ),
        st.tuples(inner, inner).map(lambda p: p[0] ** p[1]),
    ),
    max_leaves=7,
)


def read(node: ET.Element) -> str:
    """Return the formula an eye would read; only what is drawn apart is bracketed."""
    parts = list(node)
    match node.tag:
        case "math" | "mrow":
            return "".join(read(part) for part in parts)
        case "mi" if node.text == "e" and node.get("mathvariant") == "normal":
            return "exp(1)"
        case "mi":
            return FUNCTIONS.get(node.text, node.text)
        case "mn":
            return node.text
        case "mo":
            return SIGNS.get(node.text, node.text)
        case "mspace":
            return "*"
        case "mfrac":
            return f"(({read(parts[0])})/({read(parts[1])}))"
        case "msqrt":
            return f"sqrt({''.join(read(part) for part in parts)})"
        case "mroot":
            return f"(({read(parts[0])})**(1/({read(parts[1])})))"
        case "msub":
            return parts[0].text + parts[1].text
        case "msubsup":
            return f"{parts[0].text}{parts[1].text}**({read(parts[2])})"
        case "msup" if read(parts[0]) == "exp(1)":
            return f"exp({read(parts[1])})"
        case "msup":
            return f"{read(parts[0])}**({read(parts[1])})"
    raise AssertionError(f"unexpected element {node.tag}")


def read_back(expression: sympy.Expr) -> sympy.Expr:
    text = read(ET.fromstring(str(math(expression, digits=17))))  # noqa: S314 (our own)
    while "|" in text:
        # Bars open and close: the innermost pair has none inside.
        start, stop = innermost_bars(text)
        text = f"{text[:start]}abs({text[start + 1 : stop]}){text[stop + 1 :]}"
    return parse(text)


def innermost_bars(text: str) -> tuple[int, int]:
    bars = [index for index, sign in enumerate(text) if sign == "|"]
    for start, stop in itertools.pairwise(bars):
        inside = text[start + 1 : stop]
        if inside and inside[0] not in "*/)+" and inside[-1] not in "*/(+-" and balanced(inside):
            return start, stop
    raise AssertionError(f"bars do not match: {text}")


def balanced(text: str) -> bool:
    depth = 0
    for sign in text:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth < 0:
            return False
    return depth == 0


def values(expression: sympy.Expr) -> np.ndarray:
    points = np.random.default_rng(0).uniform(0.3, 2.0, (len(NAMES), 20))
    with np.errstate(all="ignore"):
        return np.broadcast_to(compile_expression(expression, NAMES)(*points), (20,))


@settings(derandomize=True, deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(expressions)
def test_what_is_seen_is_what_is_meant(expression):
    bad = (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I, sympy.re, sympy.im, sympy.arg)
    assume(not expression.has(*bad))
    try:
        meant = values(expression)
    except (OverflowError, TypeError, ValueError):
        assume(False)
    assume(np.all(np.isfinite(meant)) and np.all(np.abs(meant) < 1e100))
    np.testing.assert_allclose(values(read_back(expression)), meant, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        "-X1 + 1/(exp(-S + X2 - 1/4) + 1)",
        "-(x + y)**2/3",
        "(x + y)*(x - y)/(2*k1)",
        "2.5e-7*x**2 - 1e-9",
        "x**(-1/2) + x**(1/3)",
        "(-2)**x*3**y",
        "-abs(x - 1)*tanh(x)**2",
        "exp(x*y/(1 + y))",
        "exp((x + y)/2)",
        "(1/3)**x",
        "-3/(4*x)",
    ],
)
def test_particular_formulas(text):
    expression = parse(text)
    back = read_back(expression)
    names = sorted(map(str, expression.free_symbols))
    points = np.random.default_rng(1).uniform(0.3, 2.0, (len(names), 20))
    left, right = (compile_expression(e, names)(*points) for e in (expression, back))
    np.testing.assert_allclose(left, right, rtol=1e-10)
