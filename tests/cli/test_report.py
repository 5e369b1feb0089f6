"""The command report, and the report that discover writes."""

import json
import shutil
from pathlib import Path

import pytest

from fepysr_dyn.cli.app import run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A result made from the command line, once."""
    place = tmp_path_factory.mktemp("made")
    rows = [f"{k / 10},{2 * 0.9**k},{int(k >= 30)}" for k in range(60)]
    (place / "data.csv").write_text("\n".join(["time,x,u", *rows]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["discover", "data.csv", "--input", "u", "--engine", "sparse", "-o", "found"]) == 0
    return place / "found"


@pytest.fixture
def folder(made, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "found"))


def test_discover_writes_it_and_report_makes_it_again(command, folder):
    first = (folder / "report.html").read_text(encoding="utf-8")
    assert "fepysr-dyn discover data.csv --input u --engine sparse -o found" in first
    (folder / "report.html").unlink()
    answer = command("report", "found")
    assert answer.code == 0, answer.err
    assert answer.out == "written: found/report.html\n"
    assert (folder / "report.html").read_text(encoding="utf-8") == first


def test_another_place_and_json(command, folder, tmp_path):
    answer = command("report", "found", "-o", "supplement.html", "--json")
    document = json.loads(answer.out)
    assert document["report"] == "supplement.html"
    assert document["validated"] is True
    assert (tmp_path / "supplement.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_held_out_data_are_scored(command, folder, tmp_path):
    rows = [f"{k / 10},{3 * 0.9**k},{int(k >= 10)}" for k in range(60)]
    (tmp_path / "other.csv").write_text("\n".join(["time,x,u", *rows]) + "\n")
    answer = command("report", "found", "--held-out", "other.csv")
    assert answer.code == 0, answer.err
    assert "the held-out experiment" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_comparison_is_kept_and_shown(command, folder):
    answer = command("report", "found", "--compare", "--baseline", "sindy-poly1")
    assert answer.code == 0, answer.err
    assert "sindy-poly1" in (folder / "report.html").read_text(encoding="utf-8")
    assert command("report", "found").code == 0
    assert "sindy-poly1" in (folder / "report.html").read_text(encoding="utf-8")
    document = json.loads((folder / "comparison.json").read_text())
    (folder / "comparison.json").write_text(json.dumps({**document, "data_sha256": "other"}))
    answer = command("report", "found")
    assert "made on other data" in answer.err
    document["methods"][0]["equations"] = {"x": "2*x"}
    (folder / "comparison.json").write_text(json.dumps(document))
    answer = command("report", "found")
    assert "made with other equations" in answer.err
    assert "sindy-poly1" not in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"methods": [1], "held_out": ""}'])
def test_broken_comparisons_are_one_line(command, folder, text):
    (folder / "comparison.json").write_text(text)
    answer = command("report", "found")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "expected the JSON document of a comparison" in answer.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("nothing",), "nothing"),
        (("found", "-o", "nowhere/report.html"), "there is no directory"),
        (("found", "--compare", "--baseline", "sindy-poly9"), "unknown baseline"),
        (("found", "--compare", "--time-limit", "-1"), "time_limit must be a positive number"),
    ],
)
def test_wrong_calls_end_with_two_and_one_line(command, folder, arguments, expected):
    answer = command("report", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert expected in answer.err
