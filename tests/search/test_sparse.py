import numpy as np
import pytest

from fepysr_dyn.expressions import equivalent, parse, same_structure
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.sparse import SparseEngine


def normal(names, rows, seed=0):
    random = np.random.default_rng(seed)
    return {name: random.normal(size=rows) for name in names}


def target_of(text, columns):
    from fepysr_dyn.expressions import compile_expression

    expression = parse(text)
    return expression, compile_expression(expression, list(columns))(*columns.values())


def solves(text, columns, **options):
    truth, target = target_of(text, columns)
    front = SparseEngine().search(RegressionProblem(columns, target, **options))
    return any(c.loss < 1e-20 and equivalent(c.expression, truth, rtol=1e-8) for c in front)


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        # Powers of one normal variable are strongly correlated.
        ("x**7 + 2*x**5 + 0.3*x**4 + x**2 - x", "x", 300),
        ("3*a**4*b - c**3*d + a*b*c*d - 0.7*d**2 + c", "abcd", 400),
        ("x**3 - x + 0.4*y**2*cos(x) + sin(y**2)", "xy", 300),
        # More columns than rows: only forward steps are left.
        ("sin(x**2)*cos(x) - 1.5", "x", 20),
        # Products of nested functions, far too many to be formed.
        ("exp(sin(x))*y**3 + cos(exp(z))", "xyz", 400),
        ("sin(x + exp(-y**2)) - cos(y)", "xy", 200),
    ],
)
def test_exact_sums_are_found(text, names, rows):
    assert solves(text, normal(names, rows))


def test_rows_of_very_different_size_all_count():
    columns = normal("xy", 300)
    # Half of the rows are a thousandth of a thousandth of the largest.
    assert solves("exp(3*x) + 0.5*y**2 - sin(x)", columns)


def test_features_are_columns_of_the_library():
    columns = normal("xy", 300)
    feature = parse("tanh(0.3*x**2 - y)")
    operators = ("+", "-", "*", "tanh")
    assert solves("2*tanh(0.3*x**2 - y)*x + y**2", columns, features=(feature,), operators=operators)


def test_weak_form_is_solved_in_its_own_rows():
    random = np.random.default_rng(1)
    time = np.linspace(0, 10, 800)
    columns = {"x": np.sin(1.3 * time) + 0.2 * time, "y": np.cos(0.7 * time)}
    # Random smooth test functions: rows that integrate over a window.
    centres = random.uniform(0.5, 9.5, 120)
    operator = np.exp(-((time[None, :] - centres[:, None]) ** 2) / 0.08) * (time[1] - time[0])
    values = 1.5 * columns["x"] * columns["y"] - 0.4 * np.sin(columns["x"])
    problem = RegressionProblem(columns, operator @ values, measurement=operator)
    front = SparseEngine().search(problem)
    truth = parse("1.5*x*y - 0.4*sin(x)")
    assert any(equivalent(c.expression, truth, rtol=1e-6) for c in front)


def test_without_multiplication_there_are_only_functions():
    columns = normal("x", 100)
    front = SparseEngine().search(RegressionProblem(columns, np.sin(columns["x"]), operators=("+", "sin")))
    assert front.best.expression == parse("sin(x)")


@pytest.mark.parametrize("alpha", [0.02, pytest.param(0.1, marks=pytest.mark.slow)])
def test_true_structure_is_on_the_front_under_noise(alpha):
    found = 0
    for seed in range(2):
        columns = normal("xy", 500, seed)
        truth, target = target_of("x**3 - 2*x*y + 1.5*sin(y) + 0.8", columns)
        noise = alpha * np.sqrt(np.mean(target**2)) * np.random.default_rng(100 + seed).normal(size=500)
        problem = RegressionProblem(columns, target + noise, operators=("+", "-", "*", "sin", "exp"))
        front = SparseEngine().search(problem)
        found += any(same_structure(c.expression, truth) for c in front)
    assert found == 2
