"""The command compare: all methods side by side."""

import json

import pytest

MODEL = """
[states.x]
initial = 2.0
rate = "u - 0.6*x"
[inputs.u]
stimulus = { kind = "steps", times = [0, 2.0, 3.5], values = [1, 0.2, 2.0] }
[protocol]
duration = 5
samples = 150
[[protocol.experiments]]
name = "one"
[[protocol.experiments]]
name = "two"
initial = { x = 0.5 }
"""


@pytest.fixture
def model(tmp_path):
    (tmp_path / "model.toml").write_text(MODEL)
    return "model.toml"


def test_baselines_side_by_side_with_a_figure(command, model, tmp_path):
    answer = command(
        "compare",
        *(model, "--no-ours", "--baseline", "sindy-poly1", "--baseline", "sindy-weak", "--plot", "all.png"),
    )
    assert answer.code == 0, answer.err
    assert "dx/dt = " in answer.out
    for name in ("sindy-poly1", "sindy-weak", "generalization R²", "equations right", "written: all.png"):
        assert name in answer.out
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")


def test_one_document_holds_every_grid_point(command, model):
    assert command("simulate", model, "-o", "data.csv").code == 0
    answer = command(
        "compare", "data.csv", "--input", "u", "--no-ours", "--baseline", "sindy-poly1", "--json"
    )
    assert answer.code == 0, answer.err
    document = json.loads(answer.out)
    method = document["methods"][0]
    assert document["held_out"] == "experiment"
    assert method["generalization"]["worst_nrmse"] < 1e-4
    assert {"settings", "error", "r2", "nrmse", "outcome", "message"} <= set(method["grid"][0])


def test_ours_comes_first(command, model):
    answer = command("compare", model, "--baseline", "sindy-poly1", "--time-limit", "15", "--json")
    assert answer.code == 0, answer.err
    methods = json.loads(answer.out)["methods"]
    assert [method["name"] for method in methods] == ["fepysr-dyn", "sindy-poly1"]
    assert methods[0]["reconstruction"]["reproduced"] is True
    assert methods[0]["reconstruction"]["structure"]["x"]["recovered"] is True


def test_nothing_that_reproduces_ends_with_one(command, tmp_path):
    rows = "".join(f"{i / 10},{(i * 7919) % 13}\n" for i in range(60))
    (tmp_path / "noise.csv").write_text("time,x\n" + rows)
    answer = command("compare", "noise.csv", "--no-ours", "--baseline", "sindy-poly1")
    assert answer.code == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("nothing.csv",), "nothing.csv"),
        (("model.toml", "--time-limit", "soon"), "expected a number, found 'soon'"),
        (("model.toml", "--time-limit", "-1"), "time_limit must be a positive number"),
        (("model.toml", "--noise", "nan"), "noise"),
        (("model.toml", "--baseline", "sindy-poly9"), "unknown baseline"),
        (("model.toml", "--plot", "figure.doc"), "figure.doc"),
    ],
)
def test_wrong_calls_end_with_two_and_one_line(command, model, arguments, expected):
    answer = command("compare", "--no-ours", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert expected in answer.err
