"""Everything that can be read becomes the same trajectories, with nothing lost and nothing guessed."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from fepysr_dyn.errors import DataWarning
from fepysr_dyn.trajectories import Trajectories, make_experiment, read_trajectories, with_role

TIMES = np.array([0.0, 0.5, 1.25, 3.0, 3.5, 4.0])
X = np.array([1.0, 2.0, np.nan, 4.0, 8.0, 1e-17])
U = np.array([0.1, 0.1, 0.1, 0.5, 0.5, 0.3])
ARRAYS = {"time": TIMES, "x": X, "u": U}


def csv_text(**columns):
    return pd.DataFrame(columns or ARRAYS).to_csv(index=False)


def assert_as_given(runs, name=None):
    assert isinstance(runs, Trajectories)
    (run,) = runs
    assert (runs.states, runs.inputs) == (("x",), ("u",))
    np.testing.assert_array_equal(run["time"], TIMES)
    np.testing.assert_array_equal(run["x"], X)
    np.testing.assert_array_equal(run["u"], U)
    assert run["x"].dtype == np.float64
    assert run.attrs["breakpoints"] == [3.0, 4.0]
    assert run.attrs["breakpoints_from"] == "detected"
    if name is not None:
        assert run.attrs["name"] == name


def test_csv(tmp_path):
    path = tmp_path / "first run.csv"
    path.write_text(csv_text())
    assert_as_given(read_trajectories(path, inputs=["u"]), "first run")
    assert_as_given(read_trajectories(str(path), inputs="u"))
    assert_as_given(read_trajectories([path], inputs="u"))


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda text: text.replace("\n", "\r\n"), {}),
        (lambda text: text.replace("\n", "\r"), {}),
        (lambda text: "\ufeff" + text, {}),
        (lambda text: "\n\n" + text + "\n\n", {}),
        (lambda text: text.rstrip("\n"), {}),
        (lambda text: text.replace(",", ";"), {"delimiter": ";"}),
        (lambda text: text.replace(",", "\t"), {"delimiter": "\t"}),
        (lambda text: text.replace(",", ";").replace(".", ","), {"delimiter": ";", "decimal": ","}),
        (lambda text: text.replace(",", ", "), {}),
        (lambda text: text.replace("time", '"time"').replace("0.5", '"0.5"'), {}),
        (lambda text: text.replace(",,", ",NaN,"), {}),
        (lambda text: text.replace(",,", ",NA,"), {}),
    ],
    ids=[
        "CRLF",
        "CR",
        "BOM",
        "blank lines",
        "no last newline",
        "semicolons",
        "tabs",
        "decimal commas",
        "spaces",
        "quotes",
        "NaN",
        "NA",
    ],
)
def test_dialects_of_csv(change, options, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(change(csv_text()).encode())
    assert_as_given(read_trajectories(path, inputs="u", **options))


def test_experiment_column_may_interleave_and_sampling_may_differ(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("time,experiment,x\n0,b,1\n0,a,2\n1,b,3\n0.5,a,4\n2,b,5\n")
    runs = read_trajectories(path)
    assert [run.attrs["name"] for run in runs] == ["b", "a"]
    assert [run["time"].values.tolist() for run in runs] == [[0, 1, 2], [0, 0.5]]
    assert [run["x"].values.tolist() for run in runs] == [[1, 3, 5], [2, 4]]


def test_labels_are_texts(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("run,time,x\n01,0,1\n01,1,2\nNA,0,1\nNA,1,3\n")
    runs = read_trajectories(path, experiment="run")
    assert [run.attrs["name"] for run in runs] == ["01", "NA"]


def test_several_files_are_several_experiments(tmp_path):
    for name, text in (("a", "time,x,y\n0,1,5\n1,2,6\n"), ("b", "y,x,time\n7,3,0\n8,4,2\n9,5,3\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    runs = read_trajectories([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert [run.attrs["name"] for run in runs] == ["a", "b"]
    assert runs.states == ("x", "y")
    assert runs[1]["y"].values.tolist() == [7, 8, 9]


def test_equal_names_in_different_folders_are_told_apart(tmp_path):
    paths = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "run.csv")
        paths[-1].write_text("time,x\n0,1\n1,2\n")
    names = [run.attrs["name"] for run in read_trajectories(paths)]
    assert names == [f"{paths[0]}: run", f"{paths[1]}: run"]


def test_dictionaries():
    assert_as_given(read_trajectories(ARRAYS, inputs="u"))
    assert_as_given(read_trajectories({key: list(values) for key, values in ARRAYS.items()}, inputs="u"))
    with_none = {**ARRAYS, "x": [None if np.isnan(value) else value for value in X]}
    assert_as_given(read_trajectories(with_none, inputs="u"))
    masked = {**ARRAYS, "x": np.ma.masked_invalid(X)}
    assert_as_given(read_trajectories(masked, inputs="u"))
    runs = read_trajectories({"left": ARRAYS, "right": ARRAYS}, inputs="u")
    assert [run.attrs["name"] for run in runs] == ["left", "right"]


def test_the_callers_arrays_are_not_shared():
    arrays = {key: values.copy() for key, values in ARRAYS.items()}
    runs = read_trajectories(arrays, inputs="u")
    arrays["u"][:] = 7.0
    assert_as_given(runs)


def test_pandas():
    frame = pd.DataFrame(ARRAYS)
    assert_as_given(read_trajectories(frame, inputs="u"))
    assert_as_given(read_trajectories(frame.set_index("time"), inputs="u"))
    assert_as_given(read_trajectories(frame.set_index("time", drop=False), inputs="u"))
    assert_as_given(read_trajectories(frame.convert_dtypes(), inputs="u"))
    both = pd.concat([frame.assign(experiment="a"), frame.assign(experiment="b")])
    runs = read_trajectories(both.set_index(["experiment", "time"]), inputs="u")
    assert [run.attrs["name"] for run in runs] == ["a", "b"]
    assert len(read_trajectories([frame, frame], inputs="u")) == 2


def test_xarray():
    data = xr.Dataset({"x": ("time", X), "u": ("time", U)}, coords={"time": TIMES})
    assert_as_given(read_trajectories(data, inputs="u"))
    assert_as_given(read_trajectories(data.rename(time="t").rename_dims(t="sample"), inputs="u", time="t"))
    two = xr.concat(
        [data, data], xr.DataArray(["a", "b"], dims="experiment", name="experiment"), join="outer"
    )
    runs = read_trajectories(two, inputs="u")
    assert [run.attrs["name"] for run in runs] == ["a", "b"]
    assert_as_given(Trajectories((runs[1],)), "b")


def test_netcdf_of_others(tmp_path):
    data = xr.Dataset({"x": ("time", X), "u": ("time", U)}, coords={"time": TIMES}, attrs={"source": "lab 3"})
    data["time"].attrs["units"] = "seconds since 2020-01-01"
    for name, engine in (("new.nc", "h5netcdf"), ("classic.nc", "scipy")):
        data.to_netcdf(tmp_path / name, engine=engine)
        runs = read_trajectories(tmp_path / name, inputs="u")
        assert_as_given(runs, name[:-3])
        assert runs[0].attrs["source"] == "lab 3"
        assert runs[0]["time"].attrs["units"] == "seconds since 2020-01-01"


def test_named_states_leave_the_rest_unread(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("time,x,remark,bad name!\n0,1,fine,a\n1,2,,b\n")
    runs = read_trajectories(path, states="x")
    assert runs.states == ("x",)
    assert list(runs[0].data_vars) == ["x"]


def test_roles_of_a_dataset_are_believed_unless_the_caller_knows_better():
    run = make_experiment(TIMES, {"x": X}, {"u": U}, {"x": X}, breakpoints=[3.0])
    runs = read_trajectories(run)
    assert (runs.states, runs.inputs, with_role(runs[0], "rate")) == (("x",), ("u",), ("dx",))
    assert runs[0].attrs["breakpoints"] == [3.0]
    assert read_trajectories(run, states=["x", "u"], breakpoints=[]).inputs == ()


def test_declared_breakpoints():
    tables = {"a": ARRAYS, "b": {**ARRAYS, "time": TIMES * 10}}

    def points(declared):
        runs = read_trajectories(tables, inputs="u", breakpoints=declared)
        assert all("breakpoints_from" not in run.attrs for run in runs)
        return [run.attrs["breakpoints"] for run in runs]

    assert points([]) == [[], []]
    assert points([2.0, 1.0]) == [[1.0, 2.0], [1.0, 2.0]]
    assert points([2.0, 30]) == [[2.0], [2.0, 30.0]]
    assert points({"b": [30.0]}) == [[], [30.0]]


def test_warnings_say_what_cannot_be_learned():
    table = {"time": TIMES, "x": np.full(6, 2.0), "y": X, "u": U, "v": U > 0.2, "w": np.full(6, 3.0)}
    table["v"] = table["v"].astype(float)
    with pytest.warns(DataWarning) as caught:
        runs = read_trajectories(table, inputs=["u", "v", "w"])
    texts = [str(warning.message) for warning in caught]
    assert texts == list(runs.warnings)
    assert [text.split(":")[0] for text in texts] == [
        "state 'x' is 2 at all times",
        "input 'v' has only the levels 0 and 1",
        "input 'w' is 3 at all times",
    ]
    assert all(warning.filename == __file__ for warning in caught)


def test_different_experiments_may_supply_the_levels():
    tables = [{"time": [0, 1, 2], "x": [1, 2, 3], "u": [level] * 3} for level in (0.1, 0.2, 0.3)]
    assert read_trajectories(tables, inputs="u").warnings == ()
