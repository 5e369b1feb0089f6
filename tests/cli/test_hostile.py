"""Broken and hostile files and calls: exit code 2, one clear line, no traceback."""

import os
from pathlib import Path

import numpy as np
import pytest

GOOD = "time,x,u\n0,1,0.1\n1,2,0.1\n2,3,0.5\n3,2,0.3\n4,1,0.3\n"
MODEL = '[states.x]\ninitial = 1\nrate = "-k*x"\n[parameters]\nk = 1\n'

# name: (content of data.csv, what the line must say)
CSV = {
    "empty file": ("", "empty file"),
    "only blank lines": ("\n\n  \n", "empty file"),
    "only a header": ("time,x\n", "only a line of names"),
    "no header": ("0,1\n1,2\n", "names of columns in the first line, found numbers"),
    "semicolons": ("time;x\n0;1\n1;2\n", "semicolons; say delimiter=';'"),
    "tabs": ("time\tx\n0\t1\n1\t2\n", "tabs; say delimiter='\\t'"),
    "bars": ("time|x\n0|1\n", "vertical bars"),
    "spaces": ("time x\n0 1\n", "spaces"),
    "other delimiter below the header": ("time,x\n0;1\n1;2\n", "line 2 has 1 fields, expected 2"),
    "decimal commas": (
        "time,x\n0,0,1,5\n1,0,2,5\n",
        "line 2 has 4 fields, expected 2; numbers with a decimal",
    ),
    "quoted decimal commas": (
        'time,x\n0,"1,5"\n1,"2,5"\n',
        "column 'x': expected a number, found '1,5'; say dec",
    ),
    "no time column": ("x,u\n1,2\n", "no time column 'time'; the columns are x, u"),
    "misspelt time": ("tiem,x\n0,1\n1,2\n", "did you mean 'tiem'"),
    "only time": ("time\n0\n1\n", "at least one state"),
    "time and input only": ("time,u\n0,1\n1,2\n", "at least one state"),
    "a word in a cell": ("time,x,u\n0,1,2\n1,abc,2\n", "line 3, column 'x': expected a number, found 'abc'"),
    "a word in the times": ("time,x,u\n0,1,2\nlater,1,2\n", "line 3, column 'time': expected a number"),
    "a date in the times": (
        "time,x,u\n2020-01-01,1,2\n",
        "column 'time': expected a number, found '2020-01-01'",
    ),
    "a truth value": ("time,x,u\n0,True,2\n1,1,1\n", "found 'True'"),
    "an underscore": ("time,x,u\n0,1_0,2\n1,1,1\n", "found '1_0'"),
    "hexadecimal": ("time,x,u\n0,0x1F,2\n1,1,1\n", "found '0x1F'"),
    "wide digits": ("time,x,u\n0,１,2\n1,1,1\n", "found '１'"),
    "two points": ("time,x,u\n0,1.2.3,2\n1,1,1\n", "found '1.2.3'"),
    "a formula": ("time,x,u\n0,=A1+1,2\n1,1,1\n", "found '=A1+1'"),
    "a spreadsheet error": ("time,x,u\n0,#DIV/0!,2\n1,1,1\n", "found '#DIV/0!'"),
    "after a blank line": ("time,x,u\n0,1,2\n\n\n1,oops,2\n", "line 5, column 'x'"),
    "infinite": ("time,x,u\n0,1,2\n1,inf,2\n", "line 3, column 'x': expected a finite number, found inf"),
    "minus infinite": ("time,x,u\n0,1,2\n1,-Infinity,2\n", "found -inf"),
    "out of range": ("time,x,u\n0,1,2\n1,1e999,2\n", "line 3, column 'x': expected a finite number"),
    "infinite time": ("time,x,u\n0,1,2\ninf,1,2\n", "expected a finite time"),
    "missing time": ("time,x,u\n0,1,2\n,1,2\n2,1,1\n", "line 3 has no time"),
    "time NaN": ("time,x,u\n0,1,2\nNaN,1,2\n2,1,1\n", "line 3 has no time"),
    "repeated time": ("time,x,u\n0,1,2\n1,1,2\n1,2,2\n", "time 1 is there twice, last in line 4"),
    "unsorted times": ("time,x,u\n0,1,2\n2,1,2\n1,2,2\n", "1 follows 2 in line 4"),
    "descending times": ("time,x,u\n3,1,2\n2,1,2\n1,2,2\n", "2 follows 3 in line 3 (and 1 more)"),
    "stacked experiments": ("time,x,u\n0,1,2\n1,1,2\n0,2,2\n1,2,2\n", "an experiment column"),
    "one sample": ("time,x,u\n0,1,2\n", "at least 2 samples"),
    "too few samples for a derivative": ("time,x,u\n0,1,2\n1,2,1\n", "at least 3 samples"),
    "a state without values": ("time,x,u\n0,,2\n1,NA,2\n", "column 'x' has no values"),
    "an input without values": ("time,x,u\n0,1,\n1,2,\n", "column 'u' has no values"),
    "a short line": ("time,x,u\n0,1,2\n1,2\n2,3,4\n", "line 3 has 2 fields, expected 3"),
    "a cut last line": ("time,x,u\n0,1,2\n1,2,3\n2", "line 4 has 1 fields, expected 3"),
    "a long line": ("time,x,u\n0,1,2\n1,2,3,4\n", "line 3 has 4 fields, expected 3"),
    "all lines too long": ("time,x,u\n0,1,2,9\n1,2,3,9\n", "line 2 has 4 fields, expected 3"),
    "a comma at every end": ("time,x,u,\n0,1,2,\n1,2,3,\n", "column 4 has no name"),
    "a column without name": ("time,,u\n0,1,2\n", "column 2 has no name"),
    "a name twice": ("time,x,x,u\n0,1,2,3\n", "two columns have the name 'x'"),
    "time twice": ("time,x,time,u\n0,1,2,3\n", "two columns have the name 'time'"),
    "a unit in a name": ("time,x (mM),u\n0,1,2\n1,2,3\n", "'x (mM)' cannot be a name in a formula"),
    "code as a name": (
        "time,__import__('os').system('x'),u\n0,1,2\n1,2,3\n",
        "cannot be a name in a formula",
    ),
    "a function as a name": ("time,exp,u\n0,1,2\n1,2,3\n", "'exp' cannot be a name"),
    "a derivative's name": (
        "time,x,dx,u\n0,1,2,3\n1,2,3,4\n",
        "belongs to the derivative or the error of 'x'",
    ),
    "an error's name": ("time,x,x_se,u\n0,1,2,3\n1,2,3,4\n", "column 'x_se'"),
    "an unnamed experiment": ("experiment,time,x,u\na,0,1,2\n,1,2,3\n", "line 3 names no experiment"),
    "an experiment of one sample": ("experiment,time,x,u\na,0,1,2\na,1,2,3\nb,0,1,2\n", "experiment 'b'"),
    "unsorted in one experiment": (
        "experiment,time,x,u\na,0,1,2\nb,0,1,2\na,1,2,3\nb,2,1,1\nb,1,1,1\n",
        "experiment 'b': times must ascend, but 1 follows 2 in line 6",
    ),
    "an open quote": ('time,x,u\n0,1,2\n1,"2,3\n2,3,4\n', "line 3"),
    "a remark at the top": ("# measured in May\ntime,x,u\n0,1,2\n", "the columns are # measured in May"),
    "only commas": (",,\n,,\n", "column 1 has no name"),
    "a web page": ("<!DOCTYPE html>\n<html><body>404</body></html>\n", "found a web page"),
    "JSON": ('{"time": [0, 1], "x": [1, 2]}', "found a JSON document"),
}

