"""Units in real processes: what is finished stays, what goes wrong is recorded, nothing stops the others."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from fepysr_dyn.benchmarks.isolation import Request, allow_starting, run_isolated, stop_all
from fepysr_dyn.benchmarks.limits import Limits
from fepysr_dyn.benchmarks.records import RecordFile, read_lines
from fepysr_dyn.benchmarks.runner import Conditions, local_executor, run_units
from fepysr_dyn.benchmarks.units import Unit, pending

ADD, MISBEHAVE, CLOCKS = (f"small_units:{name}" for name in ("add", "misbehave", "clocks"))


def units(count, suite="sums", **setting):
    return [Unit(suite, f"p{i}", seed, {"a": i, **setting}) for i in range(count) for seed in (0, 1)]


def carry_out(path, asked, task=ADD, workers=1, limits=None, **options):
    conditions = Conditions(limits or Limits(60.0, 2000.0))
    with RecordFile(path) as records, local_executor(workers) as executor:
        return run_units(asked, task, records, executor, conditions=conditions, **options)


def test_every_unit_becomes_a_line(tmp_path):
    out = tmp_path / "lines.jsonl"
    run = carry_out(out, units(2), workers=2)
    assert run.complete
    assert [(line["problem"], line["seed"], line["sum"]) for line in run.lines] == [
        ("p0", 0, 0),
        ("p0", 1, 1),
        ("p1", 0, 1),
        ("p1", 1, 2),
    ]
    assert len(out.read_text().splitlines()) == 4
    assert all(line["versions"].startswith("fepysr-dyn") for line in run.lines)
    assert len({line["pid"] for line in run.lines} - {os.getpid()}) in (1, 2)


def test_a_second_call_computes_only_what_is_missing(tmp_path):
    out = tmp_path / "lines.jsonl"
    first = carry_out(out, units(1))
    again = carry_out(out, units(2))
    assert (first.computed, again.computed) == (2, 2)
    assert carry_out(out, units(2)).computed == 0
    assert carry_out(out, units(2, b="new")).computed == 0, "a setting the lines do not know is not compared"
    assert carry_out(out, units(2, suite="other")).computed == 4


def test_failures_are_recorded_with_their_reason_and_do_not_stop_the_others(tmp_path):
    kinds = ("exit", "fine", "raise", "abort", "hang", "burst", "fine too")
    asked = [Unit("bad", kind, 0) for kind in kinds]
    run = carry_out(tmp_path / "lines.jsonl", asked, MISBEHAVE, limits=Limits(3.0, 1000.0))
    errors = {line["problem"]: line.get("error") for line in run.lines}
    assert run.complete
    assert errors.pop("exit") == "crashed: the process ended with exit code 3 (about to leave)"
    assert errors.pop("raise") == "ValueError: not this way"
    assert "signal 6 (Fatal Python error: Aborted)" in errors.pop("abort")
    assert errors.pop("hang") == "hung: no answer after 3 s"
    assert errors.pop("burst") == "out of memory"
    assert errors == {"fine": None, "fine too": None}


def test_a_unit_that_eats_memory_is_ended(tmp_path):
    asked = [Unit("bad", kind, 0) for kind in ("eat", "fine")]
    run = carry_out(tmp_path / "lines.jsonl", asked, MISBEHAVE, limits=Limits(60.0, 300.0))
    assert run.lines[0]["error"] == "out of memory: more than 300 MB"
    assert "error" not in run.lines[1]


def test_failed_units_are_retried_on_request(tmp_path):
    out = tmp_path / "lines.jsonl"
    asked = [Unit("bad", "raise", 0), Unit("bad", "fine", 0)]
    assert carry_out(out, asked, MISBEHAVE).computed == 2
    assert carry_out(out, asked, MISBEHAVE).computed == 0
    run = carry_out(out, asked, ADD, retry_failed=True)
    assert run.computed == 1
    assert [line.get("error") for line in run.lines] == [None, None]


def test_a_damaged_last_line_is_set_aside(tmp_path):
    out = tmp_path / "lines.jsonl"
    carry_out(out, units(2))
    good = out.read_bytes()
    out.write_bytes(good + b'{"suite": "sums", "problem": "p7", "se')
    with RecordFile(out) as records:
        assert (len(records.lines), records.set_aside) == (4, 1)
        assert b'"p7", "se' in records.aside.read_bytes()
    assert out.read_bytes() == good
    assert carry_out(out, units(2)).computed == 0


def test_a_line_that_lost_only_its_end_is_kept(tmp_path):
    out = tmp_path / "lines.jsonl"
    out.write_bytes(b'{"problem": "a"}\nrubbish\n{"problem": "b"}')
    with RecordFile(out) as records:
        records.append({"problem": "c", "value": float("nan")})
    assert [line["problem"] for line in read_lines(out)] == ["a", "b", "c"]
    assert read_lines(out)[-1]["value"] is None


def test_two_runs_do_not_fill_one_file(tmp_path):
    from fepysr_dyn.errors import DataError

    with RecordFile(tmp_path / "lines.jsonl"), pytest.raises(DataError, match="another run is filling"):
        RecordFile(tmp_path / "lines.jsonl")


@pytest.mark.parametrize(("clock", "least", "most"), [("wall", 0.45, 30.0), ("cpu", 0.0, 0.2)])
def test_the_clock_of_a_cap(clock, least, most):
    line = run_isolated(Request(CLOCKS, Unit("clock", "c"), clock=clock, threads=3))
    stop_all()
    assert run_isolated(Request(CLOCKS, Unit("clock", "c")))["error"] == "stopped"
    allow_starting()
    assert least <= line["passed"] <= most
    assert line["threads"] == "3"


def test_any_executor_will_do(tmp_path):
    with RecordFile(tmp_path / "lines.jsonl") as records, ProcessPoolExecutor(1) as executor:
        run = run_units(units(1), ADD, records, executor)
    assert [line["sum"] for line in run.lines] == [0, 1]


def runner_process(out, journal, count=8):
    """Start a whole runner that is going to be killed."""
    code = (
        "import sys, json; from pathlib import Path;"
        "from fepysr_dyn.benchmarks.records import RecordFile;"
        "from fepysr_dyn.benchmarks.runner import local_executor, run_units;"
        "from fepysr_dyn.benchmarks.units import Unit;"
        "asked = [Unit(**entry) for entry in json.loads(sys.argv[2])];"
        "records = RecordFile(Path(sys.argv[1]));\n"
        "with local_executor(2) as executor:\n"
        f"    run = run_units(asked, {ADD!r}, records, executor)\n"
        "assert len(run.lines) == len(records.path.read_text().splitlines())\n"
        "sys.exit(0 if run.complete else 130)"
    )
    asked = json.dumps([vars(unit) for unit in units(count, sleep=0.1, journal=str(journal))])
    return subprocess.Popen([sys.executable, "-c", code, str(out), asked])


def test_a_killed_runner_goes_on_without_repeating(tmp_path):
    """Killed at random moments until it is done; a finished unit is computed once and never again."""
    out, journal = tmp_path / "lines.jsonl", tmp_path / "journal"
    moments = random.Random(5)  # noqa: S311
    kept: list[str] = []
    for _ in range(4):
        process = runner_process(out, journal)
        time.sleep(0.4 + moments.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = out.read_text().splitlines() if out.exists() else []
        assert now[: len(kept)] == kept
        kept = now
    assert runner_process(out, journal).wait() == 0
    lines = read_lines(out)
    assert not pending(units(8, sleep=0.1, journal=str(journal)), lines)
    places = [(line["problem"], line["seed"]) for line in lines]
    assert len(places) == len(set(places)) == 16
    # Only units that were under way when the runner was killed may have been computed twice.
    assert len(journal.read_text().splitlines()) <= 16 + 2 * 4


def test_the_processes_of_a_killed_runner_end(tmp_path):
    out = tmp_path / "lines.jsonl"
    process = runner_process(out, tmp_path / "journal", count=50)
    while not (out.exists() and out.read_text().count("\n") > 1):
        time.sleep(0.05)
    pids = {line["pid"] for line in read_lines(out)}
    process.kill()
    process.wait()
    deadline = time.monotonic() + 5
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in pids)


def test_ctrl_c_ends_cleanly_within_two_seconds(tmp_path):
    out = tmp_path / "lines.jsonl"
    process = runner_process(out, tmp_path / "journal", count=50)
    while not (out.exists() and out.read_text().count("\n") > 1):
        time.sleep(0.05)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert time.monotonic() - start < 2
    assert all(line is not None for line in map(json.loads, out.read_text().splitlines()))


def _alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
