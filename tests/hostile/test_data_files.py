"""NetCDF and CSV files of strangers that name other files, lie about their size or run in circles."""

import os
from pathlib import Path

import h5py
import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.simulation import resampled

TIMES = np.arange(20.0)


def _good(file):
    time = file.create_dataset("time", data=TIMES)
    time.make_scale("time")
    return time


def _variable(file, **options):
    """Make a variable x along the time, by whatever means."""
    time = _good(file)
    x = file.create_dataset("x", **options)
    x.dims[0].attach_scale(time)


def external_storage(file, world):
    _variable(file, shape=(20,), dtype="u1", external=[(str(world.secret), 0, 20)])


def virtual_data(file, world):
    with h5py.File(world.root / "other.h5", "w") as other:
        other["x"] = TIMES
    layout = h5py.VirtualLayout(shape=(20,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(world.root / "other.h5"), "x", shape=(20,))
    _good(file)
    file.create_virtual_dataset("x", layout)


def external_link(file, world):
    _good(file)
    with h5py.File(world.root / "other.h5", "w") as other:
        other["x"] = TIMES
    file["x"] = h5py.ExternalLink(str(world.root / "other.h5"), "/x")


def soft_link(file, world):
    _good(file)
    file["x"] = h5py.SoftLink("/x")


def a_group_in_itself(file, world):
    _variable(file, data=TIMES)
    file["again"] = file["/"]


def terabytes(file, world):
    _variable(file, shape=(20, 10**6, 10**6), dtype="f8", chunks=(1, 1000, 1000), compression="gzip")


def terabytes_of_one_value(file, world):
    _variable(file, shape=(10**12,), dtype="f8", fillvalue=1.0, chunks=(10**6,))


def many_groups(file, world):
    _variable(file, data=TIMES)
    for number in range(21_000):
        file.create_group(f"g{number}")


def a_path_as_a_name(file, world):
    _good(file)
    file.create_group("..").create_group("..").create_dataset("x", data=TIMES)


# what the line must say
NETCDF = {
    external_storage: "lie in another file",
    virtual_data: "lie in another file",
    external_link: "a link to another place or file",
    soft_link: "a link to another place or file",
    a_group_in_itself: "is there twice",
    terabytes: "more than 2000000000 bytes",
    terabytes_of_one_value: "more than 2000000000 bytes",
    a_path_as_a_name: "bad.nc",
}


@pytest.mark.parametrize("make", NETCDF, ids=lambda make: make.__name__)
def test_hostile_netcdf(make, world):
    with h5py.File("bad.nc", "w") as file:
        make(file, world)
    world.refused("derive", "bad.nc", saying=NETCDF[make])


@pytest.mark.slow
def test_many_groups(world):
    with h5py.File("bad.nc", "w") as file:
        many_groups(file, world)
    world.refused("derive", "bad.nc", saying="more than 20000 groups")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes(seed, world):
    path = Path("bad.nc")
    fd.simulate(resampled(fd.load_model("tyson_two_protein"), samples=50)).to_netcdf(path)
    good = path.read_bytes()
    random = np.random.default_rng(seed)
    for place in random.integers(0, len(good), 40):
        content = bytearray(good)
        content[place] ^= int(random.integers(1, 256))
        path.write_bytes(bytes(content))
        answer = world.call("derive", "bad.nc", "--input", "S", "-o", "out.csv", may_write=("work/out.csv",))
        assert answer.code in (0, 2), place


# name: (make the file, what the line must say)
CSV = {
    "an endless device": (lambda: Path("bad.csv").symlink_to("/dev/zero"), "a device or a pipe"),
    "a pipe": (lambda: os.mkfifo("bad.csv"), "a device or a pipe"),
    "a link in a circle": (lambda: Path("bad.csv").symlink_to("bad.csv"), "bad.csv"),
    "a path as a column": (
        lambda: Path("bad.csv").write_text("time,../../x\n0,1\n1,2\n2,3\n"),
        "cannot be a name",
    ),
    "markup as a column": (
        lambda: Path("bad.csv").write_text("time,<script>\n0,1\n1,2\n2,3\n"),
        "cannot be a name",
    ),
    "many columns": (
        lambda: Path("bad.csv").write_text("time," + ",".join(f"x{i}" for i in range(300_000)) + "\n0\n"),
        "bad.csv",
    ),
}


@pytest.mark.parametrize("name", CSV)
def test_hostile_csv(name, world):
    make, saying = CSV[name]
    make()
    world.refused("derive", "bad.csv", saying=saying)
