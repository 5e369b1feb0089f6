"""A run that was ended continues from its last finished unit and ends the same."""

import json
from dataclasses import replace

import pytest

import fepysr_dyn as fd
from fepysr_dyn.discovery.checkpoint import FOLDER, clear_checkpoint
from fepysr_dyn.discovery.files import to_document
from fepysr_dyn.errors import DataError, OptionError
from fepysr_dyn.model_files import system_from_toml

GROWTH = system_from_toml("""
[states.x]
initial = 0.2
rate = "0.8*x - 0.4*x**2"
[states.y]
initial = 1.0
rate = "-0.5*y"
[protocol]
duration = 8
samples = 60
""")


@pytest.fixture(scope="module")
def noisy():
    return fd.simulate(GROWTH, noise=0.01, seed=1)


@pytest.fixture(scope="module")
def whole(quick, noisy, tmp_path_factory):
    """A finished run: its result and the texts of its units."""
    folder = tmp_path_factory.mktemp("whole")
    found = fd.discover(noisy, config=quick, checkpoint=folder)
    return document(found), {path.name: path.read_text() for path in (folder / FOLDER).iterdir()}


def document(found):
    return {**json.loads(json.dumps(to_document(found))), "seconds": 0}


def restored(folder, texts, kinds):
    (folder / FOLDER).mkdir()
    for name, text in texts.items():
        if name.split("-")[0].removesuffix(".json") in kinds:
            (folder / FOLDER / name).write_text(text)


def done(folder):
    """Return what was carried out, in order; searches of one state once, whatever their forms."""
    lines = (folder / "log.txt").read_text().splitlines()
    titles = [line.split(" ", 1)[1].split(":")[0] for line in lines if ": done in" in line]
    return list(dict.fromkeys(" ".join(title.split()[:2]) for title in titles))


@pytest.mark.parametrize(
    ("kept", "again"),
    [
        (("run",), ["derivatives", "search x", "search y", "system", "validation"]),
        (("run", "derivatives", "search"), ["system", "validation"]),
        (("run", "derivatives", "search", "system", "validation"), []),
    ],
)
def test_only_what_is_missing_is_done_again(quick, noisy, whole, tmp_path, kept, again):
    result, texts = whole
    restored(tmp_path, texts, kept)
    assert document(fd.discover(noisy, config=quick, checkpoint=tmp_path)) == result
    assert done(tmp_path) == again


def test_without_a_checkpoint_the_result_is_the_same(quick, noisy, whole):
    assert document(fd.discover(noisy, config=quick)) == whole[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, r"another seed \(0, not 1\)"),
        ({"settings": {"max_complexity": 14}}, r"other settings \(max_complexity\)"),
        ({"runs": fd.simulate(GROWTH, noise=0.01, seed=2)}, "other data"),
    ],
)
def test_units_of_another_run_are_refused_and_stay(quick, noisy, whole, tmp_path, change, message):
    restored(tmp_path, whole[1], ("run", "derivatives", "search"))
    config = replace(quick, **change.get("settings", {}))
    runs = change.get("runs", noisy)
    with pytest.raises(OptionError, match=message):
        fd.discover(runs, checkpoint=tmp_path, config=config, seed=change.get("seed", 0))
    assert {path.name for path in (tmp_path / FOLDER).glob("search-*.json")} == {
        name for name in whole[1] if name.startswith("search-")
    }


def test_a_file_that_was_cut_off_is_done_again(quick, noisy, whole, tmp_path):
    result, texts = whole
    restored(tmp_path, texts, ("run", "derivatives", "search", "system"))
    (broken,) = (tmp_path / FOLDER).glob("search-x-pointwise-*.json")
    broken.write_text(broken.read_text()[:100])
    assert document(fd.discover(noisy, config=quick, checkpoint=tmp_path)) == result
    assert done(tmp_path) == ["search x", "validation"]


@pytest.mark.parametrize(
    "broken", [{"document": {}}, {"document": [1]}, {"seconds": "x"}, {"document": {"front": None}}]
)
def test_a_file_that_was_tampered_with_is_done_again(quick, noisy, whole, tmp_path, broken):
    result, texts = whole
    restored(tmp_path, texts, ("run", "derivatives", "search", "system", "validation"))
    (path,) = (tmp_path / FOLDER).glob("search-y-pointwise-*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **broken}))
    assert document(fd.discover(noisy, config=quick, checkpoint=tmp_path)) == result
    assert done(tmp_path) == ["search y"]


def test_a_link_out_of_the_folder_is_not_followed(quick, noisy, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "run.json").write_text("{}")
    folder = tmp_path / "found"
    folder.mkdir()
    (folder / FOLDER).symlink_to(elsewhere)
    with pytest.raises(DataError, match="leads out of it"):
        fd.discover(noisy, config=quick, checkpoint=folder)
    with pytest.raises(DataError, match="leads out of it"):
        clear_checkpoint(folder)
    assert (elsewhere / "run.json").exists()


def test_a_unit_that_a_time_limit_cut_short_says_so_and_is_searched_again_with_more_time(
    quick, noisy, tmp_path
):
    endless = replace(quick, engine="evolution", evaluations=10**10, seconds_per_state=0.3)
    found = fd.discover(noisy, config=endless, checkpoint=tmp_path)
    assert not found.complete
    entries = [json.loads(path.read_text()) for path in (tmp_path / FOLDER).glob("search-*.json")]
    assert len(entries) >= 2
    assert all(entry["cut_short"] for entry in entries)
    assert "cut short by its time limit" in (tmp_path / "log.txt").read_text()
    log = tmp_path / "log.txt"
    log.unlink()
    fd.discover(noisy, config=endless, checkpoint=tmp_path)
    assert done(tmp_path) == []
    log.unlink()
    fd.discover(noisy, config=replace(endless, seconds_per_state=0.6), checkpoint=tmp_path)
    # What follows is only done again if another answer was found.
    assert done(tmp_path)[:2] == ["search x", "search y"]


def test_another_truth_is_only_validated_again(quick, noisy, whole, tmp_path):
    restored(tmp_path, whole[1], ("run", "derivatives", "search", "system", "validation"))
    found = fd.discover(noisy, config=quick, checkpoint=tmp_path, truth=GROWTH)
    assert done(tmp_path) == ["validation"]
    assert found.validation.structure["y"].same_structure


def test_nothing_is_left_of_a_checkpoint_that_was_cleared(whole, tmp_path):
    restored(tmp_path, whole[1], ("run", "search"))
    clear_checkpoint(tmp_path)
    assert list((tmp_path / FOLDER).iterdir()) == []
    clear_checkpoint(tmp_path / "nothing")


def test_a_search_that_is_kept_holds_no_pickle(whole):
    for text in whole[1].values():
        assert isinstance(json.loads(text), dict)
