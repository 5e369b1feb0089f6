"""Which forms a state is searched in: noise is that of the data, not one state's beside its slopes."""

import pytest

import fepysr_dyn as fd
from fepysr_dyn.discovery.config import DiscoveryConfig
from fepysr_dyn.discovery.forms import FORMS, POINTWISE, forms_for
from fepysr_dyn.model_files import system_from_toml

#: `fast` jumps once at the beginning and is slow from then on.
JUMPING = system_from_toml("""
[states.fast]
initial = 2.0
rate = "-1000.0*(fast - 0.001*x)"
[states.x]
initial = 1.0
rate = "0.7*x - 0.5*x*y"
[states.y]
initial = 0.6
rate = "0.4*x*y - 0.8*y"
[protocol]
duration = 30
samples = 600
""")


def forms_of(state, noise, seed=0):
    runs = fd.simulate(JUMPING, noise=noise, seed=seed)
    return forms_for(state, runs, fd.estimate_derivatives(runs), DiscoveryConfig())


@pytest.mark.parametrize("seed", range(3))
def test_all_states_of_noisy_data_are_searched_in_all_forms(seed):
    for state in JUMPING.states:
        assert set(forms_of(state, 0.01, seed)) == set(FORMS)


def test_without_noise_derivatives_are_enough():
    assert forms_of("x", 0.0) == (POINTWISE,)
    assert forms_of("y", 0.0) == (POINTWISE,)
