"""Systems survive SBML and Antimony: the same rates, inputs, values and simulations."""

from dataclasses import replace

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.exchange.antimony_writing import RESERVED, antimony_names
from fepysr_dyn.expressions import equivalent, is_name, parse
from fepysr_dyn.stimulus import Constant, Ramps, Sampled, Sine, Steps
from fepysr_dyn.system import COLUMN_NAMES, OdeSystem

pytest.importorskip("libsbml")
pytest.importorskip("antimony")

FEW = ("tyson_two_protein", "duffing", "fitzhugh_nagumo", "jak_stat", "mapk_cascade", "toggle_switch")
BOX = (0.1, 2.0)
TIMES = np.linspace(0.0, 30.0, 301)


def assert_equal(again, system, *, renamed=None):
    """Compare everything that a format keeps; antimony appends _ to its own words."""
    names = {name: name for name in system.symbols} | (renamed or {})
    assert set(again.states) == {names[state] for state in system.states}
    assert again.initial == pytest.approx({names[n]: v for n, v in system.initial.items()}, rel=1e-12)
    assert again.parameters == pytest.approx({names[n]: v for n, v in system.parameters.items()}, rel=1e-12)
    plain = {names[name]: parse(name) for name in names}
    rates = again.explicit_rates(numbers=False)
    for state, rate in system.explicit_rates(numbers=False).items():
        found = rates[names[state]].xreplace({parse(new): old for new, old in plain.items()})
        assert equivalent(found, rate, dict.fromkeys(system.symbols, BOX), rtol=1e-10)
    assert set(again.inputs) == {names[name] for name in system.inputs}
    for name, stimulus in system.inputs.items():
        other = again.inputs[names[name]]
        assert type(other) is type(stimulus)
        np.testing.assert_allclose(other(TIMES), stimulus(TIMES), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", fd.model_names())
def test_sbml_and_back(name):
    system = fd.load_model(name)
    again = fd.from_sbml(fd.to_sbml(system))
    assert_equal(again, system)
    assert again.name == system.name
    assert again.title == system.title
    assert again.units == system.units
    assert again.protocol.duration == system.protocol.duration
    assert again.protocol.samples == system.protocol.samples


@pytest.mark.parametrize("name", FEW)
def test_antimony_and_back(name):
    system = fd.load_model(name)
    assert_equal(fd.from_antimony(fd.to_antimony(system)), system, renamed=antimony_names(system.symbols))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(fd.model_names()) - set(FEW)))
def test_every_model_to_antimony_and_back(name):
    system = fd.load_model(name)
    assert_equal(fd.from_antimony(fd.to_antimony(system)), system, renamed=antimony_names(system.symbols))


@pytest.mark.parametrize(
    "read_back", [lambda s: fd.from_sbml(fd.to_sbml(s)), lambda s: fd.from_antimony(fd.to_antimony(s))]
)
def test_what_comes_back_simulates_alike(read_back):
    system = fd.load_model("tyson_two_protein")
    again = read_back(system)
    again = replace(again, protocol=replace(system.protocol, experiments=again.protocol.experiments))
    first, second = fd.simulate(system)[0], fd.simulate(again)[0]
    for state in system.states:
        np.testing.assert_allclose(second[state], first[state], rtol=1e-8)


STIMULI = {
    "constant": Constant(0.7),
    "steps": Steps((0.0, 2.0, 7.5), (0.1, 1e-7, 3.0)),
    "steps from before": Steps((-3.0, 2.0), (0.1, 2.0)),
    "ramps": Ramps((1.0, 4.0, 9.0), (0.5, 2.0, -1.0)),
    "sampled": Sampled((0.0, 1.0, 2.0, 3.0, 4.0), (0.0, 1.0, 0.5, 3.0, 2.0), jumps=(3.0,)),
    "sine": Sine(0.5, 3.0, 1.0, 0.25),
}


@pytest.mark.parametrize("kind", STIMULI)
@pytest.mark.parametrize("language", ["sbml", "antimony"])
def test_every_kind_of_stimulus_comes_back(kind, language):
    system = OdeSystem("driven", {"x": parse("u - x")}, {"x": 0.5}, {"u": STIMULI[kind]})
    if language == "sbml":
        again = fd.from_sbml(fd.to_sbml(system))
    else:
        again = fd.from_antimony(fd.to_antimony(system))
    assert_equal(again, system)


def test_words_of_antimony_can_be_names():
    words = sorted(word for word in RESERVED if is_name(word) and word not in COLUMN_NAMES)
    states, parameters = words[::2], words[1::2]
    system = OdeSystem(
        "model",
        {state: parse(f"-{state}*{parameter}") for state, parameter in zip(states, parameters, strict=False)},
        dict.fromkeys(states, 1.0),
        parameters={name: 0.5 + index for index, name in enumerate(parameters)},
    )
    assert_equal(fd.from_antimony(fd.to_antimony(system)), system, renamed=antimony_names(system.symbols))


def test_formulas_with_every_operator_come_back():
    text = (
        "Piecewise((exp(-x/2)*log(x + 3)**2, (x < 1) & (y >= 0.5)), (sin(x)*cos(y) - tan(x/4), x > 1.5),"
        " (sinh(x) + cosh(y)*tanh(x - y), True)) + atan(x)**0.5/(1 + abs(y - 2)) - sqrt(x*y)*pi"
    )
    system = OdeSystem("rich", {"x": parse(text), "y": parse("-(-x)**3 - y**(-2)")}, {"x": 1.0, "y": 1.0})
    assert_equal(fd.from_sbml(fd.to_sbml(system)), system)
    assert_equal(fd.from_antimony(fd.to_antimony(system)), system)