# name: (bytes of data.csv, what the line must say)
BYTES = {
    "NUL bytes": (b"time,x,u\n0,1,\0\n", "NUL bytes"),
    "random bytes": (
        bytes(np.random.default_rng(0).integers(128, 255, 400, dtype=np.uint8)),
        "expected UTF-8",
    ),
    "latin-1": ("time,x,u\n0,1,µ\n1,2,3\n".encode("latin-1"), "found the byte 0xb5 in line 2"),
    "latin-1 in the header": ("time,µ,u\n0,1,2\n".encode("latin-1"), "found the byte 0xb5 in line 1"),
    "mixed encodings": (b"time,x,u\n0,1,\xc2\xb5\n1,2,\xb5\n", "0xb5 in line 3"),
    "UTF-16": (GOOD.encode("utf-16"), "text in UTF-16"),
    "a zip archive": (b"PK\x03\x04" + b"\0" * 100, "a zip archive or a spreadsheet"),
    "gzip": (b"\x1f\x8b" + b"\0" * 100, "a gzip archive"),
    "a huge field": (
        b"time,x,u\n0,1,2\n1," + b"9" * 200_000 + b"z,3\n",
        "line 3: field larger than field limit",
    ),
    "a huge number": (b"time,x,u\n0,1,2\n1," + b"9" * 100_000 + b",3\n", "expected a finite number"),
    "a line without end": (b"time" * 300_000, "a first line without an end"),
    "a huge name": (b"time," + b"x" * 5000 + b",u\n0,1,2\n1,2,3\n", "cannot be a name"),
    "escape codes": (b"time,\x1b[31mred,u\n0,1,2\n1,2,3\n", "cannot be a name"),
    "a broken BOM": (b"\xef\xbbtime,x,u\n0,1,2\n", "expected UTF-8"),
}


