import numpy as np
import pytest
from scipy.special import erf, j0, y1

from fepysr_dyn.benchmarks.problems import load_problems
from fepysr_dyn.errors import OptionError
from fepysr_dyn.expressions import equivalent, parse


def test_counts_and_unique_ids():
    problems = load_problems("all")
    assert len(problems) == 132
    assert len({problem.id for problem in problems}) == 132


@pytest.mark.parametrize("problem", load_problems("all"), ids=lambda p: p.id)
def test_every_sample_is_finite_and_belongs_to_its_seed(problem):
    columns, target = problem.sample(3)
    again, same = problem.sample(3)
    assert list(columns) == list(problem.variables)
    assert target.shape == (problem.sampling["n"],)
    assert np.all(np.isfinite(target))
    np.testing.assert_array_equal(target, same)
    if problem.sampling["kind"] != "even":
        assert not np.array_equal(again[problem.variables[0]], problem.sample(4)[0][problem.variables[0]])
    for name, (low, high) in problem.box.items():
        spread = columns[name].max() - columns[name].min()
        assert high - low > spread


def test_special_functions_are_evaluated():
    (problem,) = load_problems("Unrecover-32")
    columns, target = problem.sample(0)
    x, y = columns["x"], columns["y"]
    r2 = x**2 + y**2
    np.testing.assert_allclose(target, j0(np.sqrt(x**4 + y**4)) + y1(r2 + 1) * np.exp(-r2 / 100))
    assert not problem.expressible
    (problem,) = load_problems("Unrecover-33")
    columns, target = problem.sample(0)
    x, y = columns["x"], columns["y"]
    expected = erf(np.sin(x) - np.cos(y)) * np.exp(-((x - y) ** 2) / 10) + 2 * x * y / (x**2 + y**2 + 0.1)
    np.testing.assert_allclose(target, expected)


def test_half_defined_equations_say_how_they_are_sampled():
    for name in ("Livermore-4", "Livermore-13", "Livermore-15", "Livermore-16"):
        (problem,) = load_problems(name)
        assert "origin" in problem.note
        assert problem.sampling["low"] == 0


def test_truth_is_equivalent_to_itself_on_its_box():
    for problem in load_problems("standard") + load_problems("recover"):
        assert equivalent(problem.expression, problem.expression + parse("0.0"), problem.box), problem.id


def test_unknown_suite_is_suggested():
    with pytest.raises(OptionError, match="did you mean 'recover'"):
        load_problems("recver")
