"""The command discover as a user calls it."""

import json

import pytest

from fepysr_dyn.cli.app import run
from fepysr_dyn.discovery import DiscoveryConfig, EquationPrior
from fepysr_dyn.discovery.run_files import DataSettings, RunSettings, read_run, write_run


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


class TestConfig:
    RUN = """
    engine = "sparse"
    features = false
    operators = ["+", "-", "*"]
    max_complexity = 12
    evaluations = 3000
    resamples = 2
    seed = 4

    [data]
    inputs = ["u"]

    [equations.x]
    columns = ["x"]
    known = "-0.5*x"
    bounds = { "x" = [-2, 0] }
    """

    @pytest.fixture
    def config(self, tmp_path):
        path = tmp_path / "run.toml"
        path.write_text(self.RUN)
        return path

    def test_a_run_is_read_and_what_was_used_is_written(self, data, config, tmp_path, capsys):
        out = tmp_path / "out"
        call = ["discover", str(data), "--config", str(config), "--seed", "6", "--json"]
        assert run([*call, "-o", str(out)]) == 0
        first = json.loads(capsys.readouterr().out)
        assert first["provenance"]["seed"] == 6
        assert first["provenance"]["config"]["priors"]["x"]["known"] == "-0.5*x"
        used = read_run(out / "config.toml")
        assert used.seed == 6
        assert used.config.priors["x"].bounds == {"x": (-2.0, 0.0)}
        assert used.data.inputs == ("u",)
        again = ["discover", str(data), "--config", str(out / "config.toml"), "--json"]
        assert run(again) == 0
        assert json.loads(capsys.readouterr().out)["states"] == first["states"]
        log = (out / "log.txt").read_text()
        assert "search x pointwise: chose" in log
        assert "validation: done in" in log

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('engin = "sparse"', "unknown key 'engin'; did you mean 'engine'?"),
            ('[equations.x]\ncolums = ["x"]', "unknown key 'equations.x.colums'; did you mean 'columns'?"),
            ('[data]\ninput = ["u"]', "unknown key 'data.input'; did you mean 'inputs'?"),
            ("evaluations = 0", "evaluations must be at least 1, got 0"),
            ('seed = "many"', "key 'seed': expected a valid integer"),
            ('[equations.x]\nbounds = { "x" = [1] }', "key 'equations.x.bounds.x.1'"),
            ('[equations.x]\nbounds = { "x" = [1, 0] }', "expected low <= high"),
            ("data = 3", "key 'data': expected a table, found 3"),
            ('operators = ["%"]', "unknown operator '%'"),
            ('[equations.z]\nknown = "x"', "no state 'z' in the data"),
            ("seed =", "not valid TOML"),
        ],
    )
    def test_mistakes_end_in_one_line(self, data, tmp_path, capsys, text, message):
        path = tmp_path / "wrong.toml"
        path.write_text(text)
        assert run(["discover", str(data), "--config", str(path)]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert len(printed.err.strip().splitlines()) == 1
        assert message in printed.err

    def test_every_setting_survives_its_file(self, tmp_path):
        settings = RunSettings(
            DiscoveryConfig(
                engine="rational",
                features=False,
                seconds_per_state=float("inf"),
                priors={"x": EquationPrior(required=("x*y",), decreases_with=("y",), bounds={"x": (0, 2)})},
            ),
            seed=9,
            time_limit=12.5,
            data=DataSettings(inputs=("u",), delimiter=";", decimal=",", noise=0.05),
        )
        write_run(settings, tmp_path / "run.toml")
        assert read_run(tmp_path / "run.toml") == settings


def test_nothing_validated_ends_with_one_the_best_attempts_and_the_reason(tmp_path, capsys):
    rows = "".join(f"{i / 10},{(i * 7919) % 13},{(i * 104729) % 17}\n" for i in range(60))
    (tmp_path / "noise.csv").write_text("time,x,y\n" + rows)
    (tmp_path / "run.toml").write_text(TestConfig.RUN.split("[data]")[0])
    call = ["discover", str(tmp_path / "noise.csv"), "--config", str(tmp_path / "run.toml")]
    assert run([*call, "--workers", "1"]) == 1
    shown = capsys.readouterr().out
    for text in ("Not validated", "experiment 'noise'", "R²", "Best attempts", "What to try:"):
        assert text in shown
    assert run([*call, "--workers", "1", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["validation"]["reproduced"] is False
    assert document["reasons"]
    assert "something that drives it may not be measured" in " ".join(document["advice"])
    assert {"x", "y"} == set(document["states"])
    assert all(state["front"] for state in document["states"].values())


def test_worker_processes_and_a_bad_number_of_them(data, capsys):
    call = ["discover", str(data), "--input", "u", "--engine", "sparse", "--workers"]
    assert run([*call, "0"]) == 2
    assert "--workers: expected at least 1, found 0" in capsys.readouterr().err
    assert run([*call, "some"]) == 2
    assert "expected a whole number" in capsys.readouterr().err
