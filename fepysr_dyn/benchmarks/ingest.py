"""Time and memory it takes to read a large CSV file.

Run with ``python -m fepysr_dyn.benchmarks.ingest``.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from fepysr_dyn.trajectories import read_trajectories

#: Rows written at a time, so that making the file takes less memory than reading it.
PORTION = 100_000


def write_table(path: Path, rows: int, states: int) -> None:
    """Write smooth states with all their digits, and an input with three levels."""
    import pandas as pd

    for start in range(0, rows, PORTION):
        times = np.arange(start, min(rows, start + PORTION)) * 1e-3
        columns = {"time": times, **{f"x{i}": np.sin(times / (i + 1)) for i in range(states)}}
        columns["u"] = np.floor(3 * np.arange(start, start + len(times)) / rows)
        pd.DataFrame(columns).to_csv(path, mode="a" if start else "w", header=start == 0, index=False)


def measure(path: Path) -> str:
    """Read a file in this process and describe what it took."""
    # Once without being measured: importing what is needed is not part of reading.
    read_trajectories({"time": [0.0, 1.0], "x": [0.0, 1.0]})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    runs = read_trajectories(path, inputs="u")
    seconds = time.perf_counter() - start
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    arrays = sum(variable.nbytes for variable in runs[0].variables.values()) / 2**20
    file = path.stat().st_size / 2**20
    return (
        f"{runs[0].sizes['time']:>10,} {len(runs.states):>7} {file:>9.1f} {seconds:>9.2f} "
        f"{file / seconds:>7.0f} {arrays:>8.1f} {megabytes:>9.1f} {megabytes / arrays:>7.2f}"
    )


def main() -> None:
    """Print one line per size; each file is read in a process of its own, for its memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--states", type=int, default=10)
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read is not None:
        sys.stdout.write(measure(arguments.read) + "\n")
        return
    sys.stdout.write("      rows  states   file MB   seconds    MB/s  data MB   peak MB   ratio\n")
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            write_table(path, rows, arguments.states)
            command = [sys.executable, "-m", "fepysr_dyn.benchmarks.ingest", "--read", str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        sys.stdout.write(done.stdout)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
