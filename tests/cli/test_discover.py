"""The command discover as a user calls it."""

import json

import pytest

from fepysr_dyn.cli.app import run


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    rows = [f"{k / 10},{2 * 0.9**k},{int(k >= 30)}" for k in range(60)]
    path.write_text("\n".join(["time,x,u", *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nofile.csv"], "there is no such file"),
        (["tysn_two_protein"], "did you mean 'tyson_two_protein'"),
        (["lotka_volterra", "--time-limit", "-1"], "positive seconds, got -1"),
        (["lotka_volterra", "--engine", "foo"], "unknown engine 'foo'"),
        (["lotka_volterra", "--noise", "-1"], "noise must be a number of at least 0"),
        (["lotka_volterra", "--noise", "lots"], "--noise"),
        (["{data}", "--input", "v"], "'v'"),
        (["{data}", "--state", "xx"], "'xx'"),
        (["{data}", "--input", "u", "-o", "{data}/out"], "cannot be written"),
    ],
)
def test_wrong_calls_end_in_one_line_before_any_work(arguments, message, data, capsys):
    assert run(["discover", *(text.format(data=data) for text in arguments)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.strip().splitlines()) == 1
    assert message in printed.err


def test_json_and_folder_hold_the_equation(data, tmp_path, capsys):
    out = tmp_path / "out"
    code = run(["discover", str(data), "--input", "u", "--engine", "sparse", "-o", str(out), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert document["states"]["x"]["expression"].endswith("*x")
    for key in ("complexity", "confidence", "front"):
        assert key in document["states"]["x"]
    for key in ("validation", "warnings", "seconds"):
        assert key in document
    assert {"result.json", "system.toml", "front_x.csv"} <= {path.name for path in out.iterdir()}
