"""Every suite, from its command: killed at a random moment, it finishes on the second call."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fepysr_dyn.benchmarks.records import read_lines
from fepysr_dyn.benchmarks.suites.registry import SUITES

pytestmark = pytest.mark.slow

#: A small part of each suite, a few units that take seconds each.
PARTS = {
    "standard": "--only Nguyen-1,Nguyen-5,Jin-1 --runs 1 --cap 5",
    "recover": "--only Recover-1,Recover-2,Recover-3 --runs 1 --cap 5",
    "unrecover": "--only Unrecover-1,Unrecover-7 --cap 3",
    "tyson": "--runs 1 --cap 6",
    "noise": "--only Recover-34 --runs 1 --cap 3",
    "features": "--only Recover-34 --cap 4",
    "ablation": "--only Recover-34 --runs 1 --cap 2",
    "odes": "--only michaelis_menten --noise 0 --cap 4",
    "derivatives": "--only pendulum,lotka_volterra --noise 0,0.05",
    "stage1-quality": "--only Recover-34 --runs 1",
    "stage1-speed": "--only batched",
    "engine-speed": "--only Recover-1,Recover-34 --cap 2",
    "ingest": "--only 10000,100000",
}
#: A suite that takes longer than this hangs.
_PATIENCE = 500


def bench(name, out):
    """Start a suite; what it prints goes nowhere, so that no pipe fills up."""
    program = str(Path(sys.executable).with_name("fepysr-dyn"))
    command = [program, "bench", name, *PARTS[name].split(), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def lines_of(out):
    return out.read_text().splitlines() if out.exists() else []


@pytest.mark.parametrize("name", SUITES)
def test_a_killed_suite_finishes_without_repeating(name, tmp_path):
    out = tmp_path / "lines.jsonl"
    moment = random.Random(name).random()  # noqa: S311
    process = bench(name, out)
    give_up = time.monotonic() + _PATIENCE
    while process.poll() is None and not lines_of(out) and time.monotonic() < give_up:
        time.sleep(0.05)
    time.sleep(2 * moment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    # A line that was being written when the end came is set aside, not kept.
    kept = [line for line in lines_of(out) if line.endswith("}")]
    assert kept
    assert bench(name, out).wait(timeout=_PATIENCE) == 0
    assert lines_of(out)[: len(kept)] == kept
    units = [_unit_of(line) for line in read_lines(out)]
    assert len(set(units)) == len(units) >= 2


def _unit_of(line):
    """Return what tells a unit apart: all that is not an answer."""
    asked = [
        "problem",
        "seed",
        "side",
        "noise",
        "engine",
        "features",
        "top",
        "preset",
        "tool",
        "rows",
        "runs",
    ]
    return tuple(str(line.get(key)) for key in asked)
