"""A law that is near the truth tells how much each row says, and so leads to the true one."""

import numpy as np
import pytest
import sympy

from fepysr_dyn.discovery import DiscoveryConfig, EquationPrior
from fepysr_dyn.discovery.states import search_again
from fepysr_dyn.expressions import parse, same_structure
from fepysr_dyn.search.problem import Budget, RegressionProblem, Runtime

LAW = parse("0.85*e*s/(0.012 + s) - 0.6*e")
#: It lacks a factor, and its half-saturation is off.
NEAR = parse("0.2*e - 0.012/(0.015 + s)")
BOX = {"s": (0.0, 2.0), "e": (0.0, 2.0)}


def steep_problem(seed):
    """Most rows lie where the law is steep, and `s` is known with a third of the half-saturation there."""
    random = np.random.default_rng(seed)
    steep = random.random(500) < 0.6
    s = np.where(steep, random.uniform(0.005, 0.06, 500), random.uniform(0.06, 2.0, 500))
    e = random.uniform(0.8, 1.4, 500)
    error, noise = 0.004, 0.005
    rate = sympy.lambdify(["s", "e"], LAW)(s, e)
    return RegressionProblem(
        {"s": np.maximum(s + error * random.normal(size=500), 1e-4), "e": e},
        rate + noise * random.normal(size=500),
        noise=noise,
        column_errors={"s": np.full(500, error)},
        max_complexity=20,
        budget=Budget(seconds=60.0),
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_true_law_is_found_from_one_near_it(seed):
    found = search_again("e", steep_problem(seed), NEAR, DiscoveryConfig(), Runtime())
    assert same_structure(found.choice.candidate.expression, LAW, BOX)


def test_what_is_known_of_the_equation_stays():
    known = "-0.6*e"
    config = DiscoveryConfig(priors={"e": EquationPrior(known=known)})
    found = search_again("e", steep_problem(0), NEAR, config, Runtime())
    rest = found.choice.candidate.expression - parse(known)
    assert same_structure(rest, parse("0.85*e*s/(0.012 + s)"), BOX)
