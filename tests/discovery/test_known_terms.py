"""What is known of an equation stays in it when plainer equations are tried."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from fepysr_dyn.discovery.assembly import choose_system
from fepysr_dyn.expressions import parse
from fepysr_dyn.measured_system import measured_system
from fepysr_dyn.search.front import Candidate
from fepysr_dyn.search.problem import Runtime
from fepysr_dyn.trajectories import Trajectories, make_experiment


@pytest.mark.parametrize(("as_found", "stays"), [((), False), (("x",), True)])
def test_a_term_that_does_nearly_nothing_goes_unless_it_is_known(as_found, stays):
    times = np.linspace(0.0, 5.0, 200)
    noise = 0.002 * np.random.default_rng(0).normal(size=200)
    runs = Trajectories((make_experiment(times, {"x": np.exp(-0.7 * times) + noise}, {}, name="run"),))
    rate = parse("-0.7*x + 0.000013*x**3")
    candidate = Candidate(rate, 9, 1e-4, "test")
    choice = SimpleNamespace(exact=False, candidate=candidate, unsnapped=candidate, alternatives=())
    search = SimpleNamespace(front=[candidate], choice=choice)
    chosen = choose_system(
        measured_system("test", {"x": rate}, runs),
        {"x": [search]},
        runs,
        list(runs),
        Runtime(deadline=time.monotonic() + 60.0),
        as_found=as_found,
    )
    assert (parse("x**3") in chosen.system.rates["x"].atoms(type(parse("x**3")))) is stays
