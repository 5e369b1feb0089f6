"""All short formulas of a few columns."""

import numpy as np
import pytest

from fepysr_dyn.expressions import compile_expression, equivalent, parse
from fepysr_dyn.search.enumeration import short_formulas
from fepysr_dyn.search.front import evaluate_candidate
from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.problem import RegressionProblem


def problem_of(text, names="x", **options):
    columns = dict(zip(names, np.random.default_rng(3).normal(size=(len(names), 150)), strict=True))
    target = compile_expression(parse(text), tuple(columns))(*columns.values())
    return RegressionProblem(columns, target, **options)


@pytest.mark.parametrize(
    ("truth", "names"),
    [
        ("sqrt(log(abs(x) + 1))", "x"),
        ("3.7/(2 + sin(x)**2)", "x"),
        ("exp(-abs(x)) - 0.31", "x"),
        ("log(1 + 0.4*abs(sin(x)))", "x"),
        ("x/(1 + x**2)", "x"),
        ("2.5*exp(-1.3*x*y)", "xy"),
        ("sqrt(2 + abs(x*y))", "xy"),
    ],
)
def test_the_truth_is_among_the_nearest(truth, names):
    problem = problem_of(truth, names)
    found = min((evaluate_candidate(f, problem, "t") for f in short_formulas(problem)), key=lambda c: c.loss)
    box = dict.fromkeys(names, (-2.0, 2.0))
    assert equivalent(found.expression, parse(truth), box, rtol=1e-7)


def test_only_allowed_operators_are_used():
    operators = ("+", "*", "sin")
    problem = problem_of("exp(x)", operators=operators)
    formulas = list(short_formulas(problem))
    assert formulas
    assert all(uses_only(formula, operators) for formula in formulas)


def test_rows_that_hardly_count_do_not_decide():
    clean = problem_of("1/(2 + sin(x)**2)")
    target, weights = clean.target.copy(), np.ones(150)
    target[:20], weights[:20] = 1e3, 1e-12
    problem = RegressionProblem(clean.columns, target, weights=weights)
    assert min(evaluate_candidate(f, clean, "t").loss for f in short_formulas(problem)) < 1e-20


def test_the_same_formulas_come_in_every_run():
    problem = problem_of("tanh(x) + x**3")
    assert list(short_formulas(problem)) == list(short_formulas(problem))
