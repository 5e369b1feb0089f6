"""A run that is killed or interrupted continues and ends with the result of one that was not."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from fepysr_dyn.cli.app import run

RUN = """
engine = "{engine}"
features = false
operators = ["+", "-", "*"]
max_complexity = 15
evaluations = {evaluations}
seconds_per_state = inf
max_rows = 60
resamples = 3
"""
MODEL = """
[states.x]
initial = 0.2
rate = "0.8*x - 0.4*x*y"
[states.y]
initial = 1.0
rate = "0.3*x*y - 0.5*y"
[protocol]
duration = 10
samples = 80
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    (folder / "model.toml").write_text(MODEL)
    (folder / "run.toml").write_text(RUN.format(engine="sparse", evaluations=20000))
    (folder / "endless.toml").write_text(RUN.format(engine="evolution", evaluations=10**10))
    return folder


def arguments(folder, out, *more, config="run.toml"):
    call = ["discover", folder / "model.toml", "--noise", "0.01", "--config", folder / config]
    return [str(part) for part in (*call, "-o", out, *more)]


def started(folder, out, *more, config="run.toml"):
    command = [sys.executable, "-m", "fepysr_dyn.cli", *arguments(folder, out, *more, config=config)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def result(out):
    document = json.loads((out / "result.json").read_text())
    del document["seconds"], document["provenance"]["command"]
    return document


def gone(group, seconds=20.0):
    """Return whether all processes of a group end within some time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.fixture(scope="module")
def uninterrupted(folder):
    """The result of a run in a process of its own, and how many seconds it took."""
    out = folder / "uninterrupted"
    began = time.monotonic()
    process = started(folder, out)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return result(out), time.monotonic() - began


def killed_and_resumed(folder, out, moment, *more):
    process = started(folder, out, *more)
    time.sleep(moment)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert gone(process.pid)
    kept = len(list((out / "checkpoint").glob("*-*.json"))) if out.exists() else 0
    assert run(arguments(folder, out, "--resume", *more)) == 0
    return kept


@pytest.mark.parametrize(("share", "workers"), [(0.55, "1"), (0.8, "2")])
def test_a_killed_run_ends_the_same(folder, uninterrupted, share, workers, capsys):
    expected, seconds = uninterrupted
    out = folder / f"killed{workers}"
    killed_and_resumed(folder, out, share * seconds, "--workers", workers)
    assert result(out) == expected


@pytest.mark.slow
def test_ten_random_moments(folder, uninterrupted, capsys):
    expected, seconds = uninterrupted
    moments = np.random.default_rng(5)
    seen = []
    for number in range(10):
        out = folder / f"random{number}"
        moment = float(moments.uniform(0.0, 1.0)) * seconds
        kept = killed_and_resumed(folder, out, moment, "--workers", str(1 + number % 2))
        assert result(out) == expected
        seen.append((round(moment, 1), kept))
        shutil.rmtree(out)
    with capsys.disabled():
        sys.stdout.write(f"\n{seconds:.1f} s uninterrupted; killed after (s, units kept): {seen}\n")
    assert len({kept for _, kept in seen}) > 1


@pytest.mark.parametrize(("workers", "more"), [("1", ["--json"]), ("2", [])])
def test_ctrl_c_is_answered_with_what_was_found(folder, workers, more):
    out = folder / f"interrupted{workers}"
    process = started(folder, out, "--workers", workers, *more, config="endless.toml")
    log = out / "log.txt"
    until = time.monotonic() + 120
    while time.monotonic() < until and not (log.exists() and "evolving" in log.read_text()):
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    began = time.monotonic()
    process.wait(timeout=60)
    # Two seconds on a machine that has nothing else to do.
    assert time.monotonic() - began < 8
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    if more:
        document = json.loads(printed)
        assert document["interrupted"] is True
        assert all(not state["complete"] for state in document["states"].values())
    else:
        assert "Found so far" in printed or "Interrupted before" in printed
    assert "Traceback" not in errors
    assert "--resume continues from there" in errors
    assert gone(process.pid)
    assert list((out / "checkpoint").glob("derivatives-*.json"))


def test_units_of_another_run_are_refused_in_one_line(folder, uninterrupted, capsys):
    out = folder / "uninterrupted"
    assert run(arguments(folder, out, "--resume", "--seed", "9")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "other data" in captured.err
    assert "another seed (0, not 9)" in captured.err
    assert result(out) == uninterrupted[0]
    # Nor does a mistyped call without --resume cost what is there.
    assert run(["discover", str(folder / "nothing.csv"), "-o", str(out)]) == 2
    assert run(["discover", str(folder / "model.toml"), "--noise", "0.01", "-o", str(out), "--resume"]) == 0
    assert result(out) == uninterrupted[0]
    assert ": done in" not in (out / "log.txt").read_text().split("fepysr-dyn 0")[-1]


def test_resuming_needs_a_folder(folder, capsys):
    call = ["discover", str(folder / "model.toml"), "--resume"]
    assert run(call) == 2
    assert "expected -o" in capsys.readouterr().err
