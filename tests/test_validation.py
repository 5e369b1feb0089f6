"""Replaying recorded experiments and scoring what comes out."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
import sympy

import fepysr_dyn as fd
from fepysr_dyn.errors import DataError
from fepysr_dyn.integration import Outcome
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.replay import recorded_inputs, replay
from fepysr_dyn.stimulus import Ramps, Sine, Steps
from fepysr_dyn.trajectories import make_experiment
from fepysr_dyn.validation import data_box, structure_score, validate

RELAXATION = system_from_toml("""
[states.x]
initial = 0.0
rate = "u - k*x"
[inputs.u]
stimulus = { kind = "steps", times = [0, 1.03, 2.5], values = [1, -2, 0.5] }
[parameters]
k = 1.5
[protocol]
duration = 4
samples = 400
[[protocol.experiments]]
name = "steps"
[[protocol.experiments]]
name = "other start"
initial = { x = 2.0 }
""")


@pytest.mark.parametrize(
    "stimulus",
    [
        Steps((0.0, 1.03, 2.5), (1.0, -2.0, 0.5)),
        Ramps((0.0, 1.005, 3.0), (0.0, 2.0, -1.0)),
        Sine(1.0, 1.7),
    ],
)
def test_the_recorded_input_drives_the_system_as_the_original_did(stimulus):
    system = replace(RELAXATION, inputs={"u": stimulus})
    run = fd.simulate(system)[0]
    again = replay(system, run)
    # A sine is recorded at samples only and interpolated linearly between them.
    tolerance = 1e-4 if isinstance(stimulus, Sine) else 1e-10
    np.testing.assert_allclose(again.states[0], run["x"], atol=tolerance)


def test_steps_are_recognised_with_their_exact_times():
    run = fd.simulate(RELAXATION)[0]
    assert recorded_inputs(run) == {"u": Steps((0.0, 1.03, 2.5), (1.0, -2.0, 0.5))}


def test_the_true_system_validates_and_a_wrong_constant_does_not():
    runs = fd.simulate(RELAXATION)
    assert validate(RELAXATION, runs).worst_nrmse < 1e-7
    wrong = validate(RELAXATION.with_parameters(k=0.2), runs)
    assert not wrong.reproduced
    assert wrong.runs[0].diverged_at is not None


def test_r2_is_the_coefficient_of_determination():
    runs = fd.simulate(RELAXATION)
    score = validate(RELAXATION.with_parameters(k=1.2), runs).runs[0]
    data, model = runs[0]["x"].to_numpy(), score.simulated["x"].to_numpy()
    expected = 1 - np.sum((data - model) ** 2) / np.sum((data - data.mean()) ** 2)
    assert score.r2["x"] == pytest.approx(expected, rel=1e-12)


def test_a_blow_up_is_scored_and_does_not_raise():
    runs = fd.simulate(RELAXATION)
    exploding = replace(RELAXATION, rates={"x": sympy.Symbol("x") ** 2 + 3})
    score = validate(exploding, runs).runs[0]
    assert score.outcome is Outcome.BLOW_UP
    assert score.worst_r2 == -np.inf
    assert score.diverged_at < 1.5


def test_missing_values_are_left_out_of_the_scores():
    runs = fd.simulate(RELAXATION)
    run = runs[0].copy(deep=True)
    run["x"][10:200] = np.nan
    holes = type(runs)((run,))
    assert validate(RELAXATION, holes).worst_nrmse < 1e-7


def test_chaos_is_compared_over_one_lyapunov_time_only():
    lorenz = fd.load_model("lorenz")
    runs = fd.simulate(lorenz)
    nearly = lorenz.with_parameters(rho=lorenz.parameters["rho"] * (1 + 1e-6))
    score = validate(nearly, runs).runs[0]
    assert score.horizon is not None
    lyapunov_time = score.horizon - float(runs[0]["time"][0])
    assert score.lyapunov_time == lyapunov_time
    assert 0.5 < lyapunov_time < 2.5  # the textbook exponent 0.906 gives 1.1
    assert score.reproduced


def test_an_oscillator_is_not_taken_for_chaos():
    oscillator = fd.load_model("van_der_pol")
    assert validate(oscillator, fd.simulate(oscillator)).runs[0].horizon is None


def test_data_without_a_state_of_the_system_is_refused_with_a_suggestion():
    run = make_experiment([0.0, 1.0], states={"xx": np.ones(2)}, inputs={"u": np.ones(2)})
    with pytest.raises(DataError, match="no state 'x'"):
        replay(RELAXATION, run)


class TestStructure:
    x, y = sympy.symbols("x y")
    box = MappingProxyType({"x": (0.1, 3.0), "y": (0.1, 3.0)})

    def test_equal_forms_are_recovered(self):
        score = structure_score(self.x / (1 + self.x), 1 - 1 / (1 + self.x), self.box)
        assert score.recovered
        assert score.precision == score.recall == 1.0

    def test_other_constants_are_the_same_structure(self):
        score = structure_score(1.02 * self.x - 0.49 * self.y, 1.0 * self.x - 0.5 * self.y, self.box)
        assert not score.recovered
        assert score.same_structure
        assert (score.precision, score.recall) == (1.0, 1.0)

    def test_errors_of_constants_are_relative_and_need_the_same_structure(self):
        found = 1.02 * self.x / (0.5 + self.y)
        score = structure_score(found, 1.0 * self.x / (0.52 + self.y), self.box)
        assert score.constants_error == pytest.approx(0.02 / 0.52, rel=1e-3)
        assert structure_score(2.0 * self.x, 2.0 * self.x, self.box).constants_error == pytest.approx(0)
        assert structure_score(self.x, self.x, self.box).constants_error == 0
        assert structure_score(2.0 * self.x, self.y**2, self.box).constants_error is None

    def test_an_extra_and_a_missing_term_count(self):
        score = structure_score(1.5 * self.x + 0.1 * self.y**2, 1.5 * self.x + 2.0 * self.y, self.box)
        assert not score.same_structure
        assert (score.precision, score.recall) == (0.5, 0.5)

    def test_the_box_is_wider_than_the_data_but_keeps_the_sign(self):
        box = data_box(fd.simulate(RELAXATION))
        assert box["u"][0] < -2
        assert box["u"][1] > 1
        positive = make_experiment([0.0, 1.0], states={"x": np.array([0.0, 4.0])})
        assert data_box(type(fd.simulate(RELAXATION))((positive,)))["x"] == (0.0, 8.0)
