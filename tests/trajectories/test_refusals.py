"""Tables in memory that cannot be used: each gets one line that says what is wrong and where."""

import datetime

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from fepysr_dyn.errors import DataError, FepysrDynError
from fepysr_dyn.trajectories import Trajectories, make_experiment, read_trajectories

T = [0.0, 1.0, 2.0]

CASES = {
    "nothing": ([], {}, "at least one experiment"),
    "None": (None, {}, "found NoneType"),
    "a number": (7, {}, "found int"),
    "bytes": (b"time,x", {}, "found bytes"),
    "an array": (np.ones((3, 2)), {}, "found ndarray"),
    "an empty mapping": ({}, {}, "no time column"),
    "a list of numbers": ([1, 2, 3], {}, "table 1: expected a path, a DataFrame"),
    "a list of lists": ([[1, 2], [3, 4]], {}, "a list within a list"),
    "unequal lengths": ({"time": T, "x": [1.0, 2.0]}, {}, "'x' has 2 values, 'time' has 3"),
    "a matrix": (
        {"time": T, "x": np.ones((3, 2))},
        {},
        "column 'x' must have one dimension, found shape (3, 2)",
    ),
    "a scalar": ({"time": T, "x": 1.0}, {}, "must have one dimension"),
    "ragged": ({"time": T, "x": [[1], [1, 2], 3]}, {}, "column 'x'"),
    "a word": ({"time": T, "x": [1.0, "two", 3.0]}, {}, "row 1 (counted from 0), column 'x'"),
    "digits as text": ({"time": T, "x": ["1", "2", "3"]}, {}, "expected a number, found '1'"),
    "truth values": ({"time": T, "x": [True, False, True]}, {}, "found True"),
    "complex numbers": ({"time": T, "x": [1j, 2j, 3j]}, {}, "found 1j"),
    "objects": ({"time": T, "x": [object(), 1, 2]}, {}, "row 0"),
    "dates": ({"time": pd.date_range("2020", periods=3), "x": T}, {}, "column 'time' holds dates"),
    "durations": (
        {"time": pd.to_timedelta([0, 1, 2], "s"), "x": T},
        {},
        "column 'time' holds dates or durations",
    ),
    "date objects": (
        {"time": [datetime.date(2020, 1, 1)] * 3, "x": T},
        {},
        "expected a number, found datetime",
    ),
    "infinite": (
        {"time": T, "x": [1.0, np.inf, 1.0]},
        {},
        "row 1 (counted from 0), column 'x': expected a finite",
    ),
    "too large": ({"time": T, "x": [1, 10**400, 1]}, {}, "expected a finite number"),
    "no times at all": ({"time": [], "x": []}, {}, "expected samples, found none"),
    "NaN times": ({"time": [0, np.nan, 2], "x": T}, {}, "row 1 (counted from 0) has no time"),
    "None as a time": ({"time": [0, None, 2], "x": T}, {}, "row 1 (counted from 0) has no time"),
    "repeated": ({"time": [0, 1, 1], "x": T}, {}, "time 1 is there twice"),
    "unsorted": ({"time": [0, 2, 1], "x": T}, {}, "1 follows 2 in row 2"),
    "all missing": ({"time": T, "x": [np.nan] * 3}, {}, "no values at all"),
    "an unknown input": (
        {"time": T, "stimulus": T, "x": T},
        {"inputs": "stimulsu"},
        "did you mean 'stimulus'?",
    ),
    "an input that is no name": ({"time": T, "x": T}, {"inputs": [3]}, "expected inputs to be names"),
    "a name with a dot": ({"time": T, "a.b": T}, {}, "'a.b' cannot be a name"),
    "text as breakpoints": ({"time": T, "x": T}, {"breakpoints": "20"}, "found the text '20'"),
    "words as breakpoints": ({"time": T, "x": T}, {"breakpoints": ["a"]}, "finite numbers, found 'a'"),
    "truth as a breakpoint": ({"time": T, "x": T}, {"breakpoints": [True]}, "finite numbers, found True"),
    "NaN as a breakpoint": ({"time": T, "x": T}, {"breakpoints": [np.nan]}, "finite numbers, found nan"),
    "breakpoints of nobody": ({"time": T, "x": T}, {"breakpoints": {"b": [1]}}, "there is no experiment 'b'"),
    "a column twice": (
        pd.DataFrame([[0, 1, 2]], columns=["time", "x", "x"]),
        {},
        "two columns have the name 'x'",
    ),
    "an empty frame": (pd.DataFrame(), {}, "no time column"),
    "text in a frame": (pd.DataFrame({"time": T, "x": ["a", "b", "c"]}), {}, "column 'x': expected a number"),
    "unlike tables": (
        [{"time": T, "x": T}, {"time": T, "x": T, "y": T}],
        {},
        "table 2 also has the state 'y', unlike table 1",
    ),
    "a lacking state": (
        [{"time": T, "x": T, "y": T}, {"time": T, "x": T}],
        {},
        "table 2 lacks the state 'y'",
    ),
    "an unnamed experiment": ({"time": T, "x": T, "experiment": ["a", None, "a"]}, {}, "names no experiment"),
    "an empty dataset": (xr.Dataset(), {}, "no time column"),
    "a dimension without times": (xr.Dataset({"x": ("time", T)}), {}, "no time column"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_with_one_line(name):
    source, options, text = CASES[name]
    with pytest.raises(FepysrDynError) as caught:
        read_trajectories(source, **options)
    message = str(caught.value)
    assert text in message
    assert "\n" not in message


def test_experiments_of_trajectories_must_agree():
    first = make_experiment(T, {"x": np.ones(3)}, name="a")
    second = make_experiment(T, {"y": np.ones(3)}, name="b")
    with pytest.raises(DataError, match=r"'b' has .'y'., 'a' has .'x'."):
        Trajectories((first, second))
    with pytest.raises(DataError, match="at least one"):
        Trajectories(())
