"""Experiments, their segments, and what is written to files."""

import numpy as np
import pytest

from fepysr_dyn.errors import DataError, FepysrDynError
from fepysr_dyn.trajectories import Trajectories, make_experiment, read_trajectories, segments

T = np.array([0.0, 1.0, 2.0, 3.0])


def test_a_sample_at_a_breakpoint_belongs_to_what_follows():
    run = make_experiment(T, {"x": T}, breakpoints=[2.0])
    assert [(piece.start, piece.stop) for piece in segments(run)] == [(0, 2), (2, 4)]
    run = make_experiment(T, {"x": T}, breakpoints=[0.5, 0.7, 3.0])
    assert [(piece.start, piece.stop) for piece in segments(run)] == [(0, 1), (1, 3), (3, 4)]


def test_a_table_of_all_experiments():
    runs = Trajectories(
        tuple(make_experiment(T[:n], {"x": T[:n]}, {"u": T[:n]}, {"x": T[:n]}, name=f"r{n}") for n in (2, 3))
    )
    table = runs.to_pandas()
    assert list(table.columns) == ["experiment", "time", "x", "u", "dx"]
    assert table["experiment"].tolist() == ["r2"] * 2 + ["r3"] * 3


def test_experiments_of_one_name_would_become_one_in_a_table(tmp_path):
    run = make_experiment(T, {"x": T})
    with pytest.raises(DataError, match="different names"):
        Trajectories((run, run)).to_csv(tmp_path / "out.csv")


def test_attributes_of_any_kind_survive_netcdf(tmp_path):
    run = make_experiment(T, {"x": T}, name="r")
    run.attrs |= {"flag": True, "none": None, "list": [1, "a", []], "empty": "", "text": "json:[1]", "n": 3}
    run.attrs |= {
        "breakpoints": [],
        "nul": "a\0b",
        "share": 0.1,
        "deep": {"a": {"b": [1.5]}},
        "words": "π ≈ 3",
    }
    run["x"].attrs["unit"] = "mM"
    Trajectories((run,)).to_netcdf(tmp_path / "out.nc")
    back = read_trajectories(tmp_path / "out.nc")[0]
    assert back.attrs == run.attrs
    assert back.identical(run)


def test_attributes_that_cannot_be_stored_are_said_to_be_so(tmp_path):
    run = make_experiment(T, {"x": T})
    run.attrs["thing"] = object()
    with pytest.raises(DataError, match="attribute 'thing' cannot be stored: object"):
        Trajectories((run,)).to_netcdf(tmp_path / "out.nc")


@pytest.mark.parametrize("kind", ["csv", "netcdf"])
def test_places_that_cannot_be_written(kind, tmp_path):
    runs = Trajectories((make_experiment(T, {"x": T}),))
    write = getattr(runs, f"to_{kind}")
    for path, text in ((tmp_path, "it is a directory"), (tmp_path / "no" / "out", "there is no directory")):
        with pytest.raises(FepysrDynError, match=text) as caught:
            write(path)
        assert "\n" not in str(caught.value)
