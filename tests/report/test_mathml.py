"""Details of the typesetting."""

import pytest
import sympy

from fepysr_dyn.expressions import parse
from fepysr_dyn.report.mathml import equation, math, name_math


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x", "<mi>x</mi>"),
        ("X1", "<msub><mi>X</mi><mn>1</mn></msub>"),
        ("k_cat", "<msub><mi>k</mi><mi>cat</mi></msub>"),
        ("alpha", "<mi>α</mi>"),
        ("Lambda2", "<msub><mi>Λ</mi><mn>2</mn></msub>"),
        ("ATP", "<mi>ATP</mi>"),
        ("x_1_2", "<msub><mi>x</mi><mi>1,2</mi></msub>"),
        ("_hidden", "<mi>_hidden</mi>"),
        ("PI", "<mi>PI</mi>"),
    ],
)
def test_names(name, expected):
    assert expected in name_math(name)


def test_every_term_of_an_equation_can_go_on_a_line_of_its_own():
    made = equation("X1", parse("a - b*X1 + c/(1 + X1)"))
    assert made.count("<math") == 4
    assert 'aria-label="dX1/dt = ' in made


def test_cases():
    made = math(parse("Piecewise((x, x < 1), (2*x, x >= 3), (0, True))"))
    for part in ("<mtable", "if ", "≥", "otherwise", "&lt;"):
        assert part in made


def test_digits():
    assert "<mn>0.333333</mn>" in math(sympy.Float(1 / 3))
    assert "<mn>0.33</mn>" in math(sympy.Float(1 / 3), digits=2)


def test_a_huge_formula_is_shown_as_text():
    long = sympy.Add(*(sympy.Symbol(f"x{i}") ** 2 for i in range(300)))
    made = math(long)
    assert "<mtext>" in made
    assert len(made) < 4000


def test_markup_in_names_is_escaped():
    assert "<script>" not in math(sympy.Symbol("<script>"))
    assert "&lt;script&gt;" in math(sympy.Symbol("<script>"))