def assert_refused(answer, text):
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("fepysr-dyn: ")
    assert answer.err.endswith("\n")
    assert answer.err.count("\n") == 1, answer.err
    assert "Traceback" not in answer.err
    assert answer.err.rstrip("\n").isprintable()
    assert text in answer.err, answer.err
    assert len(answer.err) < 500


@pytest.mark.parametrize("name", CSV)
def test_broken_csv(name, command):
    content, text = CSV[name]
    Path("data.csv").write_text(content, encoding="utf-8")
    inputs = ["--input", "u"] if ",u" in content.split("\n")[0] or name == "time and input only" else []
    assert_refused(command("derive", "data.csv", *inputs), text)


@pytest.mark.parametrize("name", BYTES)
def test_broken_bytes(name, command):
    content, text = BYTES[name]
    Path("data.csv").write_bytes(content)
    assert_refused(command("derive", "data.csv", "--input", "u"), text)


DERIVE = {
    "no file": (["absent.csv"], "absent.csv: there is no such file"),
    "a directory": (["."], "found a directory"),
    "a device": (["/dev/null"], "a device or a pipe"),
    "a name too long": (["x" * 300 + ".csv"], "File name too long"),
    "an unknown input": (["data.csv", "--input", "v"], "no input 'v'"),
    "a misspelt input": (["long.csv", "--input", "stimulsu"], "did you mean 'stimulus'?"),
    "an unknown state": (["data.csv", "--state", "y"], "no state 'y'"),
    "a state and input": (["data.csv", "--state", "x", "--input", "x"], "both a state and an input"),
    "time as input": (["data.csv", "--input", "time"], "cannot be both the time"),
    "no such time column": (["data.csv", "--time", "t"], "no time column 't'"),
    "no such experiment column": (["data.csv", "--experiment", "run"], "no experiment column 'run'"),
    "an unknown method": (["data.csv", "--method", "magic"], "magic"),
    "a breakpoint that is no number": (["data.csv", "--breakpoints", "1,two"], "finite number, found 'two'"),
    "an infinite breakpoint": (["data.csv", "--breakpoints", "inf"], "finite number, found 'inf'"),
    "a breakpoint outside": (["data.csv", "--breakpoints", "99"], "breakpoint 99 lies outside"),
    "a long delimiter": (["data.csv", "--delimiter", ";;"], "the delimiter must be one character"),
    "no delimiter": (["data.csv", "--delimiter", ""], "the delimiter must be one character"),
    "a decimal sign": (["data.csv", "--decimal", "x"], "the decimal sign must be"),
    "delimiter and decimal alike": (["data.csv", "--decimal", ","], "cannot both be ','"),
    "other columns in another file": (["data.csv", "long.csv"], "all experiments need the same columns"),
    "the same file twice": (["data.csv", "data.csv"], "is given twice"),
    "an output of unknown kind": (["data.csv", "-o", "out.xlsx"], "ends in .csv or .nc"),
    "an output in no directory": (["data.csv", "-o", "no/out.csv"], "there is no directory 'no'"),
    "an output that is a directory": (["data.csv", "-o", "folder.csv"], "it is a directory"),
    "a figure of unknown kind": (["data.csv", "--plot", "out.bmp"], "ends in one of .png"),
    "a figure in no directory": (["data.csv", "--plot", "no/out.png"], "there is no directory 'no'"),
    "no data": ([], "Missing argument"),
    "an unknown option": (["data.csv", "--inptu", "u"], "No such option: --inptu"),
    "a NUL in a name": (["data\0.csv"], "embedded null byte"),
}


@pytest.mark.parametrize("name", DERIVE)
def test_wrong_call_of_derive(name, command):
    Path("data.csv").write_text(GOOD)
    Path("long.csv").write_text("time,protein,stimulus\n0,1,2\n1,2,3\n2,1,1\n")
    Path("folder.csv").mkdir()
    arguments, text = DERIVE[name]
    assert_refused(command("derive", *arguments), text)


