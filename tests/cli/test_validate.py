"""The command validate: scores, structure and exit codes."""

import json

import pytest

import fepysr_dyn as fd
from fepysr_dyn.discovery import DiscoveryConfig
from fepysr_dyn.model_files import write_system


@pytest.fixture
def data(command):
    assert command("simulate", "chemostat", "--samples", "60", "-o", "data.csv").code == 0
    return "data.csv"


def test_the_true_model_reproduces_its_data(command, data):
    answer = command("validate", "chemostat", data)
    assert answer.code == 0, answer.err
    assert "R²" in answer.out
    assert "complete" in answer.out
    assert answer.err == ""


def test_json_is_all_there_is_on_stdout(command, data):
    answer = command("validate", "chemostat", data, "--input", "D", "--truth", "chemostat", "--json")
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    assert document["reproduced"] is True
    assert set(document["runs"][0]) >= {"experiment", "outcome", "r2", "nrmse", "diverged_at"}
    assert all(score["recovered"] for score in document["structure"].values())


def test_a_wrong_model_ends_with_one_and_says_when_it_leaves_the_data(command, data, tmp_path):
    system = fd.load_model("chemostat")
    write_system(system.with_parameters(mu_max=0.2 * system.parameters["mu_max"]), tmp_path / "wrong.toml")
    answer = command("validate", "wrong.toml", data, "--truth", "chemostat")
    assert answer.code == 1
    assert "Not reproduced: smallest R²" in answer.out
    assert "differs from the true equation" in answer.out
    document = json.loads(command("validate", "wrong.toml", data, "--json").out)
    assert document["runs"][0]["diverged_at"] is not None


def test_a_blow_up_is_an_outcome(command, tmp_path):
    (tmp_path / "pole.toml").write_text('[states.x]\ninitial = 1.0\nrate = "x**2"\n')
    (tmp_path / "data.csv").write_text("time,x\n" + "".join(f"{i / 10},{1 + i / 50}\n" for i in range(30)))
    answer = command("validate", "pole.toml", "data.csv")
    assert answer.code == 1
    assert "blow-up" in answer.out
    assert "data: a state exceeded 1e+09 at t = 1" in answer.out


def test_a_model_can_stand_for_the_data_and_is_the_truth(command):
    answer = command("validate", "lotka_volterra", "lotka_volterra", "--json")
    assert answer.code == 0
    assert set(json.loads(answer.out)["structure"]) == {"x", "y"}


def test_the_folder_of_a_discovery_is_a_model(command, tmp_path):
    runs = fd.simulate(fd.load_model("lotka_volterra"))
    quick = DiscoveryConfig(engine="sparse", features=False, resamples=2)
    fd.discover(runs, config=quick, time_limit=20).save(tmp_path / "found")
    runs.to_csv(tmp_path / "data.csv")
    answer = command("validate", "found", "data.csv")
    assert answer.code == 0, answer.out + answer.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("chemostatt", "data.csv"), "chemostat"),
        (("chemostat", "nothing.csv"), "nothing.csv"),
        (("empty", "data.csv"), "expected the folder of a discovery"),
        (("lotka_volterra", "data.csv"), "x"),
        (("chemostat", "data.csv", "--truth", "nowhere.toml"), "nowhere.toml"),
        (("chemostat", "data.csv", "--noise", "0.1"), "--noise is for models"),
    ],
)
def test_wrong_calls_end_with_two_and_one_line(command, data, tmp_path, arguments, expected):
    (tmp_path / "empty").mkdir()
    answer = command("validate", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert expected in answer.err
