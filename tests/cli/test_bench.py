"""``fepysr-dyn bench`` end to end: a real unit, resumed, shown, written; and what it refuses."""

import json

import pytest

FIT = {
    "engine": "portfolio",
    "features": True,
    "noise": 0.0,
    "cap": 60.0,
    "on_front": True,
    "seconds": 2.0,
    "mse": 0.0,
    "front_mse": 0.0,
    "expression": "x",
}


def write_lines(path, *problems, **changes):
    lines = [{"problem": name, "seed": 0, **FIT, "recovered": True, **changes} for name in problems]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_list(command):
    answer = command("bench", "--list")
    assert answer.code == 0
    for name in ("standard", "recover", "unrecover", "features", "noise", "tyson", "odes", "derivatives"):
        assert name in answer.out
    names = {entry["name"] for entry in json.loads(command("bench", "--list", "--json").out)}
    assert {"stage1-speed", "engine-speed", "ablation"} <= names


def test_one_real_equation_and_its_second_call(command, tmp_path):
    call = ("bench", "standard", "--only", "Nguyen-1", "--runs", "1", "--cap", "30")
    answer = command(*call, "--table", "table.md", "--figures", "figures")
    assert answer.code == 0, answer.err
    assert "Nguyen-1" in answer.out
    assert "1/1" in answer.out
    assert "[1/1, recovered 100.0 % [20.7, 100.0]]" in answer.err
    assert "| Nguyen-1 | 1/1 |" in (tmp_path / "table.md").read_text()
    assert (tmp_path / "figures" / "standard.png").stat().st_size > 5000
    again = command(*call, "--json")
    document = json.loads(again.out)
    assert (document["computed"], document["units"], document["complete"]) == (0, 1, True)
    assert document["tables"][1]["rows"][0]["problem"] == "Nguyen-1"
    (line,) = map(json.loads, (tmp_path / "standard.jsonl").read_text().splitlines())
    assert line["suite"] == "standard"
    assert line["recovered"] is True


def test_lines_of_an_earlier_runner_are_shown(command, tmp_path):
    write_lines(tmp_path / "old.jsonl", "Recover-1", "Recover-2")
    answer = command("bench", "recover", "--runs", "1", "--out", "old.jsonl", "--show")
    assert answer.code == 0
    assert "Recover-2" in answer.out
    assert "34 problems of the suite have no line yet" in answer.out
    assert "not complete" in answer.err


def test_failed_units_are_told_and_change_the_exit_code(command, tmp_path):
    write_lines(tmp_path / "recover.jsonl", "Recover-1", recovered=False, error="hung: no answer after 180 s")
    answer = command("bench", "recover", "--runs", "1", "--only", "Recover-1", "--show")
    assert answer.code == 1
    assert "Recover-1, seed 0: hung: no answer after 180 s" in answer.err


def test_damaged_lines_are_told(command, tmp_path):
    write_lines(tmp_path / "recover.jsonl", "Recover-1")
    with (tmp_path / "recover.jsonl").open("a") as stream:
        stream.write('{"problem": "Rec')
    answer = command("bench", "recover", "--runs", "1", "--only", "Recover-1")
    assert answer.code == 0
    assert "1 damaged lines were moved to recover.jsonl.damaged" in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("recver",), "unknown suite 'recver'; did you mean 'recover'"),
        (("odes", "--where", "side"), "--where: expected NAME=VALUE"),
        (("recover", "--only", "Recover-99"), "no problem 'Recover-99' in this suite; did you mean"),
        (("recover", "--cap", "-1"), "--cap: expected a positive number, found -1"),
        (("recover", "--cap", "soon"), "expected a number, found 'soon'"),
        (("recover", "--runs", "0"), "--runs: expected a positive number, found 0"),
        (("recover", "--noise", "0.1"), "--noise: the suite 'recover' has no noise levels"),
        (("noise", "--noise", "0,-1"), "--noise: expected levels of at least 0, found -1"),
        (("ingest", "--cap", "5"), "there is nothing to cap"),
        (("recover", "--cpu-time", "--threads", "2"), "--cpu-time: expected one thread per unit"),
        (("recover", "--table", "table.xls"), "expected a file name that ends in one of .md, .csv, .json"),
        (("recover", "--out", "missing/lines.jsonl"), "cannot be opened for writing"),
        (("recover", "--out", "missing.jsonl", "--show"), "missing.jsonl: cannot be read"),
    ],
)
def test_wrong_calls_are_one_line(command, arguments, message):
    answer = command("bench", *arguments)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_workers_are_compared_in_one_run(command):
    answer = command("bench", "ingest", "--only", "10000", "--compare-workers", "--json")
    document = json.loads(answer.out)
    assert answer.code == 0
    assert (document["units"], document["workers"]) == (1, 2)
    assert document["ratio"] == pytest.approx(document["several"] / document["one"])
