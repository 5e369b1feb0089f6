from __future__ import annotations

from pathlib import Path

import pytest

from fepysr_dyn.errors import ModelError
from fepysr_dyn.model_files import (
    MAX_FILE_BYTES,
    load_model,
    model_names,
    models_directory,
    read_system,
    system_from_toml,
    system_to_toml,
    write_system,
)

GOOD = """
name = "decay"
time_unit = "s"

[states.x]
initial = 1.0
rate = "u - gamma1*flow"
unit = "M"

[inputs.u]
stimulus = { kind = "steps", times = [0, 5], values = [0, 1] }

[parameters]
gamma1 = { value = 0.5, unit = "1/s" }
n = 2

[assignments]
flow = "x**n"

[protocol]
duration = 10
samples = 100
experiments = [{ name = "a" }, { initial = { x = 2.0 }, inputs = { u = 0.5 } }]
"""


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


#: broken file -> parts that its one line must have
BROKEN: dict[str, tuple[str, ...]] = {
    "": ("states", "expected a table", "nothing"),
    "[": ("not valid TOML",),
    "x = 1\nx = 2": ("not valid TOML",),
    "a = " + "[" * 3000: ("not valid TOML",),
    "states = 1": ("states", "expected a table", "1"),
    "[states]": ("at least one state",),
    "[states]\nx = 1": ("states.x", "expected a table", "1"),
    "[states.x]\ninitial = 1": ("states.x.rate", "expected a formula", "nothing"),
    '[states.x]\nrate = "x"': ("states.x.initial", "expected a number", "nothing"),
    changed("[states.x]", "[state.x]"): ("state", "unknown key", "did you mean 'states'"),
    changed("initial = 1.0", 'initial = "1"'): ("states.x.initial", "expected a number", "'1'"),
    changed("initial = 1.0", "initial = true"): ("states.x.initial", "expected a number", "True"),
    changed("initial = 1.0", "initial = nan"): ("initial value 'x'", "finite"),
    changed("initial = 1.0", "initial = inf"): ("initial value 'x'", "finite"),
    changed("initial = 1.0", "initial = 1" + "0" * 400): ("states.x.initial", "float64"),
    changed("initial = 1.0", "initail = 1.0"): ("states.x.initail", "did you mean 'initial'"),
    changed("rate =", "rates ="): ("states.x.rates", "did you mean 'rate'"),
    changed('"u - gamma1*flow"', '"u - gama1*flow"'): ("states.x.rate", "gama1", "did you mean 'gamma1'"),
    changed('"u - gamma1*flow"', '"u - gamma1*flwo"'): ("states.x.rate", "flwo", "did you mean 'flow'"),
    changed('"u - gamma1*flow"', '"u - gamma1*(flow"'): ("states.x.rate", "expected ')'"),
    changed('"u - gamma1*flow"', '"u -- /"'): ("states.x.rate", "at character"),
    changed('"u - gamma1*flow"', '"__import__(1)"'): ("states.x.rate", "unknown function"),
    changed('"u - gamma1*flow"', "[1]"): ("states.x.rate", "expected a formula", "[1]"),
    changed('"u - gamma1*flow"', "true"): ("states.x.rate", "expected a formula", "True"),
    changed('unit = "M"', "unit = 3"): ("states.x.unit", "expected text", "3"),
    changed('time_unit = "s"', "time_unit = 1"): ("time_unit", "expected text", "1"),
    changed('name = "decay"', "name = 1"): ("name", "expected text", "1"),
    changed('name = "decay"', 'nane = "decay"'): ("nane", "did you mean 'name'"),
    changed("[inputs.u]\nstimulus =", "[inputs.u]\nstimuls ="): ("inputs.u.stimuls", "'stimulus'"),
    changed('kind = "steps"', 'kind = "stepps"'): ("inputs.u.stimulus", "did you mean 'steps'"),
    changed("values = [0, 1]", "values = [0]"): ("inputs.u.stimulus", "as many values as times"),
    changed("times = [0, 5]", "times = [5, 0]"): ("inputs.u.stimulus", "must increase"),
    changed("[inputs.u]\nstimulus", "[inputs.u]\nunit = 's'\n[inputs.v]\nstimulus"): ("inputs.u", "nothing"),
    changed("n = 2\n", "n = '2'\n"): ("parameters.n", "expected a number", "'2'"),
    changed("n = 2\n", "n = { unit = 's' }\n"): ("parameters.n.value", "expected a number", "nothing"),
    changed("n = 2\n", "n = { value = 2, units = 's' }\n"): ("parameters.n.units", "did you mean 'unit'"),
    changed("n = 2\n", "n = nan\n"): ("parameter 'n'", "finite"),
    changed("n = 2\n", "x = 2\nn = 2\n"): ("'x' is used twice",),
    changed("n = 2\n", "exp = 2\nn = 2\n"): ("'exp' cannot be used as a name",),
    changed("n = 2\n", "time = 2\nn = 2\n"): ("'time' cannot be used as a name",),
    changed("n = 2\n", '"a b" = 2\nn = 2\n'): ("'a b' cannot be used as a name",),
    changed("n = 2\n", '"é" = 2\nn = 2\n'): ("'é' cannot be used as a name",),
    changed('flow = "x**n"', 'flow = "other"\nother = "flow"'): ("in a circle", "flow, other"),
    changed('flow = "x**n"', 'flow = "flow + 1"'): ("in a circle", "flow"),
    changed('flow = "x**n"', "flow = []"): ("assignments.flow", "expected a formula"),
    changed("[assignments]\nflow", "[assignment]\nflow"): ("assignment", "did you mean 'assignments'"),
    changed("duration = 10", "duration = 0"): ("protocol", "positive", "0"),
    changed("duration = 10", "duration = -1"): ("protocol", "positive", "-1"),
    changed("duration = 10", "duration = inf"): ("protocol", "positive", "inf"),
    changed("duration = 10", "duration = '10'"): ("protocol.duration", "expected a number", "'10'"),
    changed("duration = 10", "durations = 10"): ("protocol.durations", "did you mean 'duration'"),
    changed("samples = 100", "samples = 1"): ("protocol", "at least 2 samples", "1"),
    changed("samples = 100", "samples = 10.5"): ("protocol.samples", "whole number", "10.5"),
    changed("samples = 100", "samples = true"): ("protocol.samples", "whole number", "True"),
    changed('{ name = "a" }, {', '{ name = "a" }, { name = "a", '): ("protocol", "different names"),
    changed('[{ name = "a" }, {', "[1, {"): ("protocol.experiments", "list of tables"),
    changed('{ name = "a" }', "{ name = 1 }"): ("protocol.experiments.1.name", "expected text"),
    changed("{ x = 2.0 }", "{ xx = 2.0 }"): ("unknown state 'xx'", "did you mean 'x'"),
    changed("{ x = 2.0 }", "{ x = '2' }"): ("protocol.experiments.2.initial.x", "expected a number"),
    changed("{ x = 2.0 }", "3"): ("protocol.experiments.2.initial", "expected a table", "3"),
    changed("{ u = 0.5 }", "{ w = 0.5 }"): ("unknown input 'w'",),
    changed("{ u = 0.5 }", "{ u = 'high' }"): ("protocol.experiments.2.inputs.u", "stimulus table"),
    changed("{ initial =", "{ initials ="): ("protocol.experiments.2.initials", "did you mean 'initial'"),
}  # fmt: skip


