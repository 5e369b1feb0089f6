"""The project's own files: what the README says is what is run."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
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
    used = set(re.findall(r"fepysr-dyn ([a-z]+)", readme))
    assert used
    assert used <= known


def test_version_is_said_once():
    import fepysr_dyn

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == fepysr_dyn.__version__


def test_models_are_found_in_a_checkout_and_in_a_wheel(tmp_path):
    """A wheel is built and unpacked; what is imported from there has the same models, in its own folder."""
    from fepysr_dyn.model_files import model_names, models_directory

    assert models_directory() == ROOT / "models"
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        tmp_path,
        ROOT,
    ]
    subprocess.run(build, check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("fepysr_dyn-*.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        assert {f"fepysr_dyn/report/templates/report.{kind}" for kind in ("html", "css", "js")} <= set(
            archive.namelist()
        )
        archive.extractall(unpacked)
    code = (
        "import json; from fepysr_dyn.model_files import load_model, model_names, models_directory;"
        "print(json.dumps([str(models_directory()), model_names(), load_model('tyson_two_protein').states]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
    )
    folder, names, states = json.loads(done.stdout)
    assert Path(folder) == unpacked / "fepysr_dyn" / "models"
    assert names == model_names()
    assert states == ["X1", "X2"]
