"""What passes between units of work comes back bit for bit."""

import json
import math

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from fepysr_dyn.discovery.codec import (
    array_document,
    expression_document,
    read_array,
    read_expression,
    to_json,
)
from fepysr_dyn.errors import FepysrDynError

x, y = sympy.symbols("x y")


def back(document):
    return json.loads(to_json(document))


def same(expression):
    again = read_expression(back(expression_document(expression)))
    return again == expression and sympy.srepr(again) == sympy.srepr(expression)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_constants_keep_every_digit(value):
    expression = sympy.Add(sympy.Mul(sympy.Float(value), x, evaluate=False), y, evaluate=False)
    again = read_expression(back(expression_document(expression)))
    (constant,) = again.atoms(sympy.Float)
    assert float(constant) == value or (value == 0 and float(constant) == 0)


@pytest.mark.parametrize(
    "expression",
    [
        0.1 * x / (0.3 + y),
        sympy.Rational(2, 3) * x**3 - sympy.sqrt(y),
        sympy.Mul(2.5, x + y, evaluate=False),
        sympy.Mul(sympy.Float(0.1), sympy.Add(x, sympy.Float(0.7)), sympy.Pow(y, -1), evaluate=False),
        sympy.Pow(sympy.Pow(x, 2, evaluate=False), sympy.Rational(1, 2), evaluate=False),
        sympy.exp(-x) * sympy.Abs(y) + sympy.tanh(sympy.pi * x) + sympy.Min(x, y),
        sympy.Float(1e-300) * x + sympy.Float(1.7976931348623157e308),
    ],
)
def test_trees_come_back_as_they_were(expression):
    assert same(expression)


@given(st.lists(st.floats(width=64), max_size=20))
def test_arrays_keep_every_bit(values):
    array = np.array(values)
    again = read_array(back(array_document(array)))
    assert again.tobytes() == array.tobytes()


def test_numbers_that_json_does_not_have_are_read_by_float():
    document = back({"values": [math.inf, -math.inf, math.nan, 0.1]})
    assert [repr(float(value)) for value in document["values"]] == ["inf", "-inf", "nan", "0.1"]


@pytest.mark.parametrize("hostile", [["system", "ls"], {"a": 1}, ["symbol"], '__import__("os")', [[]], 3])
def test_nothing_but_formulas_is_read(hostile):
    with pytest.raises(FepysrDynError):
        read_expression(hostile)
