"""The project's own files: what the README says is what is run."""

import json
import os
import re
import subprocess
import sys
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


def test_version_is_said_once():
    import fepysr_dyn

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == fepysr_dyn.__version__


def test_models_are_found_in_a_checkout_and_in_an_installed_wheel(tmp_path):
    """pip builds a wheel and installs it elsewhere; what is imported from there has its own models."""
    from fepysr_dyn.model_files import model_names, models_directory

    assert models_directory() == ROOT / "models"
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "-q"]
    offline = ["--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "wheel", *offline, "-w", tmp_path, ROOT], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("fepysr_dyn-*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", installed, wheel], check=True, cwd=tmp_path)
    for kind in ("html", "css", "js"):
        assert (installed / "fepysr_dyn" / "report" / "templates" / f"report.{kind}").exists()
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
        env={**os.environ, "PYTHONPATH": str(installed)},
    )
    folder, names, states = json.loads(done.stdout)
    assert Path(folder) == installed / "fepysr_dyn" / "models"
    assert names == model_names()
    assert states == ["X1", "X2"]
