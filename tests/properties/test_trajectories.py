"""Round trips: trajectories to files and tables and back."""

import csv
import io
import string
import tempfile
import warnings
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fepysr_dyn.errors import DataError, DataWarning
from fepysr_dyn.expressions import is_name
from fepysr_dyn.trajectories import Trajectories, make_experiment, read_trajectories

VALUES = st.floats(allow_infinity=False, allow_nan=True, allow_subnormal=True)
NAMES = st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=8).filter(
    lambda name: is_name(name) and name not in ("time", "experiment")
)
LABELS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Z")), min_size=1, max_size=12)


@st.composite
def trajectories(draw):
    """Return experiments that may differ in length, sampling and breakpoints, with missing values."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    taken = {text for name in names for text in (f"d{name}", f"d{name}_se", f"{name}_se")}
    names = [name for name in names if name not in taken]
    count = draw(st.integers(1, len(names)))
    runs = []
    for label in draw(st.lists(LABELS, min_size=1, max_size=3, unique=True)):
        times = draw(
            st.lists(st.floats(-1e9, 1e9, allow_subnormal=False), min_size=2, max_size=12, unique=True).map(
                sorted
            )
        )
        series = {}
        for name in names:
            values = draw(hnp.arrays(float, len(times), elements=VALUES))
            values[draw(st.integers(0, len(times) - 1))] = draw(st.floats(-1e6, 1e6))
            series[name] = values
        inside = st.floats(times[0], times[-1], exclude_min=True)
        points = draw(st.lists(inside, max_size=3, unique=True))
        states = {name: series[name] for name in names[:count]}
        inputs = {name: series[name] for name in names[count:]}
        runs.append(make_experiment(times, states, inputs, name=label, breakpoints=points))
    return Trajectories(tuple(runs))


def read_quietly(source, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return read_trajectories(source, **options)


@given(trajectories())
@settings(max_examples=25, deadline=None)
def test_netcdf_keeps_everything(runs):
    with tempfile.TemporaryDirectory() as folder:
        runs.to_netcdf(Path(folder) / "data.nc")
        back = read_quietly(Path(folder) / "data.nc")
    assert len(back) == len(runs)
    for before, after in zip(runs, back, strict=True):
        assert after.identical(before)


@given(trajectories())
@settings(max_examples=60, deadline=None)
def test_csv_keeps_every_number(runs):
    declared = {run.attrs["name"]: run.attrs["breakpoints"] for run in runs}
    with tempfile.TemporaryDirectory() as folder:
        runs.to_csv(Path(folder) / "data.csv")
        options = {"inputs": runs.inputs, "states": runs.states, "breakpoints": declared}
        back = read_quietly(Path(folder) / "data.csv", **options)
    for before, after in zip(runs, back, strict=True):
        assert after.identical(before)


@given(trajectories())
@settings(max_examples=60, deadline=None)
def test_tables_keep_every_number(runs):
    declared = {run.attrs["name"]: run.attrs["breakpoints"] for run in runs}
    back = read_quietly(runs.to_pandas(), inputs=runs.inputs, states=runs.states, breakpoints=declared)
    for before, after in zip(runs, back, strict=True):
        assert after.identical(before)


def assert_answered(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_bytes(content)
        try:
            runs = read_quietly(path)
        except DataError as error:
            assert "\n" not in str(error)
        else:
            assert all(np.all(np.diff(run["time"]) > 0) for run in runs)


@given(st.sampled_from([b"", b"time,x\n"]), st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_bytes_get_an_answer(start, content):
    """Whatever a file holds, it is read or refused in one line."""
    assert_answered(start + content)


@given(st.binary(max_size=300))
@settings(max_examples=20, deadline=None)
def test_any_bytes_after_the_signature_of_hdf5_get_an_answer(content):
    """Few examples: each is opened by a process of its own."""
    assert_answered(b"\x89HDF\r\n\x1a\n" + content)


@given(st.text('0123456789.,;-+eE\n\r" \tnaNxif#', max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_table_like_text_gets_an_answer(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_text("time,x\n" + text, newline="")
        try:
            run = read_quietly(path)[0]
        except DataError as error:
            assert "\n" not in str(error)
            return
    # What was read is what Python's own parser finds in the text.
    rows = list(csv.reader(io.StringIO("time,x\n" + text, newline="")))[1:]
    cells = [[float(cell) if cell.strip() else np.nan for cell in row] for row in rows if row]
    np.testing.assert_array_equal(np.array(cells, dtype=float).T, [run["time"], run["x"]])
