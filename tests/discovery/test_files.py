"""A discovery survives its folder; a broken folder is refused in one line."""

import json
from dataclasses import replace

import pytest

import fepysr_dyn as fd
from fepysr_dyn.errors import FepysrDynError


def test_saved_and_loaded_results_are_equal(found, tmp_path):
    found.save(tmp_path / "out")
    again = fd.load_result(tmp_path / "out")
    assert again.equations() == found.equations()
    assert again.fronts["x"].to_pandas().equals(found.fronts["x"].to_pandas())
    assert again.confidence == dict(found.confidence)
    assert again.validation.to_dict() == found.validation.to_dict()
    assert again.warnings == found.warnings
    assert again.data.to_pandas().equals(found.data.to_pandas())
    assert again.truth.rates == found.truth.rates


def test_another_result_in_the_same_folder_leaves_nothing_behind(found, tmp_path):
    found.save(tmp_path)
    replace(found, data=None, truth=None).save(tmp_path)
    again = fd.load_result(tmp_path)
    assert (again.data, again.truth) == (None, None)


def test_the_saved_system_is_a_model_file(found, tmp_path):
    found.save(tmp_path)
    system = fd.load_model(tmp_path / "system.toml")
    assert system.states == ("x", "y")
    assert fd.simulate(system)[0].sizes["time"] == 150


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the JSON document"),
        ("[]", "expected the JSON document"),
        ("[" * 100_000, "expected the JSON document"),
        ('{"schema_version": 99}', "expected schema version 1, found 99"),
        ('{"schema_version": 1}', "a field is missing"),
    ],
)
def test_broken_results_are_refused(found, tmp_path, text, message):
    found.save(tmp_path)
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(FepysrDynError, match=message):
        fd.load_result(tmp_path)


def test_a_hostile_formula_in_a_result_is_only_text(found, tmp_path):
    found.save(tmp_path)
    document = json.loads((tmp_path / "result.json").read_text())
    document["states"]["x"]["front"][0]["expression"] = '__import__("os").system("touch pwned")'
    (tmp_path / "result.json").write_text(json.dumps(document))
    with pytest.raises(FepysrDynError):
        fd.load_result(tmp_path)


def test_a_folder_without_result_is_refused(tmp_path):
    with pytest.raises(FepysrDynError, match="expected the folder of a discovery"):
        fd.load_result(tmp_path / "nothing")
