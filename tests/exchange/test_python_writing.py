"""The exported Python file stands alone: it runs with numpy and scipy, and agrees with our simulation."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fepysr_dyn as fd
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.simulation import resampled

CASES = {
    "tyson_two_protein": None,
    "goldbeter_koshland": "ramp",
}
AWKWARD = """
[states.lambda]
initial = 1.0
rate = "print - np*lambda - abs(t - 3)/4 + Max(t, 0.2)/2"
[states.t]
initial = 0.5
rate = "Piecewise((lambda, (t > 5) | (lambda > 9)), (tan(lambda/9) - atan(t) + sqrt(t**2 + 1), True)) - t"
[inputs.print]
stimulus = { kind = "steps", times = [0, 1], values = [0.3, 0.8] }
[parameters]
np = 0.5
[protocol]
duration = 2
samples = 50
"""


def run_alone(text, folder):
    """Run a file as a stranger would: another folder, and no way to import this package."""
    path = folder / "exported.py"
    path.write_text(text, encoding="utf-8")
    guard = "import sys; sys.modules['fepysr_dyn'] = None; import runpy; "
    code = f"{guard}sys.argv = ['exported.py', 'out.csv']; runpy.run_path('exported.py', run_name='__main__')"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, timeout=120)
    return pd.read_csv(folder / "out.csv")


def assert_agrees(table, run, states, rtol):
    np.testing.assert_allclose(table["time"], run["time"])
    for state in states:
        size = float(np.max(np.abs(run[state])))
        np.testing.assert_allclose(table[state], run[state], rtol=0, atol=rtol * size)


@pytest.mark.parametrize("name", CASES)
def test_it_runs_alone_and_agrees(name, tmp_path):
    system = resampled(fd.load_model(name), samples=300)
    plan = next(p for p in system.protocol.experiments if CASES[name] in (None, p.name))
    run = fd.simulate(replace(system, protocol=replace(system.protocol, experiments=(plan,))))[0]
    table = run_alone(fd.to_python(system, plan.name), tmp_path)
    assert_agrees(table, run, system.states, 1e-6)


def test_names_that_mean_something_in_python(tmp_path):
    system = system_from_toml(AWKWARD)
    assert_agrees(run_alone(fd.to_python(system), tmp_path), fd.simulate(system)[0], system.states, 1e-7)


def test_it_prints_without_a_file_name(tmp_path):
    path = tmp_path / "lorenz.py"
    path.write_text(fd.to_python(resampled(fd.load_model("lorenz"), samples=5, duration=0.1)))
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "time,x,y,z"
    assert len(done.stdout.splitlines()) == 6


def test_a_title_stays_a_comment(tmp_path):
    title = 'x"""\nimport os; os.mkdir("pwned")\n"""\u2028\r{states!r}'
    system = replace(resampled(fd.load_model("lorenz"), samples=5, duration=0.1), title=title)
    run_alone(fd.to_python(system), tmp_path)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(fd.model_names()) - {"lorenz", "duffing"}))
def test_every_experiment_of_every_model(name):
    """The two chaotic ones are left out: they lose 1e-6 at the tolerances of the file."""
    system = fd.load_model(name)
    for plan, run in zip(system.protocol.experiments, fd.simulate(system), strict=True):
        names = {"__name__": "exported"}
        exec(fd.to_python(system, plan.name), names)  # noqa: S102
        states = names["simulate"](run["time"].values)
        table = pd.DataFrame({"time": run["time"], **dict(zip(system.states, states.T, strict=True))})
        assert_agrees(table, run, system.states, 1e-6)
