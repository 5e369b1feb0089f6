"""The commands as a user calls them: tables, one JSON document, files, figures, exit codes."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.cli import derive, models, simulate
from fepysr_dyn.trajectories import with_role

PNG = b"\x89PNG\r\n\x1a\n"
PROGRAM = [sys.executable, "-m", "fepysr_dyn.cli"]


def document(answer):
    """Return the JSON document, which must be all there is on stdout."""
    assert answer.code == 0, answer.err
    return json.loads(answer.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_models_lists_every_model(command):
    answer = command("models")
    assert answer.code == 0
    for name in fd.model_names():
        assert f" {name} " in answer.out
    listed = document(command("models", "--json"))
    assert [entry["name"] for entry in listed] == fd.model_names()
    tyson = next(entry for entry in listed if entry["name"] == "tyson_two_protein")
    assert (tyson["states"], tyson["inputs"]) == (["X1", "X2"], ["S"])


def test_models_shows_one(command):
    answer = command("models", "tyson_two_protein")
    for text in ("dX1/dt = gamma1*", "A1 = exp(", "gamma1", "0, 20, 40", "3000 samples", "Reference: Tyson"):
        assert text in answer.out
    shown = document(command("models", "tyson_two_protein", "--json"))
    assert shown["parameters"]["a21"] == 0.5
    assert shown["states"]["X1"]["initial"] == 0.5


def test_simulate_prints_the_series_it_would_write(command):
    shown = document(command("simulate", "tyson_two_protein", "--samples", "30", "--rates", "--json"))
    run = fd.simulate(_short("tyson_two_protein", 30), rates=True)[0]
    assert shown["experiments"][0]["breakpoints"] == [20.0, 40.0]
    assert shown["experiments"][0]["outcome"] == "complete"
    for name in ("time", "X1", "X2", "S", "dX1", "dX2"):
        assert shown["experiments"][0]["data"][name] == run[name].to_numpy().tolist()


def test_simulate_writes_csv_with_the_columns_of_the_format(command):
    answer = command("simulate", "chemostat", "--samples", "20", "-o", "out.csv")
    assert answer.code == 0
    assert "written: out.csv" in answer.out
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0] == "experiment,time,X,S,D"
    assert len(lines) == 1 + 20 * 2
    shown = document(command("simulate", "chemostat", "--samples", "20", "-o", "out.csv", "--json"))
    assert shown["out"] == "out.csv"
    assert "data" not in shown["experiments"][0]


def test_simulate_options_reach_the_simulation(command):
    options = ["--noise", "0.1", "--noise-kind", "multiplicative", "--missing", "0.2", "--irregular", "0.5"]
    call = ["simulate", "lorenz", *options, "--samples", "60", "--duration", "3", "--seed", "4", "--json"]
    first, again = document(command(*call)), document(command(*call))
    assert first == again
    data = first["experiments"][0]["data"]
    assert 0 < sum(value is None for value in data["x"]) < 30
    assert max(data["time"]) < 3
    assert len(set(np.diff(data["time"]).round(12))) > 10
    other = document(command(*call[:-2], "5", "--json"))
    assert other["experiments"][0]["data"]["x"] != data["x"]


def test_simulate_takes_parameters_and_initial_values(command):
    call = ["simulate", "lorenz", "--samples", "5", "--set", "rho=0.5", "--initial", "x=7", "--json"]
    shown = document(command(*call))
    for experiment in shown["experiments"]:
        assert experiment["data"]["x"][0] == 7.0
        assert abs(experiment["data"]["x"][-1]) < 7.0


def test_a_blow_up_is_an_answer_of_no(command):
    Path("model.toml").write_text('[states.x]\ninitial = 1\nrate = "x**2"\n[protocol]\nduration = 3\n')
    answer = command("simulate", "model.toml", "-o", "out.csv")
    assert answer.code == 1
    assert answer.err.count("\n") == 1
    assert "default" in answer.err
    reached = np.genfromtxt("out.csv", delimiter=",", names=True)["time"]
    assert 0.9 < reached[-1] < 1.0


def test_derive_from_csv_and_netcdf_agrees(command):
    command("simulate", "tyson_two_protein", "--samples", "300", "-o", "data.csv")
    command("simulate", "tyson_two_protein", "--samples", "300", "-o", "data.nc")
    from_csv = document(command("derive", "data.csv", "--input", "S", "--json"))["experiments"][0]
    from_netcdf = document(command("derive", "data.nc", "--json"))["experiments"][0]
    assert (from_csv["breakpoints_from"], from_netcdf["breakpoints_from"]) == ("detected", "declared")
    assert from_csv["breakpoints"] == from_netcdf["breakpoints"] == [20.0, 40.0]
    assert from_csv["data"] == from_netcdf["data"]
    assert set(from_csv["choices"]) == {"X1", "X2"}
    truth = fd.simulate(_short("tyson_two_protein", 300), rates=True)[0]
    assert np.allclose(from_csv["data"]["dX1"], truth["dX1"], atol=1e-4)


def test_derive_writes_what_can_be_read_back(command):
    command("simulate", "tyson_two_protein", "--samples", "60", "-o", "data.csv")
    answer = command("derive", "data.csv", "--input", "S", "--state", "X1", "-o", "slopes.nc")
    assert answer.code == 0
    assert "breakpoints at 20, 40 (detected)" in answer.out
    run = fd.read_trajectories("slopes.nc")[0]
    assert with_role(run, "state") == ("X1",)
    assert {"X1_se", "dX1", "dX1_se", "S"} <= set(run.data_vars)
    command("derive", "data.csv", "--input", "S", "-o", "slopes.csv")
    header = Path("slopes.csv").read_text().splitlines()[0]
    assert header == "experiment,time,X1,X1_se,dX1,dX1_se,X2,X2_se,dX2,dX2_se,S"


def test_derive_takes_declared_breakpoints(command):
    command("simulate", "tyson_two_protein", "--samples", "60", "-o", "data.csv")
    for text, points in (("none", []), ("20", [20.0]), ("20, 40", [20.0, 40.0])):
        shown = document(command("derive", "data.csv", "--input", "S", "--breakpoints", text, "--json"))
        assert shown["experiments"][0]["breakpoints"] == points
        assert shown["experiments"][0]["breakpoints_from"] == "declared"


def test_derive_reads_other_dialects(command):
    Path("data.csv").write_text("t;x\n" + "".join(f"{i},0;{i * i},5\n" for i in range(10)))
    answer = command("derive", "data.csv", "--delimiter", ";", "--decimal", ",", "--time", "t", "--json")
    assert document(answer)["experiments"][0]["data"]["time"][:2] == [0.0, 1.0]


def test_warnings_go_to_stderr_and_into_the_document(command):
    Path("data.csv").write_text("time,x,u\n" + "".join(f"{i},{i * i},1\n" for i in range(10)))
    answer = command("derive", "data.csv", "--input", "u", "--json")
    assert document(answer)["warnings"] == ["input 'u' is 1 at all times: its effect cannot be learned"]
    assert answer.err == "fepysr-dyn: warning: input 'u' is 1 at all times: its effect cannot be learned\n"


@pytest.mark.parametrize(("suffix", "start"), [("png", PNG), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_figures(suffix, start, command):
    command("simulate", "chemostat", "--samples", "50", "-o", "data.csv", "--plot", f"runs.{suffix}")
    answer = command("derive", "data.csv", "--input", "D", "--plot", f"slopes.{suffix}")
    assert answer.code == 0
    for name in ("runs", "slopes"):
        assert Path(f"{name}.{suffix}").read_bytes().startswith(start)


def test_the_examples_of_the_help_texts_work(command):
    for text in (*models.EXAMPLES, *simulate.EXAMPLES, *derive.EXAMPLES):
        program, *arguments = shlex.split(text)
        assert program == "fepysr-dyn"
        answer = command(*arguments)
        assert answer.code == 0, answer.err
        assert answer.out


def test_help_and_version(command):
    assert command("--version").out == f"fepysr-dyn {fd.__version__}\n"
    for arguments in ([], ["--help"], ["-h"]):
        answer = command(*arguments)
        assert answer.code == 0
        for name in ("models", "simulate", "derive"):
            assert name in answer.out
    assert "Examples" in command("simulate", "--help").out


def test_no_colours_outside_of_a_terminal(command):
    assert "\x1b" not in command("models").out
    assert "\x1b" not in command("--help").out


def test_interruption_is_one_line(command, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("fepysr_dyn.model_files.load_model", interrupted)
    answer = command("simulate", "lorenz")
    assert (answer.code, answer.err) == (130, "fepysr-dyn: interrupted\n")


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("absent.csv", None, "absent.csv: there is no such file"),
        ("words.csv", b"time,x\n0,a\n", "words.csv: line 2, column 'x': expected a number, found 'a'"),
        ("cut.nc", b"\x89HDF\r\n\x1a\n", "cut.nc: cannot be read as NetCDF, it may be damaged: "),
    ],
)
def test_a_real_process_refuses_with_one_line(name, content, text, tmp_path):
    """Nothing else is printed either, as the process ends and libraries clean up."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = subprocess.run(
        [*PROGRAM, "derive", name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"fepysr-dyn: {text}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["models"], ["simulate", "lorenz", "--json"], ["--help"]])
def test_a_real_process_survives_a_closed_pipe(arguments, tmp_path):
    """What reads the output has left before it comes, as ``| head`` does."""
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 1


def test_a_real_process_is_interrupted(tmp_path):
    """The signal comes when the command is at work, on a simulation that would last for hours."""
    call = ["simulate", "lorenz", "--duration", "1e8", "--samples", "10000", "--time-limit", "3600"]
    program = (
        # Where the tests run in the background of a shell, the signal is ignored unless asked for.
        "import os, signal, threading; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "import fepysr_dyn.simulation; from fepysr_dyn.cli import main;"
        "threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT)).start();"
        f"main({call})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "fepysr-dyn: interrupted\n")


def _short(name, samples):
    from fepysr_dyn.simulation import resampled

    return resampled(fd.load_model(name), samples=samples)
