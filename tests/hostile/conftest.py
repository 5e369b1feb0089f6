"""A place in which a hostile file is tried: a secret beside it, and nothing may be read, run or written."""

import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from fepysr_dyn.cli.app import run

SECRET = "nobody may read this"  # noqa: S105
_opened: list[str] = []
_watching: list[str] = []


def _watch(event, arguments):
    if _watching and event == "open" and isinstance(arguments[0], str | bytes | Path):
        _opened.append(str(arguments[0]))


sys.addaudithook(_watch)


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


class World:
    """A folder to work in, with a secret outside of it."""

    def __init__(self, root: Path, read_output) -> None:
        self.root = root
        self.work = root / "work"
        self.secret = root / "secret.txt"
        self._read_output = read_output
        self.work.mkdir()
        self.secret.write_text(SECRET)

    def contents(self) -> dict[str, bytes | None]:
        found = {}
        for path in sorted(self.root.rglob("*")):
            plain = path.is_file() and not path.is_symlink()
            found[str(path.relative_to(self.root))] = path.read_bytes() if plain else None
        return found

    def call(self, *arguments: str, may_write: tuple[str, ...] = ()) -> Answer:
        """Run a command and check what must hold for every file, good or bad."""
        before = self.contents()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.monotonic()
        _watching.append("")
        try:
            code = run([str(argument) for argument in arguments])
        finally:
            _watching.clear()
        output = self._read_output()
        opened = [path for path in _opened if os.path.realpath(path) == str(self.secret)]
        _opened.clear()
        after = self.contents()
        assert opened == [], "another file was read"
        assert SECRET not in output.out + output.err, "another file was shown"
        assert {k: v for k, v in after.items() if k not in may_write} == {
            k: v for k, v in before.items() if k not in may_write
        }, "something was written"
        assert time.monotonic() - start < 100
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
        assert grown < 600_000, f"{grown} kB more memory"
        return Answer(code, output.out, output.err)

    def refused(self, *arguments: str, saying: str = "") -> None:
        """Run a command that must end in exit code 2 and one line."""
        answer = self.call(*arguments)
        assert answer.code == 2, answer
        assert answer.out == ""
        assert answer.err.startswith("fepysr-dyn: ")
        assert answer.err.count("\n") == 1, answer.err
        assert answer.err.rstrip("\n").isprintable()
        assert len(answer.err) < 600
        assert "Traceback" not in answer.err
        assert saying in answer.err, answer.err


@pytest.fixture
def world(tmp_path, monkeypatch, capsys):
    made = World(tmp_path, capsys.readouterr)
    monkeypatch.chdir(made.work)
    return made
