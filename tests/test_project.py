"""The project's own files: what the README says is what is run."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def readme():
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_ci_finds_the_test_command_of_the_readme(readme):
    """The script takes the block after the marker; it must be there once and be one line."""
    block = re.findall(r"<!-- test command.*?-->\s*```sh\n(.*?)```", readme, flags=re.DOTALL)
    assert len(block) == 1
    assert block[0].count("\n") == 1
    for part in ("python3 -m venv .venv", "-c constraints.txt", ".venv/bin/pytest"):
        assert part in block[0]
    assert "<!-- test command" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_commands_of_the_readme_exist(readme):
    from fepysr_dyn.cli import app

    known = {command.name for command in app.registered_commands}
    used = set(re.findall(r"^[^#\n]*?fepysr-dyn ([a-z]+)", readme, flags=re.MULTILINE))
    assert used
    assert used <= known


def test_version_is_said_once():
    import fepysr_dyn

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == fepysr_dyn.__version__
