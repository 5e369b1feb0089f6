"""Every block of the README does what the README says; the test command itself is run by .ci/run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = [
    (match["language"], match["body"])
    for match in re.finditer(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
]
COMMAND = [sys.executable, "-c", "from fepysr_dyn.cli import main; main()"]
ENVIRONMENT = {**os.environ, "COLUMNS": "110"}


def run(call, folder):
    words = shlex.split(call)
    assert Path(words[0]).name == "fepysr-dyn", call
    done = subprocess.run(
        [*COMMAND, *words[1:]],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def shell_blocks():
    return [body for language, body in BLOCKS if language == "sh" and "pytest" not in body]


def test_the_main_command_prints_what_the_readme_shows(tmp_path):
    main = shell_blocks()[0].strip().split("&&")[-1].strip()
    shown = next(body for language, body in BLOCKS if not language)
    printed = run(main, tmp_path)
    for line in shown.splitlines():
        # Rounding may differ in the last digits of an error; the equations and the verdict may not.
        if line.startswith(("dX", "Confidence", "Integrated")):
            assert line in printed


@pytest.mark.parametrize("block", shell_blocks()[1:])
def test_shell_blocks_run(block, tmp_path):
    for line in block.strip().splitlines():
        run(line, tmp_path)


@pytest.mark.parametrize("block", [body for language, body in BLOCKS if language == "python"])
def test_python_blocks_run(block, tmp_path):
    code = [sys.executable, "-c", block]
    done = subprocess.run(code, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    assert "dx/dt" in done.stdout


def test_commands_and_files_that_are_named_exist():
    from fepysr_dyn.cli.app import app

    named = set(re.findall(r"^\| `([\w-]+)` \|", TEXT, re.MULTILINE))
    assert named == {command.name for command in app.registered_commands}
    for path in re.findall(r"(?:examples|fepysr_dyn)/[\w/]+\.\w+", TEXT):
        assert (ROOT / path).exists(), path