def test_the_good_file_is_good() -> None:
    system = system_from_toml(GOOD)
    assert system.states == ("x",)
    assert system.units == {"x": "M", "gamma1": "1/s", "time": "s"}
    assert [plan.name for plan in system.protocol.experiments] == ["a", "experiment 2"]


def test_there_are_enough_broken_files() -> None:
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_broken_files_get_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        read_system(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message and len(message) < 400 + len(str(path))
    for fragment in BROKEN[text]:
        assert fragment in message.removeprefix(str(path)), message


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        read_system(tmp_path / "none.toml")
    with pytest.raises(ModelError, match="cannot be read"):
        read_system(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'name = "caf\xe9"')
    with pytest.raises(ModelError, match=r"expected UTF-8 text.* 11$"):
        read_system(tmp_path / "latin.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(ModelError, match="at most"):
        read_system(tmp_path / "large.toml")
    (tmp_path / "null.toml").write_bytes(b"name = \x00")
    with pytest.raises(ModelError, match="not valid TOML"):
        read_system(tmp_path / "null.toml")


@pytest.mark.parametrize("name", model_names())
def test_reference_systems_round_trip(name: str, tmp_path: Path) -> None:
    system = load_model(name)
    path = tmp_path / "again.toml"
    write_system(system, path)
    again = read_system(path)
    assert again == system
    assert list(again.rates) == list(system.rates)
    assert system_to_toml(again) == system_to_toml(system)


def test_names_paths_and_suggestions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_model("lorenz") == load_model(models_directory() / "lorenz.toml")
    with pytest.raises(ModelError, match="no model 'lorentz'; did you mean 'lorenz'"):
        load_model("lorentz")
    with pytest.raises(ModelError, match="fepysr-dyn models"):
        load_model("qqqqqqqq")
    (tmp_path / "mine.toml").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    assert load_model("mine.toml").name == "decay"
    # A name never leaves the folder of the models.
    with pytest.raises(ModelError):
        load_model("../pyproject")


def test_models_of_a_checkout_are_found() -> None:
    root = Path(__file__).resolve().parents[1]
    assert models_directory() == root / "models"
    assert model_names() == sorted(path.stem for path in (root / "models").glob("*.toml"))
    assert len(model_names()) >= 26