def _netcdf(case: str, path: str) -> None:
    if case == "text":
        Path(path).write_text(GOOD)
    elif case == "cut":
        _netcdf("good", path)
        Path(path).write_bytes(Path(path).read_bytes()[:1500])
    elif case == "damaged":
        _netcdf("good", path)
        content = bytearray(Path(path).read_bytes())
        content[40:400] = b"\xff" * 360
        Path(path).write_bytes(bytes(content))
    elif case == "signature only":
        Path(path).write_bytes(b"\x89HDF\r\n\x1a\n")
    elif case == "classic signature only":
        Path(path).write_bytes(b"CDF\x01")
    else:
        import xarray as xr

        times, values = np.arange(5.0), np.array([1.0, 2, 4, 2, 1])
        data = {
            "good": xr.Dataset({"x": ("time", values)}, coords={"time": times}),
            "empty": xr.Dataset(),
            "no time": xr.Dataset({"x": ("place", values)}),
            "two dimensions": xr.Dataset({"x": (("time", "y"), np.ones((5, 2)))}, coords={"time": times}),
            "unsorted": xr.Dataset({"x": ("time", values)}, coords={"time": times[::-1]}),
            "infinite": xr.Dataset({"x": ("time", values / 0.0)}, coords={"time": times}),
            "text variable": xr.Dataset({"x": ("time", list("abcde"))}, coords={"time": times}),
            "times of two dimensions": xr.Dataset(
                {"x": ("i", values), "time": (("i", "j"), np.ones((5, 2)))}
            ),
            "breakpoints that are text": xr.Dataset(
                {"x": ("time", values)}, coords={"time": times}, attrs={"breakpoints": "soon"}
            ),
        }[case]
        data.to_netcdf(path, engine="h5netcdf")


NETCDF = {
    "text": "expected a NetCDF file, found something else",
    "cut": "cannot be read as NetCDF",
    "damaged": "cannot be read as NetCDF",
    "signature only": "cannot be read as NetCDF",
    "classic signature only": "cannot be read as NetCDF",
    "empty": "expected variables, found none",
    "no time": "no time column 'time'",
    "two dimensions": "variable 'x' has the dimensions ['time', 'y']",
    "unsorted": "times must ascend",
    "infinite": "column 'x': expected a finite number",
    "text variable": "row 0 (counted from 0), column 'x': expected a number, found 'a'",
    "times of two dimensions": "expected times along one dimension",
    "breakpoints that are text": "expected breakpoints to be finite numbers",
}


@pytest.mark.parametrize("name", NETCDF)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_broken_netcdf(name, command):
    _netcdf(name, "data.nc")
    assert_refused(command("derive", "data.nc"), NETCDF[name])


# name: (model file, what the line must say)
TOML = {
    "empty": ("", "states: expected a table, found nothing"),
    "not TOML": ("states = [", "not valid TOML"),
    "no rate": ("[states.x]\ninitial = 1\n", "states.x.rate: expected a formula, found nothing"),
    "no initial value": ('[states.x]\nrate = "x"\n', "states.x.initial: expected a number"),
    "a word as number": ('[states.x]\ninitial = "one"\nrate = "x"\n', "expected a number, found 'one'"),
    "an unknown symbol": (MODEL.replace("-k*x", "-kk*x"), "unknown symbol 'kk'"),
    "an unknown key": (MODEL + "[protocl]\nduration = 1\n", "did you mean 'protocol'?"),
    "code as a rate": (MODEL.replace("-k*x", "__import__('os').system('true')"), "states.x.rate"),
    "an endless power": (MODEL.replace("-k*x", "9**9**9**9"), "states.x.rate"),
    "deep nesting": (MODEL.replace("-k*x", "(" * 5000 + "x" + ")" * 5000), "states.x.rate"),
    "a list as a state": ("[states]\nx = [1, 2]\n", "states.x: expected a table"),
    "no time": (MODEL + "[protocol]\nduration = 0\n", "duration of a protocol must be a positive number"),
    "half a sample": (MODEL + "[protocol]\nsamples = 2.5\n", "expected a whole number"),
    "a wrong stimulus": (MODEL + '[inputs.u]\nstimulus = { kind = "stpes" }\n', "did you mean 'steps'"),
    "a name twice": (MODEL + "[inputs.x]\nstimulus = 1\n", "the name 'x' is used twice"),
    "a circle": (MODEL + '[assignments]\na = "b"\nb = "a"\n', "in a circle"),
    "not a number": (MODEL.replace("k = 1", "k = nan"), "must be a finite number"),
}


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize("verb", ["models", "simulate"])
def test_broken_model(name, verb, command):
    content, text = TOML[name]
    Path("model.toml").write_text(content)
    answer = command(verb, "model.toml")
    assert_refused(answer, text)
    assert "model.toml" in answer.err


