import json

import numpy as np
import pandas as pd
import pytest

from fepysr_dyn.expressions import parse
from fepysr_dyn.regressor import FePySR

FAST = ("--engine", "sparse", "--no-features")


@pytest.fixture
def table(tmp_path):
    x, z = np.random.default_rng(0).normal(size=(2, 60))
    frame = pd.DataFrame({"x": x, "z": z, "y": x**2 * np.sin(z) - 1})
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame


def test_json_is_one_document(command, table):
    answer = command("fit", "data.csv", "--target", "y", *FAST, "--json")
    assert answer.code == 0
    document = json.loads(answer.out)
    assert parse(document["expression"]).equals(parse("x**2*sin(z) - 1"))
    assert {"expression", "complexity", "loss"} <= set(document["front"][0])
    assert document["features"] == []
    assert document["seconds"] > 0


def test_table_plot_and_files(command, table, tmp_path):
    answer = command("fit", "data.csv", "--target", "y", *FAST, "--plot", "front.png", "-o", "result")
    assert answer.code == 0
    assert "y = x**2*sin(z) - 1" in answer.out
    assert (tmp_path / "front.png").stat().st_size > 5_000
    assert len(pd.read_csv(tmp_path / "result" / "front.csv")) >= 1
    model = FePySR.load(tmp_path / "result" / "fit.json")
    np.testing.assert_allclose(model.predict(table[["x", "z"]]), table["y"])
    assert command("fit", "data.csv", "--target", "y", *FAST, "-o", "one.json").code == 0
    assert (tmp_path / "one.json").exists()


def test_operators_and_complexity_are_kept(command, table):
    limits = ("--operators", "+,*", "--max-complexity", "7")
    answer = command("fit", "data.csv", "--target", "y", *FAST, *limits, "--json")
    document = json.loads(answer.out)
    assert all(entry["complexity"] <= 7 for entry in document["front"])
    assert not any("sin" in entry["expression"] for entry in document["front"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty file"),
        ("x,y\n", "at least 5 rows, found 0"),
        ("x,y\n1,2\n2,3\n", "at least 5 rows, found 2"),
        ("x,y\n" + "1,2\n" * 4 + "1,abc\n", "line 6, column 'y': expected a number, found 'abc'"),
        ("x,y\n" + "1,2\n" * 4 + "1,\n", "missing value"),
        ("x,y\n" + "1,2\n" * 4 + "1,nan\n", "missing value"),
        ("x,y\n" + "1,2\n" * 4 + "1,inf\n", "finite"),
        ("x,y\n" + "1,2\n" * 4 + "1,2,3\n", "line 6: expected 2 fields, found 3"),
        ("x,y\n" + "1,2\n2,2\n" * 4, "constant (2)"),
        ("y\n" + "1\n2\n" * 4, "besides the target"),
        ("x,x,y\n" + "1,2,3\n" * 6, "occurs twice"),
        ("x 1,y\n" + "1,2\n3,4\n" * 4, "for example to 'x_1'"),
    ],
)
def test_bad_files_are_one_clear_line(command, tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text)
    answer = command("fit", "bad.csv", "--target", "y", *FAST)
    assert answer.code == 2
    assert words in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--target", "yy"), "no column 'yy'"),
        (("--target", "y", "--engine", "spares"), "did you mean 'sparse'"),
        (("--target", "y", "--operators", "+,sinn"), "unknown operator 'sinn'"),
        (("--target", "y", "--time-limit", "-1"), "positive"),
        (("--target", "y", "--max-complexity", "0"), "at least 1"),
        (("--target", "y", "--plot", "front.txt"), ".png"),
        (("--target", "y", "-o", "data.csv"), "folder"),
    ],
)
def test_bad_calls_are_one_clear_line(command, table, options, words):
    answer = command("fit", "data.csv", *options)
    assert answer.code == 2
    assert words in answer.err
    assert answer.err.count("\n") == 1


def test_a_missing_file(command):
    answer = command("fit", "nowhere.csv", "--target", "y")
    assert answer.code == 2
    assert "cannot be read" in answer.err
