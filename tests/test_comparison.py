"""Our result and the baselines through one validation."""

import threading

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.comparison import OURS, compare
from fepysr_dyn.discovery import DiscoveryConfig
from fepysr_dyn.errors import DataError, OptionError
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.trajectories import Trajectories, make_experiment

DECAY = system_from_toml("""
[states.x]
initial = 2.0
rate = "1.2*y - 0.6*x"
[states.y]
initial = 0.3
rate = "u - 0.9*y"
[inputs.u]
stimulus = { kind = "steps", times = [0, 2.0, 3.5], values = [1, 0.2, 2.0] }
[protocol]
duration = 5
samples = 200
[[protocol.experiments]]
name = "one"
[[protocol.experiments]]
name = "two"
initial = { x = 0.5, y = 1.0 }
[[protocol.experiments]]
name = "three"
initial = { x = 1.0, y = 2.0 }
""")


@pytest.fixture(scope="module")
def runs():
    return fd.simulate(DECAY)


@pytest.fixture(scope="module")
def result(runs):
    return compare(runs, truth=DECAY, ours=False, baselines=["sindy-poly1", "sindy-poly2"])


def test_the_last_experiment_is_kept_out_of_every_fit(result):
    assert result.held_out_kind == "experiment"
    assert [run.attrs["name"] for run in result.training] == ["one", "two"]
    for entry in result.entries:
        assert [run.experiment for run in entry.reconstruction.runs] == ["one", "two"]
        assert [run.experiment for run in entry.generalization.runs] == ["three"]
        assert len(entry.system.protocol.experiments) == 2


def test_scores_and_structure_of_the_right_library(result):
    linear = result["sindy-poly1"]
    assert linear.generalization.worst_nrmse < 1e-4
    assert all(score.precision == score.recall == 1 for score in linear.reconstruction.structure.values())
    assert set(linear.equations()) == {"x", "y"}
    assert linear.grid
    assert linear.seconds > 0


def test_the_table_has_a_row_per_method_and_the_document_the_whole_grid(result):
    table = result.to_pandas()
    assert list(table["method"]) == ["sindy-poly1", "sindy-poly2"]
    assert (table["generalization_r2"] > 0.99).all()
    document = result.to_dict()
    assert document["held_out_experiments"] == ["three"]
    assert len(document["methods"][0]["grid"]) == len(result["sindy-poly1"].grid)
    with pytest.raises(KeyError):
        _ = result["sindy"]


def test_a_seed_repeats_the_comparison(runs):
    first, second = (compare(runs, ours=False, baselines=["sindy-poly1"], seed=3) for _ in range(2))
    assert first["sindy-poly1"].equations() == second["sindy-poly1"].equations()
    assert first["sindy-poly1"].settings == second["sindy-poly1"].settings


def test_a_discovery_that_has_seen_all_leaves_nothing_to_hold_out(runs):
    quick = DiscoveryConfig(engine="sparse", features=False, resamples=2)
    found = fd.discover(runs, config=quick, time_limit=20)
    both = compare(runs, ours=found, truth=DECAY, baselines=["sindy-poly1"])
    assert both.held_out_kind == "none"
    assert [entry.name for entry in both.entries] == [OURS, "sindy-poly1"]
    assert both[OURS].system is found.system
    assert both[OURS].generalization is None
    assert both[OURS].reconstruction.reproduced
    given = compare(runs, ours=found, held_out=runs, baselines=[])
    assert given.held_out_kind == "given"
    assert given[OURS].generalization.reproduced


def test_a_single_experiment_loses_its_last_quarter(runs):
    result = compare(Trajectories((runs[0],)), ours=False, baselines=["sindy-poly1"])
    assert result.held_out_kind == "window"
    assert float(result.held_out[0]["time"][0]) == pytest.approx(3.75, abs=0.03)
    assert result["sindy-poly1"].generalization.worst_r2 > 0.99


def test_noise_in_the_first_sample_is_nobodys_start(runs):
    values = runs[0]["x"].to_numpy() + 0.05 * np.random.default_rng(0).normal(size=200)
    values[0] += 0.2
    run = make_experiment(
        runs[0]["time"].to_numpy(),
        {"x": values, "y": runs[0]["y"].to_numpy()},
        {"u": runs[0]["u"].to_numpy()},
        breakpoints=[2.0, 3.5],
    )
    result = compare(Trajectories((run,)), ours=False, baselines=["sindy-poly1"])
    start = float(result["sindy-poly1"].reconstruction.runs[0].simulated["x"][0])
    assert abs(start - 2.0) < abs(float(values[0]) - 2.0)


def test_what_is_too_short_has_no_answer_and_says_why():
    times = np.linspace(0, 1, 12)
    runs = Trajectories((make_experiment(times, {"x": np.exp(-times)}),))
    result = compare(runs, ours=False, baselines=["sindy-poly1"])
    assert result["sindy-poly1"].system is None
    assert "expected at least 16 samples" in result["sindy-poly1"].message
    assert result.to_pandas()["reconstruction_r2"][0] == -np.inf


def test_wrong_calls_end_in_one_line(runs):
    with pytest.raises(OptionError, match="unknown baseline 'sindy-poly4'; did you mean"):
        compare(runs, baselines=["sindy-poly4"])
    with pytest.raises(OptionError, match="time_limit must be a positive number of seconds, got 0"):
        compare(runs, time_limit=0)
    other = fd.simulate(fd.load_model("lotka_volterra"))
    with pytest.raises(DataError, match="held-out data with the inputs"):
        compare(runs, held_out=other, ours=False, baselines=["sindy-poly1"])


def test_a_cancelled_comparison_stops_before_the_next_method(runs):
    stop = threading.Event()
    stop.set()
    assert compare(runs, ours=False, baselines=["sindy-poly1"], cancelled=stop).entries == ()
