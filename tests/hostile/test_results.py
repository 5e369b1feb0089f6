"""Folders of discoveries from strangers: links, paths and markup in them stay what they are."""

import json
import shutil
from pathlib import Path

import pytest

import fepysr_dyn as fd
from fepysr_dyn.errors import FepysrDynError
from fepysr_dyn.model_files import system_from_toml

SYSTEM = system_from_toml("""
name = "growth"
[states.x]
initial = 0.5
rate = "0.8*x - 0.1*x**2"
[protocol]
duration = 12
samples = 120
""")
MARKUP = "</p><script>alert(1)</script>"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    config = fd.DiscoveryConfig(
        engine="sparse",
        features=False,
        operators=("+", "-", "*"),
        max_rows=100,
        resamples=2,
        max_complexity=12,
    )
    folder = tmp_path_factory.mktemp("result") / "found"
    fd.discover(fd.simulate(SYSTEM), config=config, truth=SYSTEM).save(folder)
    return folder


@pytest.fixture
def folder(saved, world):
    return Path(shutil.copytree(saved, "found"))


def changed(folder, change):
    """Change the document of a result."""
    path = folder / "result.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def rename_state(document):
    document["states"]["../../x"] = document["states"].pop("x")


def add_state(document):
    document["states"]["../../x"] = document["states"]["x"]


def set_formula(document):
    document["states"]["x"]["front"][0]["expression"] = "__import__('os').mkdir('pwned')"


def set_endless_formula(document):
    document["states"]["x"]["front"][0]["expression"] = "9**9**9**9"


def set_infinite_complexity(document):
    document["states"]["x"]["front"][0]["complexity"] = float("inf")


def set_other_types(document):
    document["states"]["x"]["front"] = {"expression": []}


def set_outcome(document):
    document["validation"]["runs"][0]["outcome"] = "../../x"


# what the line must say
DOCUMENTS = {
    rename_state: "a field is missing or has another form",
    add_state: "a field is missing or has another form",
    set_formula: "found",
    set_endless_formula: "found",
    set_infinite_complexity: "a field is missing or has another form",
    set_other_types: "a field is missing or has another form",
    set_outcome: "a field is missing or has another form",
}


@pytest.mark.parametrize("change", DOCUMENTS, ids=lambda change: change.__name__)
def test_hostile_documents(change, folder, world):
    changed(folder, change)
    world.refused("report", "found", saying=DOCUMENTS[change])


TEXTS = {
    "deep lists": ("[" * 200_000, "expected the JSON document"),
    "an endless number": ('{"schema_version": ' + "9" * 10_000 + "}", "expected the JSON document"),
    "another version": ('{"schema_version": "../../x"}', "expected schema version"),
    "bytes": ("\0" * 100, "expected the JSON document"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_texts(name, folder, world):
    text, saying = TEXTS[name]
    (folder / "result.json").write_text(text)
    world.refused("report", "found", saying=saying)


@pytest.mark.parametrize("name", ["result.json", "system.toml", "simulated.nc", "truth.toml"])
def test_links_that_lead_out_are_not_followed(name, folder, world):
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(world.secret)
    world.refused("report", "found", saying="leads out of it")


@pytest.mark.parametrize("name", ["result.json", "system.toml"])
def test_links_to_an_endless_device(name, folder, world):
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    world.refused("report", "found", saying="leads out of it")


@pytest.mark.parametrize("verb", [("export", "--to", "sbml"), ("validate", "growth.csv")])
def test_other_commands_do_not_follow_links_either(verb, folder, world):
    (folder / "system.toml").unlink()
    (folder / "system.toml").symlink_to(world.secret)
    name, *rest = verb
    world.refused(name, "found", *rest, saying="leads out of it")


def test_a_report_is_not_written_through_a_link(folder, world):
    (folder / "report.html").unlink(missing_ok=True)
    (folder / "report.html").symlink_to(world.secret)
    world.refused("report", "found", saying="leads out of it")


@pytest.mark.parametrize("name", ["result.json", "system.toml", "front_x.csv", "simulated.nc", ".writable"])
def test_a_result_is_not_saved_through_a_link(name, saved, folder, world):
    found = fd.load_result(saved)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(world.secret)
    with pytest.raises(FepysrDynError, match="leads out of it"):
        found.save(folder)
    assert world.secret.read_text() == "nobody may read this"


def test_markup_is_escaped_in_the_report(folder, world):
    def change(document):
        document["warnings"] = [MARKUP]
        document["provenance"]["command"] = MARKUP
        document["states"]["x"]["front"][0]["engine"] = MARKUP
        document["validation"]["runs"][0]["experiment"] = MARKUP
        document["validation"]["runs"][0]["message"] = MARKUP

    changed(folder, change)
    text = (folder / "system.toml").read_text()
    (folder / "system.toml").write_text(f'title = "{MARKUP}"\ndescription = "{MARKUP}"\n{text}')
    answer = world.call("report", "found", may_write=("work/found/report.html",))
    assert answer.code == 0, answer.err
    page = (folder / "report.html").read_text()
    assert "alert" in page
    assert MARKUP not in page
    assert "<script>alert" not in page
