"""``fepysr-dyn export``, and models of other programs wherever a model is taken."""

import json
from pathlib import Path

import pytest

import fepysr_dyn as fd
from fepysr_dyn.model_files import write_system

pytest.importorskip("libsbml")


def test_text_formats_are_printed(command):
    assert command("export", "lorenz", "--to", "sbml").out == fd.to_sbml(fd.load_model("lorenz"))
    assert command("export", "lorenz", "--to", "latex").out == fd.to_latex(fd.load_model("lorenz"))
    assert command("export", "lorenz", "--to", "python").out == fd.to_python(fd.load_model("lorenz"))
    assert command("export", "lorenz", "--to", "antimony").out == fd.to_antimony(fd.load_model("lorenz"))


def test_the_format_follows_from_the_file_name(command):
    for name, start in (("a.xml", "<?xml"), ("a.ant", "//"), ("a.tex", "%"), ("a.py", "#")):
        answer = command("export", "lorenz", "-o", name)
        assert answer.code == 0
        assert answer.out == f"written: {name}\n"
        assert Path(name).read_text().startswith(start)


def test_a_saved_result_is_exported(command):
    Path("found").mkdir()
    write_system(fd.load_model("van_der_pol"), "found/system.toml")
    answer = command("export", "found", "--to", "sbml", "-o", "found.xml", "--json")
    assert json.loads(answer.out) == {"model": "van_der_pol", "format": "sbml", "out": "found.xml"}
    assert fd.load_model("found.xml").states == ("x", "y")


def test_an_experiment_is_chosen(command):
    assert "0.9;" in command("export", "goldbeter_koshland", "--to", "antimony", "--experiment", "ramp").out


def test_a_petab_problem_from_data(command):
    petab = pytest.importorskip("petab.v1")
    command("simulate", "tyson_two_protein", "--samples", "60", "-o", "data.csv")
    answer = command("export", "tyson_two_protein", "--to", "petab", "--data", "data.csv", "-o", "problem")
    assert answer.code == 0
    assert petab.lint_problem(petab.Problem.from_yaml("problem/problem.yaml")) is False


def test_models_of_other_programs_are_models(command):
    command("export", "tyson_two_protein", "-o", "model.xml")
    command("export", "tyson_two_protein", "-o", "model.ant")
    assert command("simulate", "model.xml", "--samples", "60", "-o", "data.csv").code == 0
    assert command("validate", "model.ant", "data.csv").code == 0
    assert command("validate", "model.xml", "model.ant").code == 0
    assert "dX1/dt" in command("models", "model.ant").out
    assert command("export", "model.xml", "-o", "again.ant").code == 0


WRONG = {
    "no format": (["lorenz"], "say the format with --to"),
    "no format from the ending": (["lorenz", "-o", "a.txt"], "say the format with --to"),
    "a misspelt format": (["lorenz", "--to", "smbl"], "did you mean 'sbml'?"),
    "an unknown model": (["lorentz", "--to", "sbml"], "did you mean 'lorenz'?"),
    "an unknown experiment": (["lorenz", "--to", "sbml", "--experiment", "x"], "has no experiment 'x'"),
    "no folder for petab": (["lorenz", "--to", "petab"], "say where it goes with -o"),
    "a file for petab": (["lorenz", "--to", "petab", "-o", "file"], "expected a folder"),
    "an experiment for petab": (
        ["lorenz", "--to", "petab", "-o", "p", "--experiment", "x"],
        "which holds all experiments",
    ),
    "data for sbml": (["lorenz", "--to", "sbml", "--data", "d.csv"], "--data is for --to petab alone"),
    "no such data": (["lorenz", "--to", "petab", "-o", "p", "--data", "d.csv"], "there is no such file"),
    "no such directory": (["lorenz", "-o", "no/a.xml"], "there is no directory 'no'"),
    "an empty folder": (["folder", "--to", "sbml"], "with system.toml, found none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name, command):
    Path("file").write_text("")
    Path("folder").mkdir()
    arguments, text = WRONG[name]
    answer = command("export", *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert text in answer.err
    assert answer.err.count("\n") == 1
