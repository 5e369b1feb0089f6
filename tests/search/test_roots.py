import pytest
import sympy

from fepysr_dyn.expressions import equivalent, parse
from fepysr_dyn.search.roots import factors


def polynomial_of(text, names):
    product = sympy.Poly(sympy.expand(parse(text)), *map(sympy.Symbol, names))
    return {exponents: float(value) for exponents, value in product.terms()}


@pytest.mark.parametrize(
    ("product", "expected"),
    [
        ("(x + 0.5)*(y**2 + 0.09)", ["x + 0.5", "y**2 + 0.09"]),
        ("(x**5 + 0.3)*(x + y + 1)", ["x**5 + 0.3", "x + y + 1"]),
        ("(x - 1.005)*(x + 0.005)*(y + 2)", ["x + 0.005", "x - 1.005", "y + 2"]),
        ("(x + 0.2)*(y + 0.2)*(3 - x - y)", ["x + 0.2", "x + y - 3", "y + 0.2"]),
        ("(x**2 + 0.3)*(x + 0.1)", ["x + 0.1", "x**2 + 0.3"]),
        ("x*y + x + 2*y**2 + 0.3", ["x*y + x + 2*y**2 + 0.3"]),
    ],
)
def test_products_fall_into_their_factors(product, expected):
    names = ("x", "y") if "y" in product else ("x",)
    found = list(factors(polynomial_of(product, names), names, (1.0,) * len(names)))
    assert len(found) == len(expected)
    box = dict.fromkeys(names, (0.1, 2.0))
    for text in expected:
        assert any(equivalent(factor, parse(text), box) for factor in found), (text, found)


def test_variables_return_to_their_own_size():
    (factor,) = factors({(0,): 0.5, (1,): 1.0}, ("x",), (100.0,))
    assert equivalent(factor, parse("x + 50"), {"x": (0.0, 100.0)})


def test_the_first_coefficient_is_no_constant_to_be_fitted():
    (factor,) = factors({(0,): 0.25, (1,): 0.5}, ("x",), (1.0,))
    assert factor.coeff(sympy.Symbol("x")) is sympy.Integer(1)
