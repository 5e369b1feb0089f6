"""Completion in a real shell process."""

import os
import subprocess
import sys

import pytest

CALL = [sys.executable, "-c", "from fepysr_dyn.cli import main; main()"]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("fepysr-dyn disc", ["discover"]), ("fepysr-dyn simulate tyson_t", ["tyson_two_protein"])],
)
def test_commands_and_models_are_completed(typed, expected):
    environment = {
        **os.environ,
        "_FEPYSR_DYN_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    answer = subprocess.run(CALL, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert answer.stdout.split() == expected
