import numpy as np
import pytest

from fepysr_dyn.expressions import compile_expression, equivalent, parse, same_structure
from fepysr_dyn.search.parametric import ParametricEngine
from fepysr_dyn.search.problem import RegressionProblem


def uniform(names, rows, low=0.1, high=3.0, seed=0):
    random = np.random.default_rng(seed)
    return {name: random.uniform(low, high, rows) for name in names}


def front_of(text, columns, noise=0.0, **options):
    truth = parse(text)
    target = compile_expression(truth, list(columns))(*columns.values())
    error = np.random.default_rng(9).normal(size=len(target))
    target = target + noise * np.sqrt(np.mean(target**2)) * error
    return truth, ParametricEngine().search(RegressionProblem(columns, target, **options))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # An inner constant, scanned.
        ("1.7*x**2.3/(1.9 + x**2.3) - 0.4*y", "xy"),
        ("2*log(x + 0.37) + y", "xy"),
        ("1.4*exp(-0.7*x)*y + 0.2", "xy"),
        # Two inner constants in a product.
        ("exp(-0.7*x)*sin(1.3*y)", "xy"),
        # A sigmoid of a linear combination beside linear terms.
        ("1/(1 + exp(-(1.7*s - 0.6*b + 0.25))) - 0.8*a", "abs"),
        # Outer functions of sums, and products of powers.
        ("log(x**3 + 1.4*x**2 + 1.3*x + 1.8)", "x"),
        ("sqrt(x**2 + 0.5*y + 2)", "xy"),
        ("2.7*x**y", "xy"),
        ("0.8*x**0.423*y**(-1.5)", "xy"),
        ("exp(-0.5*x**2)*cos(x*y)", "xy"),
    ],
)
def test_inner_constants_are_found(text, names):
    columns = uniform(names, 200)
    truth, front = front_of(text, columns)
    box = dict.fromkeys(columns, (0.1, 4.0))
    assert any(c.loss < 1e-18 and equivalent(c.expression, truth, box, rtol=1e-7) for c in front)


@pytest.mark.parametrize("error", [0.0, 1e-9])
def test_inner_constant_from_weakly_excited_data(error, weakly_excited):
    columns, slopes = weakly_excited
    random = np.random.default_rng(2)
    box = dict.fromkeys(columns, (0.0, 1.0))
    for name, truth in {
        "X1": "1/(1 + exp(-(S - X2 + 0.25))) - X1",
        "X2": "1/(1 + exp(-(0.5*X1 - 0.15))) - X2",
    }.items():
        target = slopes[name] + error * np.std(slopes[name]) * random.normal(size=len(slopes[name]))
        front = ParametricEngine().search(RegressionProblem(columns, target))
        assert any(equivalent(c.expression, parse(truth), box, rtol=1e-5) for c in front)


def test_structure_survives_noise():
    columns = uniform("xy", 400)
    truth, front = front_of("1.4*exp(-0.7*x)*y + 0.2", columns, noise=0.02)
    box = dict.fromkeys(columns, (0.1, 3.0))
    assert any(same_structure(c.expression, truth, box) for c in front)


def test_weak_form_scans_inner_constants():
    time = np.linspace(0, 10, 500)
    columns = {"x": 1.0 + np.sin(1.3 * time), "y": np.cos(0.4 * time)}
    centres = np.linspace(0.5, 9.5, 100)
    operator = np.exp(-((time[None, :] - centres[:, None]) ** 2) / 0.08)
    values = 2.0 * np.exp(-1.7 * columns["x"]) + columns["y"]
    problem = RegressionProblem(columns, operator @ values, measurement=operator)
    front = ParametricEngine().search(problem)
    assert any(equivalent(c.expression, parse("2*exp(-1.7*x) + y"), rtol=1e-6) for c in front)
