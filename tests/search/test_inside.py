"""What is outside of an inner expression becomes a problem of one column."""

import numpy as np
import pytest

from fepysr_dyn.expressions import compile_expression, equivalent, parse
from fepysr_dyn.search.front import ParetoFront, evaluate_candidate
from fepysr_dyn.search.inside import inner_rests
from fepysr_dyn.search.parametric import ParametricEngine
from fepysr_dyn.search.problem import Budget, RegressionProblem


def problem_of(text, rows=120):
    x, y, z = np.random.default_rng(3).normal(size=(3, rows))
    columns = {"x": x, "y": y, "z": z}
    target = compile_expression(parse(text), tuple(columns))(*columns.values())
    return RegressionProblem(columns, target, budget=Budget(20_000))


@pytest.mark.parametrize(
    ("truth", "found"),
    [
        ("log(abs(sin(x*y)) + 1)", "0.02 + 0.95*abs(sin(x*y)) - 0.27*abs(sin(x*y))**2"),
        ("sin(x*z) + sqrt(abs(x*y) + 1)", "1.004*sin(x*z) + 1.01 + 0.4*abs(x*y) - 0.03*abs(x*y)**2"),
        ("log(x**2 + y**2)/(2 + sin(x*y)**2)", "log(x**2 + y**2)*(0.5 - 0.2*abs(x*y) + 0.03*sin(x*y)**2)"),
        ("(x**2 - z)/(abs(y*z) + 1)", "(x**2 - z)*(0.97 - 0.6*abs(y*z) + 0.1*abs(y*z)**2)"),
    ],
)
def test_a_series_in_the_right_inner_expression_leads_to_the_truth(truth, found):
    problem = problem_of(truth)
    front = ParetoFront.of([evaluate_candidate(parse(found), problem, "example")])
    box = dict.fromkeys("xyz", (-2.0, 2.0))
    for rest in list(inner_rests(front, problem))[:4]:
        assert len(rest.problem.names) == 1
        for candidate in ParametricEngine().search(rest.problem):
            if equivalent(rest.wrap(candidate.expression), parse(truth), box, rtol=1e-7):
                return
    pytest.fail("no rest leads to the truth")


def test_what_does_not_depend_on_the_inner_expression_alone_is_left_out():
    problem = problem_of("sin(x*y) + z**3")
    front = ParetoFront.of([evaluate_candidate(parse("x*y - 0.1*(x*y)**3"), problem, "example")])
    assert list(inner_rests(front, problem)) == []


def test_a_column_called_inner_is_no_obstacle():
    u = np.random.default_rng(0).normal(size=60)
    problem = RegressionProblem({"inner": u, "x": u**3}, np.log(1 + u**2))
    front = ParetoFront.of([evaluate_candidate(parse("0.9*inner**2 - 0.1*inner**4"), problem, "example")])
    assert all(rest.problem.names == ("inner_",) for rest in inner_rests(front, problem))
