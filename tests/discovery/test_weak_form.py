"""The weak form beside derivatives: when it is tried, and what its problem is."""

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.discovery.forms import POINTWISE, WEAK, forms_for
from fepysr_dyn.discovery.problems import unknown_part, weak_problem
from fepysr_dyn.expressions import compile_expression


@pytest.fixture(scope="module")
def noisy(system):
    return fd.simulate(system, noise=0.02, seed=2)


def test_it_is_tried_where_there_is_noise_and_room(runs, noisy, quick):
    assert forms_for("x", runs, fd.estimate_derivatives(runs), quick) == (POINTWISE,)
    assert forms_for("x", noisy, fd.estimate_derivatives(noisy), quick) == (POINTWISE, WEAK)
    few = fd.read_trajectories({"time": np.arange(7.0), "x": np.array([1.0, 2, 1, 3, 2, 4, 3])})
    assert forms_for("x", few, fd.estimate_derivatives(few), quick) == (POINTWISE,)


@pytest.mark.parametrize("state", ["x", "y"])
def test_the_true_rate_solves_its_problem(system, noisy, quick, state):
    problem = weak_problem(state, noisy, fd.estimate_derivatives(noisy), quick, seed=0)
    rate = compile_expression(system.rates[state], problem.names)(*problem.columns.values())
    assert problem.loss(rate) < 0.01
    assert problem.loss(1.3 * rate) > 0.05


def test_what_is_known_is_taken_away(system, noisy, quick):
    problem = weak_problem("x", noisy, fd.estimate_derivatives(noisy), quick, seed=0)
    rest = unknown_part(problem, fd.EquationPrior(known="0.1*u", columns=("x", "y")))
    assert rest.names == ("x", "y")
    columns = problem.columns
    rate = 0.7 * columns["x"] - 0.5 * columns["x"] * columns["y"]
    assert rest.loss(rate) < 0.01


def test_the_result_says_which_form_was_kept(noisy, system, quick):
    found = fd.discover(noisy, config=quick, truth=system)
    assert set(found.forms) == {"x", "y"}
    assert set(found.forms.values()) <= {POINTWISE, WEAK}
    assert found.validation.worst_r2 > 0.9
