"""Time and memory it takes to read a large CSV file."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from fepysr_dyn.benchmarks.limits import peak_megabytes, reset_peak
from fepysr_dyn.benchmarks.units import Line, Unit
from fepysr_dyn.trajectories import read_trajectories

TASK = "fepysr_dyn.benchmarks.ingest:read_unit"
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


def read_unit(unit: Unit) -> Line:
    """Write a table of some size, and measure how it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_table(path, unit.setting["rows"], unit.setting["states"])
        return measure(path)


def measure(path: Path) -> Line:
    """Read a file in this process and return what it took."""
    # Once without being measured: importing what is needed is not part of reading.
    read_trajectories({"time": [0.0, 1.0], "x": [0.0, 1.0]})
    reset_peak()
    before = peak_megabytes()
    start = time.perf_counter()
    runs = read_trajectories(path, inputs="u")
    seconds = time.perf_counter() - start
    arrays = sum(variable.nbytes for variable in runs[0].variables.values()) / 2**20
    return {
        "seconds": seconds,
        "file_megabytes": path.stat().st_size / 2**20,
        "data_megabytes": arrays,
        "peak_megabytes": peak_megabytes() - before,
    }
