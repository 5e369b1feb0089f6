"""Running the command line inside the test process."""

from dataclasses import dataclass

import pytest

from fepysr_dyn.cli.app import run


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Call the command line in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Answer:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call
