"""The benchmark of reading measures what it says it does."""

from fepysr_dyn.benchmarks.ingest import measure, write_table
from fepysr_dyn.trajectories import read_trajectories


def test_the_table_has_the_size_asked_for(tmp_path):
    write_table(tmp_path / "table.csv", rows=3000, states=4)
    runs = read_trajectories(tmp_path / "table.csv", inputs="u")
    assert (runs[0].sizes["time"], len(runs.states)) == (3000, 4)
    assert runs[0].attrs["breakpoints"] == [1.0, 2.0]
    assert runs.warnings == ()


def test_one_line_per_file(tmp_path):
    write_table(tmp_path / "table.csv", rows=1000, states=2)
    fields = measure(tmp_path / "table.csv").split()
    assert fields[:2] == ["1,000", "2"]
    assert len(fields) == 8
