"""``fepysr-dyn features`` as a user calls it."""

import json

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 80))
    rows = np.column_stack([x, y, x * y])
    np.savetxt(tmp_path / "data.csv", rows, delimiter=",", header="x,y,z", comments="")
    return "data.csv"


def test_table_and_bars(command, table):
    answer = command("features", table, "--target", "z", "--runs", "4", "--top", "3")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert any("x*y" in line and "█" in line for line in lines)
    assert "4 of 4 runs counted" in answer.out


def test_one_json_document(command, table):
    answer = command("features", table, "--target", "z", "--runs", "4", "--top", "2", "--json")
    document = json.loads(answer.out)
    assert [entry["rank"] for entry in document["features"]] == [1, 2]
    assert document["features"][0]["feature"] == "x*y"
    assert document["dropped_runs"] == []


def test_figure(command, table, tmp_path):
    answer = command("features", table, "--target", "z", "--runs", "4", "--plot", "bars.png")
    assert answer.code == 0, answer.err
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "q"), "no column 'q'"),
        (("--target", "z", "--operators", "sine"), "did you mean 'sin'"),
        (("--target", "z", "--preset", "papers"), "did you mean 'paper'"),
        (("--target", "z", "--top", "0"), "--top"),
        (("--target", "z", "--runs", "0"), "runs must be"),
        (("--target", "z", "--runs", "2", "--top", "5000"), "5000 features were asked for"),
    ],
)
def test_a_wrong_call_is_one_line_and_code_2(command, table, arguments, message):
    answer = command("features", table, *arguments)
    assert answer.code == 2
    assert message in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.out == ""
