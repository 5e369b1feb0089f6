"""``import fepysr_dyn`` and ``fepysr-dyn --help`` are quick: nothing heavy is loaded before it is needed."""

import subprocess
import sys

import pytest

HEAVY = {
    *("torch", "numba", "pysindy", "pysr", "juliacall", "symengine", "sympy", "sklearn", "scipy"),
    *("numpy", "pandas", "xarray", "h5py", "h5netcdf", "matplotlib"),
}


def imported_by(code: str) -> set[str]:
    """Return the top-level modules a new interpreter has loaded after running some code."""
    listing = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint('MODULES', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("MODULES "))
    return {name.split(".")[0] for name in line.split()[1:]}


@pytest.mark.parametrize(
    "code",
    [
        "import fepysr_dyn",
        "from fepysr_dyn.cli import main; main(['--help'])",
        "from fepysr_dyn.cli import main; main(['simulate', '--help'])",
        "from fepysr_dyn.cli import main; main(['--version'])",
        "from fepysr_dyn.cli import main; main(['simulate'])",
    ],
)
def test_nothing_heavy_is_imported(code):
    modules = imported_by(code)
    assert "fepysr_dyn" in modules
    assert modules & HEAVY == set()


def test_public_names_are_there_and_lazy():
    import fepysr_dyn

    for name in fepysr_dyn.__all__:
        assert getattr(fepysr_dyn, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = fepysr_dyn.simulat
    code = "import fepysr_dyn; fepysr_dyn.load_model; fepysr_dyn.read_trajectories"
    assert imported_by(code) & {"torch", "numba", "pysindy", "pysr", "sklearn", "matplotlib"} == set()
