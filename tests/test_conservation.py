"""What the data keep constant is found, and the equations are asked for it."""

from dataclasses import replace

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.conservation import conserved_quantities, constant_combinations
from fepysr_dyn.trajectories import make_experiment

T = np.linspace(0.0, 10.0, 400)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("sir", {"S": 1.0, "I": 1.0, "R": 1.0}),
        ("seir", {"S": 1.0, "E": 1.0, "I": 1.0, "R": 1.0}),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_population_is_conserved(model, expected, noise):
    system = fd.load_model(model)
    for seed in range(3):
        (found,) = conserved_quantities(system, fd.simulate(system, noise=noise, seed=seed))
        assert dict(found.coefficients) == expected
        assert found.kept


def test_equations_that_lose_something_are_told_how_much():
    system = fd.load_model("sir")
    leaking = replace(system, rates={**system.rates, "R": 0.9 * system.rates["R"]})
    (found,) = conserved_quantities(leaking, fd.simulate(system))
    assert not found.kept
    assert 0.001 < found.drift < 0.1
    assert "the equations change it" in str(found)


@pytest.mark.parametrize("model", ["lotka_volterra", "lorenz", "tyson_two_protein", "yeast_glycolysis"])
def test_nothing_is_found_where_nothing_is_conserved(model):
    system = fd.load_model(model)
    for noise in (0.0, 0.01):
        assert conserved_quantities(system, fd.simulate(system, noise=noise, seed=1)) == ()


def test_two_laws_and_other_totals_in_other_experiments():
    def run(scale, name):
        a, e = np.exp(-T), np.sin(T)
        states = {"a": scale * a, "b": scale - scale * a, "e": e, "f": 3 * scale - 2 * e, "g": np.cos(3 * T)}
        return make_experiment(T, states=states, name=name)

    runs = fd.Trajectories((run(1.0, "one"), run(2.5, "two")))
    found = [coefficients for coefficients, _ in constant_combinations(runs, runs.states)]
    assert found == [{"a": 1.0, "b": 1.0}, {"e": 1.0, "f": 0.5}]


def test_states_that_rest_and_series_that_are_short_say_nothing():
    run = make_experiment(T, states={"a": np.exp(-T), "b": np.ones_like(T), "c": np.zeros_like(T)})
    assert constant_combinations(fd.Trajectories((run,)), ["a", "b", "c"]) == []
    short = make_experiment(T[:5], states={"a": T[:5], "b": -T[:5]})
    assert constant_combinations(fd.Trajectories((short,)), ["a", "b"]) == []


def test_validation_reports_them():
    system = fd.load_model("sir")
    scores = fd.validate(system, fd.simulate(system))
    assert any("I + R + S is constant in the data" in note for note in scores.notes)
    (entry,) = scores.to_dict()["conserved"]
    assert entry["kept"] is True
    assert entry["expression"] == "I + R + S"
    assert fd.validate(system, fd.simulate(system), conservation=False).conserved == ()