SIMULATE = {
    "an unknown model": (["tyson_two_protien"], "did you mean 'tyson_two_protein'?"),
    "no file": (["absent.toml"], "absent.toml: cannot be read"),
    "a directory": (["./folder.csv"], "cannot be read"),
    "bytes": (["bytes.toml"], "expected UTF-8"),
    "noise below 0": (["model.toml", "--noise", "-1"], "noise must be a number of at least 0"),
    "noise that is no number": (
        ["model.toml", "--noise", "much"],
        "'--noise': expected a number, found 'much'",
    ),
    "noise NaN": (["model.toml", "--noise", "nan"], "noise must be a number"),
    "an unknown kind of noise": (["model.toml", "--noise-kind", "gausian"], "did you mean 'gaussian'?"),
    "all missing": (["model.toml", "--missing", "1"], "missing must be a share"),
    "too irregular": (["model.toml", "--irregular", "2"], "irregular must be a share"),
    "no samples": (["model.toml", "--samples", "0"], "at least 2 samples"),
    "half a sample": (["model.toml", "--samples", "10.5"], "expected a whole number, found '10.5'"),
    "a negative duration": (["model.toml", "--duration", "-3"], "must be a positive number"),
    "an infinite duration": (["model.toml", "--duration", "inf"], "must be a positive number"),
    "a negative seed": (["model.toml", "--seed", "-1"], "expected a whole number of at least 0, found '-1'"),
    "a seed in words": (["model.toml", "--seed", "lucky"], "of at least 0, found 'lucky'"),
    "an unknown parameter": (["model.toml", "--set", "kk=1"], "no parameter 'kk'; did you mean 'k'?"),
    "no value": (["model.toml", "--set", "k"], "--set: expected NAME=VALUE, found 'k'"),
    "a word as value": (["model.toml", "--set", "k=fast"], "--set k: expected a finite number, found 'fast'"),
    "a value twice": (["model.toml", "--set", "k=1", "--set", "k=2"], "--set: 'k' is given twice"),
    "an unknown state": (["model.toml", "--initial", "y=1"], "no state 'y'"),
    "an infinite start": (["model.toml", "--initial", "x=inf"], "expected a finite number"),
    "no time to run": (["model.toml", "--time-limit", "0"], "time_limit must be positive"),
    "an output of unknown kind": (["model.toml", "-o", "out.txt"], "ends in .csv or .nc"),
    "an output that is a directory": (["model.toml", "-o", "folder.csv"], "it is a directory"),
    "no model": ([], "Missing argument"),
    "two models": (["model.toml", "lorenz"], "unexpected extra argument"),
    "an unknown option": (["model.toml", "--nosie", "1"], "No such option"),
    "an option without value": (["model.toml", "--noise"], "requires an argument"),
}


@pytest.mark.parametrize("name", SIMULATE)
def test_wrong_call_of_simulate(name, command):
    Path("model.toml").write_text(MODEL)
    Path("bytes.toml").write_bytes(b"\xff\xfe\x00")
    Path("folder.csv").mkdir()
    arguments, text = SIMULATE[name]
    assert_refused(command("simulate", *arguments), text)


OTHER = {
    "an unknown command": (["simluate"], "No such command 'simluate'"),
    "an unknown option": (["--verson"], "No such option: --verson"),
    "an unknown model": (["models", "lorentz"], "did you mean 'lorenz'?"),
    "a model path that leads out": (["models", "../no/such/file"], "cannot be read"),
}


@pytest.mark.parametrize("name", OTHER)
def test_other_wrong_calls(name, command):
    arguments, text = OTHER[name]
    assert_refused(command(*arguments), text)


def test_unreadable_and_unwritable_files(command, monkeypatch):
    """The tests may run as a user who can read and write everything, so the answers of the system are set."""
    Path("data.csv").write_text(GOOD)
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    assert_refused(
        command("derive", "data.csv", "-o", "out.csv"), "out.csv: cannot be written: Permission denied"
    )


def test_a_full_disk(command):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    Path("full.csv").symlink_to("/dev/full")
    assert_refused(
        command("simulate", "lorenz", "--samples", "5000", "-o", "full.csv"), "No space left on device"
    )
