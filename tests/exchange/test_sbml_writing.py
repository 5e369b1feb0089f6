"""Exported SBML is valid to libsbml, and libroadrunner simulates it as we do."""

from dataclasses import replace

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.errors import ModelError
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.stimulus import Sampled


def errors_of(text):
    libsbml = pytest.importorskip("libsbml")
    document = libsbml.readSBMLFromString(text)
    document.checkConsistency()
    found = [document.getError(i) for i in range(document.getNumErrors())]
    return [error.getMessage() for error in found if error.getSeverity() >= libsbml.LIBSBML_SEV_ERROR]


def assert_same(system, plans, peer, deviation):
    runs = fd.simulate(replace(system, protocol=replace(system.protocol, experiments=tuple(plans))))
    for plan, run in zip(plans, runs, strict=True):
        text = fd.to_sbml(system, plan.name)
        assert errors_of(text) == []
        table = peer(text, run["time"].values, system.states)
        assert deviation(run, table, system.states) < 1e-6


@pytest.mark.parametrize("name", fd.model_names())
def test_every_model_is_valid_and_simulated_alike(name, peer, deviation):
    system = fd.load_model(name)
    assert_same(system, system.protocol.experiments[:1], peer, deviation)


@pytest.mark.slow
@pytest.mark.parametrize("name", fd.model_names())
def test_every_experiment_of_every_model_is_simulated_alike(name, peer, deviation):
    system = fd.load_model(name)
    assert_same(system, system.protocol.experiments, peer, deviation)


def test_inputs_that_ramp_are_simulated_alike(peer, deviation):
    system = fd.load_model("goldbeter_koshland")
    plans = [plan for plan in system.protocol.experiments if plan.name == "ramp"]
    assert_same(system, plans, peer, deviation)


def test_a_sampled_input_with_a_jump_is_simulated_alike(peer, deviation):
    system = fd.load_model("michaelis_menten")
    drive = Sampled((0.0, 2.0, 5.0, 9.0), (0.2, 0.9, 0.3, 0.5), jumps=(5.0,))
    system = replace(system, inputs={"j": drive})
    plan = replace(system.protocol.experiments[0], inputs={})
    system = replace(system, protocol=replace(system.protocol, experiments=(plan,)))
    assert_same(system, [plan], peer, deviation)


def test_all_digits_are_kept():
    system = fd.load_model("lorenz").with_parameters(beta=8 / 3)
    assert repr(8 / 3) in fd.to_sbml(system)


def test_functions_that_sbml_lacks_are_written_as_branches(peer, deviation):
    system = system_from_toml("""
[states.x]
initial = 1.0
rate = "Max(x, 0.5) - Min(x, y, 0.3)*y - abs(x)"
[states.y]
initial = 0.5
rate = "sign(y - 1.5) + tanh(x)**0.5 - atan(y)/2 + Piecewise((1, (x < 2) & (y > 0)), (x, True))"
[protocol]
duration = 1
samples = 50
""")
    assert_same(system, system.protocol.experiments, peer, deviation)


def test_a_series_of_too_many_samples_is_refused():
    system = fd.load_model("michaelis_menten")
    times = np.arange(3000.0)
    drive = Sampled(tuple(times), tuple(np.sin(times)))
    with pytest.raises(ModelError, match="input 'j': expected at most 2000 pieces"):
        fd.to_sbml(replace(system, inputs={"j": drive}))


def test_an_unknown_experiment_is_refused():
    with pytest.raises(ModelError, match="no experiment 'rmap'; did you mean 'ramp'"):
        fd.to_sbml(fd.load_model("goldbeter_koshland"), "rmap")
