"""Confidence: an equation that contradicts the derivatives has none, however often it wins."""

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.discovery.confidence import share_explained, share_followed, unrefuted
from fepysr_dyn.discovery.problems import trusted_rows
from fepysr_dyn.expressions import equivalent, parse
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.refinement import Refinement
from fepysr_dyn.search.problem import RegressionProblem


@pytest.fixture
def problem():
    random = np.random.default_rng(0)
    x = random.uniform(0.1, 2.0, 300)
    error = 1e-6
    return RegressionProblem({"x": x}, x / (0.5 + x) + error * random.normal(size=300), noise=2 * error)


def test_the_law_is_not_refuted(problem):
    assert unrefuted(parse("x/(0.5 + x)"), problem) == 1.0


def test_a_series_that_misses_the_derivatives_is(problem):
    assert unrefuted(parse("0.1 + 0.9*x - 0.3*x**2"), problem) < 1e-3


def test_a_system_that_blows_up_in_one_of_two_experiments_is_half_followed():
    times = np.linspace(0, 5, 60)
    runs = fd.read_trajectories([{"time": times, "x": sign * np.exp(-times)} for sign in (1.0, -1.0)])
    # From below -1 this one runs away.
    system = system_from_toml('name = "s"\n[states.x]\ninitial = 1\nrate = "-x - x**2"')
    starts = (np.array([1.0]), np.array([-1.5]))
    assert share_followed(Refinement(system, (), starts), runs) == 0.5
    assert share_followed(Refinement(system, (), starts, lost=True), runs) < 0.5


@pytest.mark.parametrize(
    ("residual", "least", "most"), [(1.1e-4, 1.0, 1.0), (9e-4, 0.4, 0.6), (1.0, 0.0, 0.02)]
)
def test_a_system_that_misses_the_samples_is_doubted(residual, least, most):
    times, random = np.linspace(0, 5, 400), np.random.default_rng(0)
    smooth = fd.read_trajectories([{"time": times, "x": np.exp(-times)}])
    runs = fd.read_trajectories([{"time": times, "x": np.exp(-times) + 0.01 * random.normal(size=400)}])
    system = system_from_toml('name = "s"\n[states.x]\ninitial = 1\nrate = "-x"')
    refined = Refinement(system, (), (np.array([1.0]),), residuals={"x": residual})
    assert least <= share_explained(refined, runs, list(smooth)) <= most


def test_without_a_stated_error_nothing_is_refuted(problem):
    plain = RegressionProblem(problem.columns, problem.target)
    assert unrefuted(parse("x"), plain) == 1.0


@pytest.mark.parametrize(
    ("errors", "kept"),
    [
        # A rest with better derivatives than the phases that tell the law: all are good by any standard.
        (np.r_[np.full(700, 1e-13), np.full(300, 1e-10)], 1000),
        # A phase too fast for the sampling is left out.
        (np.r_[np.full(900, 1e-6), np.full(100, 1e-2)], 900),
        # Enough rows are as good as exact, although most are not.
        (np.r_[np.full(400, 1e-10), np.full(600, 1e-4)], 400),
        # Too few are: the typical error decides.
        (np.r_[np.full(100, 1e-10), np.full(900, 1e-4)], 1000),
        # Under noise a rest is known better than the phases that tell the law, which stay.
        (np.r_[np.full(800, 5e-3), np.full(150, 0.2), np.full(50, 0.8)], 950),
    ],
)
def test_rows_that_are_trusted(errors, kept):
    assert trusted_rows(errors, np.ones(len(errors), dtype=bool), 1.0).sum() == kept


def test_an_exact_equation_is_not_doubted_because_of_another():
    system = system_from_toml("""
name = "one of two"
[states.x]
initial = 1.0
rate = "0.3*y - 0.5*x"
[states.y]
initial = 0.2
rate = "exp(-2*x)/(0.2 + y) - y"
[protocol]
duration = 12
samples = 150
""")
    config = fd.DiscoveryConfig(
        engine="sparse", features=False, operators=("+", "-", "*"), max_complexity=9, resamples=3
    )
    found = fd.discover(fd.simulate(system), config=config)
    # Its constants are those of its own fit: trajectories of a system with a wrong equation would move them.
    assert equivalent(found.system.rates["x"], parse("0.3*y - 0.5*x"), rtol=1e-9)
    assert found.confidence["x"] == 1.0
    assert found.confidence["y"] < 0.01
