"""The benchmark of reading measures what it says it does."""

import pytest

from fepysr_dyn.benchmarks.ingest import measure, write_table
from fepysr_dyn.trajectories import read_trajectories


def test_the_table_has_the_size_asked_for(tmp_path):
    write_table(tmp_path / "table.csv", rows=3000, states=4)
    runs = read_trajectories(tmp_path / "table.csv", inputs="u")
    assert (runs[0].sizes["time"], len(runs.states)) == (3000, 4)
    assert runs[0].attrs["breakpoints"] == [1.0, 2.0]
    assert runs.warnings == ()


def test_what_reading_takes(tmp_path):
    write_table(tmp_path / "table.csv", rows=200_000, states=4)
    found = measure(tmp_path / "table.csv")
    assert found["seconds"] > 0
    assert found["data_megabytes"] == pytest.approx(200_000 * 6 * 8 / 2**20, rel=0.01)
    assert found["file_megabytes"] > found["data_megabytes"]
    assert found["peak_megabytes"] > 0
