"""A PEtab problem passes petab's own checks, and its model under each condition is the experiment."""

from dataclasses import replace

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.errors import DataError, ModelError
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.simulation import resampled
from fepysr_dyn.stimulus import Sine

petab = pytest.importorskip("petab.v1")


def problem_in(path):
    problem = petab.Problem.from_yaml(str(path))
    assert petab.lint_problem(problem) is False
    return problem


def assert_conditions_are_experiments(problem, folder, system, runs, peer, deviation):
    text = (folder / "model.xml").read_text(encoding="utf-8")
    for index, run in enumerate(runs, start=1):
        condition = problem.condition_df.loc[f"experiment_{index}"].drop("conditionName")
        values = {name: float(value) for name, value in condition.items()}
        starts = {state: values[f"initial_{state}"] for state in system.states}
        times = run["time"].values - float(run["time"][0])
        table = peer(text, times, system.states, {**values, **starts})
        assert deviation(run, table, system.states) < 1e-6


@pytest.mark.parametrize("from_data", [True, False])
@pytest.mark.parametrize("name", ["tyson_two_protein", "goldbeter_koshland", "jak_stat"])
def test_conditions_are_the_experiments(name, from_data, tmp_path, peer, deviation):
    system = resampled(fd.load_model(name), samples=120)
    runs = fd.simulate(system)
    path = fd.write_petab(system, tmp_path / "problem", runs if from_data else None)
    problem = problem_in(path)
    assert_conditions_are_experiments(problem, path.parent, system, runs, peer, deviation)
    assert set(system.parameters) <= set(problem.parameter_df.index)
    assert len(problem.measurement_df) == 120 * len(system.states) * len(runs)


def test_experiments_that_mix_a_sine_with_steps(tmp_path, peer, deviation):
    system = resampled(fd.load_model("michaelis_menten"), samples=100)
    first, second = system.protocol.experiments[:2]
    plans = (first, replace(second, inputs={"j": Sine(0.2, 3.0, 0.5, 0.1)}))
    system = replace(system, protocol=replace(system.protocol, experiments=plans))
    path = fd.write_petab(system, tmp_path)
    assert_conditions_are_experiments(
        problem_in(path), tmp_path, system, fd.simulate(system), peer, deviation
    )


def test_numbers_become_parameters_with_bounds(tmp_path):
    system = system_from_toml(
        '[states.x]\ninitial = 1\nrate = "0.7*x - 1.5*x**2 + 3"\n[protocol]\nsamples = 30\n'
    )
    table = problem_in(fd.write_petab(system, tmp_path)).parameter_df
    assert sorted(abs(table["nominalValue"][:2])) == pytest.approx([0.7, 1.5])
    assert (table["lowerBound"] < table["nominalValue"]).all()
    assert (table["nominalValue"] < table["upperBound"]).all()
    assert (table["estimate"] == 1).all()


def test_times_start_at_zero_and_missing_values_are_left_out(tmp_path, peer, deviation):
    times = np.linspace(5.0, 9.0, 41)
    drive = np.where(times < 7.0, 0.2, 0.8)
    decay = np.exp(-(times - 5.0))
    system = system_from_toml(
        '[states.x]\ninitial = 1\nrate = "u - x"\n[inputs.u]\nstimulus = 0\n'
        "[protocol]\nduration = 4\nsamples = 41\n"
    )
    x = np.where(np.arange(41) == 3, np.nan, decay)
    runs = fd.read_trajectories({"time": times, "x": x, "u": drive}, inputs="u", breakpoints=[7.0])
    problem = problem_in(fd.write_petab(system, tmp_path, runs))
    assert len(problem.measurement_df) == 40
    assert problem.measurement_df["time"].min() == 0
    text = (tmp_path / "model.xml").read_text()
    table = peer(text, times - 5.0, ("x", "u"))
    np.testing.assert_allclose(table[:20, 1], 0.2)
    np.testing.assert_allclose(table[21:, 1], 0.8)


def test_data_without_a_state_is_refused(tmp_path):
    runs = fd.simulate(resampled(fd.load_model("lorenz"), samples=20))
    with pytest.raises(DataError, match="the data has no state 'X1'"):
        fd.write_petab(fd.load_model("tyson_two_protein"), tmp_path, runs)
    assert list(tmp_path.iterdir()) == []


def test_a_measured_input_of_many_samples_is_refused(tmp_path):
    system = resampled(fd.load_model("duffing"), samples=400)
    with pytest.raises(ModelError, match="expected at most 200 pieces for PEtab"):
        fd.write_petab(system, tmp_path, fd.simulate(system))


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    folder = tmp_path / "problem"
    folder.mkdir()
    (folder / "model.xml").symlink_to(outside)
    with pytest.raises(DataError, match="leads out"):
        fd.write_petab(resampled(fd.load_model("lorenz"), samples=20), folder)
    assert outside.read_text() == "mine"
