import numpy as np
import pytest
import sympy

from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.benchmarks.recovery import fit_unit, judged_again, noisy_target, recovered
from fepysr_dyn.benchmarks.units import Unit
from fepysr_dyn.expressions import compile_expression, equivalent, parse


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Nguyen-1", "x*(x**2 + x + 1)", True),
        ("Nguyen-1", "x**3 + x**2 + 0.999*x", False),
        ("Nguyen-5", "sin(x**2)*cos(x) - 1.0000000001", True),
        ("Nguyen-5", "sin(x**2)*cos(x) - 1.00000001", False),
        ("Livermore-7", "0.5*exp(x) - 0.5*exp(-x)", True),
        ("Livermore-7", "x + x**3/6 + x**5/120", False),
        ("Nguyen-8", "exp(log(x)/2)", True),
        ("Nguyen-8''", "x**(2/3)", True),
        ("Recover-16", "1/(1 + exp(y - x - 1)) - x", True),
        ("Unrecover-32", "x", False),
        ("tyson-X1", "1/(1 + 0.7788007830714049*exp(X2 - S)) - X1", True),
        ("tyson-X1", "0.249*S - X1 - 0.249*X2 + 0.562", False),
    ],
)
def test_recovery_is_equality_on_a_wider_box(name, text, expected):
    (problem,) = load_problems(name)
    assert recovered(parse(text), problem) is expected


SERIES = (
    "6.371223852817092e-05*X1**5 - 9.464643347379625e-05*X1**4 - 0.002548204683903883*X1**3 "
    "+ 0.002327333674286615*X1**2 + 0.1242992530772345*X1 - X2 + 0.46257017750187646"
)


def test_a_series_that_follows_the_trajectory_is_not_the_truth():
    """To 1e-15 along the data, to nine digits on a box twice as wide, and still another function."""
    (problem,) = load_problems("tyson-X2")
    columns, target = problem.sample(0)
    found = parse(SERIES)
    values = compile_expression(found, problem.variables)(*(columns[name] for name in problem.variables))
    assert np.max(np.abs(values - target)) < 1e-13
    assert equivalent(found, problem.expression, problem.box, rtol=1e-9)
    assert not recovered(found, problem)
    line = {"problem": "tyson-X2", "seed": 0, "noise": 0.0, "recovered": True, "expression": SERIES}
    assert not judged_again(line)["recovered"]
    assert judged_again({**line, "expression": "1/(1 + exp(0.15 - 0.5*X1)) - X2"})["recovered"]
    # Constants that a fit leaves wrong in their last digits are no other function.
    assert recovered(parse("1/(1 + exp(0.15000000002 - 0.50000000003*X1)) - X2"), problem)


def test_with_noise_the_structure_counts():
    (problem,) = load_problems("Recover-7")
    assert recovered(parse("1.97*x**4 + 2.03*y**4 - 6.1*x**2*y**2"), problem, noisy=True)
    assert recovered(parse("2*x**4 + 2*y**4 - 25*x**2*y**2/4"), problem, noisy=True)
    assert not recovered(parse("1.97*x**4 + 2.03*y**4 - 6.1*x**2*y**2 + 0.1*x"), problem, noisy=True)
    assert not recovered(parse("1.97*x**4 - 6.1*x**2*y**2"), problem, noisy=True)
    assert not recovered(parse("1.97*x**4 + 2.03*y**4 - 6.1*x**2*y**2"), problem, noisy=False)


def test_the_paper_s_own_lines_are_not_recovered():
    """A straight line fits the Tyson data to 1e-10 and is still wrong."""
    (problem,) = load_problems("tyson-X1")
    columns, target = problem.sample(0)
    design = np.column_stack([*columns.values(), np.ones(len(target))])
    best = np.linalg.lstsq(design, target)[0]
    names = [sympy.Symbol(name) for name in columns]
    line = sum(float(c) * name for c, name in zip(best, names, strict=False)) + float(best[-1])
    assert np.mean((design @ best - target) ** 2) < 1e-8
    assert not recovered(line, problem)


def test_one_real_fit():
    setting = {"engine": "sparse", "features": False, "noise": 0.0, "cap": 20.0, "threads": 1}
    line = fit_unit(Unit("standard", "Nguyen-1", 0, setting))
    assert line["recovered"]
    assert line["expression"] == "x**3 + x**2 + x"
    assert line["mse"] < 1e-20


def test_a_fit_with_features_tells_the_metrics_of_stage_one():
    setting = {"engine": "sparse", "features": True, "noise": 0.0, "cap": 20.0, "top": 5}
    line = fit_unit(Unit("features", "Nguyen-9", 1, setting))
    assert line["features_used"] == 5
    assert 0 <= line["valid_used"] <= 5
    assert len(line["valid_features"]) == line["valid"] <= 10
    seconds, losses = zip(*line["curve"], strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(losses) == sorted(losses, reverse=True)


def test_noise_has_the_size_asked_for():
    clean = np.full(20_000, 3.0)
    noisy = noisy_target(clean, 0.1, seed=1)
    assert np.std(noisy - clean) == pytest.approx(0.3, rel=0.03)
    np.testing.assert_array_equal(noisy, noisy_target(clean, 0.1, seed=1))
    assert noisy_target(clean, 0.0, seed=1) is clean
