import numpy as np
import pytest
import sympy

from fepysr_dyn.expressions import compile_expression, free_constants, parse
from fepysr_dyn.search.evaluation import UnsupportedExpressionError, tree_slopes, tree_values
from fepysr_dyn.search.least_squares import tied_constants
from fepysr_dyn.search.operators import uses_only

TEXTS = [
    "0.3*x**2.3*sin(1.2*y + 0.1)/(1.5 + exp(0.4*x))",
    "sqrt(x + 0.3)*log(y + 0.2)**3 - 2.1*tanh(0.3*x)",
    "2.7*x**y + abs(0.4*x - y) + atan(1.3*x)/y**3",
    "(x + 0.5)**(-2) + x**0.5 + 4.0",
    "cosh(0.2*x) - sinh(y*0.3) + tan(0.1*x)",
]


@pytest.fixture
def columns():
    random = np.random.default_rng(0)
    return {"x": random.uniform(0.1, 2, 40), "y": random.uniform(0.1, 2, 40)}


@pytest.mark.parametrize("text", TEXTS)
def test_walking_equals_compiling(text, columns):
    expression = parse(text)
    compiled = compile_expression(expression, ["x", "y"])(*columns.values())
    np.testing.assert_allclose(tree_values(expression, columns), compiled, rtol=1e-14)
    template = free_constants(expression)
    theta = np.array(template.values)
    values, slopes = tree_slopes(template.expression, template.parameters, theta, columns)
    value, jacobian = template.functions(["x", "y"])
    np.testing.assert_allclose(values, value(theta, *columns.values()), rtol=1e-14)
    np.testing.assert_allclose(slopes, jacobian(theta, *columns.values()), rtol=1e-12, atol=1e-14)


def test_unknown_functions_are_refused_not_guessed(columns):
    with pytest.raises(UnsupportedExpressionError):
        tree_values(sympy.gamma(sympy.Symbol("x")), columns)


@pytest.mark.parametrize(
    "nowhere_real",
    [
        sympy.im(sympy.Symbol("x")) + 1.5 * sympy.Symbol("y"),
        sympy.sin(sympy.Symbol("x")) + sympy.zoo,
        sympy.I * sympy.Symbol("x"),
    ],
)
def test_what_sympy_writes_outside_of_the_reals_is_no_number(nowhere_real, columns):
    assert np.all(np.isnan(tree_values(nowhere_real, columns)))


def test_equal_constants_are_one_parameter():
    template = tied_constants(parse("exp(0.5*x)*y/(exp(0.5*x) + 1.2)"))
    assert template.values == (1.2, 0.5) or template.values == (0.5, 1.2)


@pytest.mark.parametrize(
    ("text", "operators", "allowed"),
    [
        ("x**2 + 1", ("+", "*"), True),
        ("x**2", ("square",), True),
        ("x - y", ("-",), True),
        ("x + y", ("-",), False),
        ("x/y", ("*",), False),
        ("1/x", ("inv",), True),
        ("sqrt(x)", ("sqrt",), True),
        ("x**1.5", ("sqrt",), False),
        ("x**0.3", ("exp", "log", "*"), True),
        ("exp(-x)", ("exp", "neg"), True),
        ("tanh(x)", ("exp", "+", "/"), False),
        ("sin(2*x)", ("sin",), False),
    ],
)
def test_operators_are_honoured(text, operators, allowed):
    assert uses_only(parse(text), operators) is allowed
