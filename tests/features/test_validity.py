"""Validity of a feature, and the paper's metrics."""

import math

import numpy as np
import pytest
import sympy

from fepysr_dyn.expressions import compile_expression, parse
from fepysr_dyn.features.metrics import score_ranking
from fepysr_dyn.features.tree_size import equivalent_forms, smallest_tree, tree_size
from fepysr_dyn.features.validity import is_valid, substitute, valid_flags

VALID = [
    ("x**2", "x**5 - y**4"),
    ("x**2", "x**6 + x**5 + x**4 + x**3 + x**2 + x"),
    ("-2*x*y", "x*y*z + z"),
    ("x + y", "exp(x + y + z)"),
    ("x - y", "exp(y - x)"),
    ("exp(x)", "exp(2*x) + y"),
    ("exp(x**2)", "exp(x**2 + sin(y))"),
    ("exp(x - y)", "(exp(1 + x)*(1 - x) - exp(y)*x)/(exp(1 + x) + exp(y))"),
    ("x**2 + y**2", "sqrt(x**2 + y**2 + 1)"),
    ("sin(y)", "x/(exp(x) + sin(y)**2)"),
    ("S - X2", "1/(1 + exp(-(S - X2 + 0.25))) - X1"),
    ("exp(S - X2)", "1/(1 + exp(-(S - X2 + 0.25))) - X1"),
]
INVALID = [
    ("sin(x)", "x**5 - y**4"),
    ("x", "x**2 + y"),
    ("2*x", "2*x + y"),
    ("x*y", "x + y"),
    ("exp(x)", "exp(x + y)*z"),
    ("sin(x)", "sin(x + y)"),
    ("x**2*z", "x**2 + z"),
    ("cos(cos(x))", "cos(x)"),
    ("w**2", "x**2"),
]


@pytest.mark.parametrize(("feature", "target"), VALID)
def test_valid(feature, target):
    assert is_valid(parse(feature), parse(target))


@pytest.mark.parametrize(("feature", "target"), INVALID)
def test_invalid(feature, target):
    assert not is_valid(parse(feature), parse(target))


@pytest.mark.parametrize(("feature", "target"), VALID)
def test_substitution_keeps_the_function(feature, target):
    """Putting the feature back gives the target: nothing is gained by writing something else."""
    wanted, truth = parse(feature), sympy.nsimplify(parse(target), rational=True)
    for form in equivalent_forms(truth):
        for slack in (0, 1, 2):
            back = substitute(form, wanted, slack).subs(sympy.Symbol("feature_"), wanted)
            names = sorted(map(str, truth.free_symbols))
            points = np.random.default_rng(0).uniform(0.3, 1.2, (len(names), 20))
            np.testing.assert_allclose(
                compile_expression(back, names)(*points), compile_expression(truth, names)(*points), rtol=1e-9
            )


def test_repetitions_count_once():
    assert valid_flags((parse("x**2"), parse("2*x**2"), parse("sin(x)")), parse("x**4 + x")) == [
        True,
        False,
        False,
    ]


def test_tree_size():
    assert tree_size(parse("sin(x)**2")) == 3
    assert tree_size(parse("-x")) == 2
    assert tree_size(parse("exp(2*x)")) == 3
    # Horner is the smallest tree of a polynomial with all powers.
    assert smallest_tree(parse("x**6 + x**5 + x**4 + x**3 + x**2 + x")) == 21


def test_metrics_follow_the_printed_definitions():
    scores = score_ranking([10, 5, 5], [True, False, True])
    assert scores.efr == 15 / 20
    assert scores.dcg1 == pytest.approx(1 + 1 / 2)
    assert scores.dcg2 == pytest.approx(10 + 5 / 2)
    assert scores.valid == 2


def test_metrics_reproduce_a_row_of_the_paper():
    """Recover-1 without noise: valid ranks 1 and 5, 2790 valid occurrences of 16384 unit outputs."""
    valid = [rank in (1, 5) for rank in range(1, 11)]
    counts = [2000, 0, 0, 0, 790, 0, 0, 0, 0, 0]
    scores = score_ranking(counts, valid, unit_outputs=256 * 64, base=math.e)
    assert scores.efr == pytest.approx(0.17029, abs=5e-6)
    assert scores.dcg1 == pytest.approx(2.00081, abs=5e-6)
