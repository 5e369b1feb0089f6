"""A confined program can open and write nothing, has little memory and time, and loads nothing from here."""

import subprocess
import sys
from pathlib import Path

import pytest

from fepysr_dyn.confined.running import answer_of

START = "from fepysr_dyn.confined.limits import confine, answering_alone; import os\n"
TRIES = {
    "open a file": ("open('/etc/hostname')", "OSError"),
    "open a directory": ("os.listdir('/')", "OSError"),
    "open a connection": ("import _socket; _socket.socket()", "OSError"),
    "start a program": ("os.pipe()", "OSError"),
    "fill the memory": ("bytearray(2_000_000_000)", "MemoryError"),
}


def confined(body, **options):
    code = f"{START}import _socket\nconfine(memory=1_000_000_000, seconds=1)\n{body}\n"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, **options
    )


@pytest.mark.skipif(sys.platform == "win32", reason="limits of this kind are POSIX's")
@pytest.mark.parametrize("name", TRIES)
def test_what_is_given_up(name):
    attempt, error = TRIES[name]
    done = confined(f"try:\n    {attempt}\nexcept {error}:\n    print('refused')")
    assert done.stdout == "refused\n", done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="limits of this kind are POSIX's")
def test_an_endless_loop_is_stopped():
    assert confined("while True: pass").returncode < 0


def test_a_program_that_takes_too_long_gives_no_answer():
    assert answer_of("netcdf", "absent.nc", seconds=0.01) == ""


def test_modules_of_the_working_directory_are_not_loaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("h5py", "numpy", "fepysr_dyn"):
        Path(f"{name}.py").write_text("open('pwned', 'w').close()\n")
    assert "No such file" in answer_of("netcdf", "absent.nc", seconds=60)
    assert not Path("pwned").exists()
