"""What one unit may use: time and memory, measured from outside."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_MEGABYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """Limits of one unit.

    Parameters
    ----------
    seconds : float
        On the clock on the wall, after which a unit counts as hung.
    megabytes : float
        Resident memory of its process and all processes that it started.
    """

    seconds: float = 600.0
    megabytes: float = 4000.0


def resident_megabytes(pid: int) -> float:
    """Return the resident memory of a process and its descendants, 0 for one that has ended.

    Address space says little: torch and numba reserve much more than they use.
    """
    if Path("/proc/self/statm").exists():
        return sum(_resident_linux(one) for one in _family(pid))
    try:
        command = ["ps", "-o", "rss=", "-p", str(pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return float(done.stdout or 0) / 1024
    except (OSError, ValueError):
        return 0.0


def reset_peak() -> None:
    """Forget the largest memory this process has had so far, where the system allows that."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_megabytes() -> float:
    """Return the largest resident memory of this process since `reset_peak`."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource

    # In bytes on macOS, which has no /proc.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEGABYTE


def _resident_linux(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE


def _family(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    family = [pid]
    for one in family:
        try:
            children = Path(f"/proc/{one}/task/{one}/children").read_text()
        except OSError:
            continue
        family += [int(child) for child in children.split()]
    return family
