import numpy as np
import sympy

from fepysr_dyn.expressions import parse, to_text
from fepysr_dyn.search.front import evaluate_candidate
from fepysr_dyn.search.problem import RegressionProblem


def test_what_sympy_makes_of_complex_symbols_is_undone():
    x = np.linspace(-1, 1, 20)
    problem = RegressionProblem({"x": x}, np.exp(-2 * x))
    size = sympy.Abs(sympy.exp(-2 * sympy.Symbol("x")))
    assert size.has(sympy.re), "a formula that could not be read again"
    candidate = evaluate_candidate(size, problem, "test")
    assert parse(to_text(candidate.expression)) == parse("exp(-2*x)")
    assert candidate.loss < 1e-30
