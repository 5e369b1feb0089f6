import ast
import importlib.util
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import sympy

from fepysr_dyn.errors import MissingDependencyError, OptionError
from fepysr_dyn.expressions import equivalent, parse
from fepysr_dyn.search import pysr_engine
from fepysr_dyn.search.problem import Budget, RegressionProblem, Runtime
from fepysr_dyn.search.pysr_engine import PySRConfig, PySREngine, read_formula, regressor_options

FAKE = """
import json, os, pathlib, sys, time
import pandas as pd
assert "torch" not in sys.modules
__version__ = "fake"
class PySRRegressor:
    def __init__(self, **options):
        self.options = options
    def fit(self, X, y, weights=None, variable_names=None):
        print("noise on stdout")
        folder = pathlib.Path(self.options["output_directory"]) / self.options["run_id"]
        folder.mkdir(parents=True)
        (folder / "options.json").write_text(json.dumps(self.options))
        text = "Complexity,Loss,Equation\\n1,0.5,v0\\n3,0.1,\\"square(v0) * v1\\"\\n"
        (folder / "hall_of_fame.csv").write_text(text)
        if "slow" in os.environ.get("FAKE_PYSR", ""):
            time.sleep(60)
        if "broken" in os.environ.get("FAKE_PYSR", ""):
            raise ValueError("no such operator")
        last = variable_names[-1]
        self.equations_ = pd.DataFrame({
            "complexity": [1, 5], "loss": [0.5, 0.0],
            "equation": ["v0", "x"], "sympy_format": ["v0", f"2.1*{last} + 0.9"],
        })
"""


@pytest.fixture
def fake_pysr(tmp_path, monkeypatch):
    package = tmp_path / "pysr"
    package.mkdir()
    (package / "__init__.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(pysr_engine, "find_julia", lambda: "julia")
    return monkeypatch


@pytest.fixture
def problem():
    x, y = np.random.default_rng(0).normal(size=(2, 30))
    return RegressionProblem({"S": x, "X1": y}, 2 * np.sin(x) * y + 1, features=(parse("sin(S)*X1"),))


def test_front_comes_back_in_the_users_variables(fake_pysr, problem):
    front = PySREngine().search(problem)
    assert front.complete
    assert front.best.loss < 1e-28
    assert sympy.nsimplify(front.best.expression, rational=True).subs(1.0, 1) == parse("2*sin(S)*X1 + 1")


def test_cancelling_keeps_what_was_found(fake_pysr, problem):
    fake_pysr.setenv("FAKE_PYSR", "slow")
    cancelled = threading.Event()
    reports = []

    def progress(report):
        reports.append(report)
        if "2 formulas" in report.message:
            cancelled.set()

    started = time.monotonic()
    front = PySREngine().search(problem, Runtime(progress=progress, cancelled=cancelled))
    assert time.monotonic() - started < 50
    assert not front.complete
    assert "stopped early" in front.message
    assert parse("S**2*X1") in [candidate.expression for candidate in front] or len(front) >= 1


def test_time_limit_ends_the_process(fake_pysr, problem):
    fake_pysr.setenv("FAKE_PYSR", "slow")
    limited = RegressionProblem(problem.columns, problem.target, budget=Budget(seconds=8.0))
    started = time.monotonic()
    front = PySREngine().search(limited)
    assert time.monotonic() - started < 40
    assert not front.complete


def test_refusal_of_pysr_is_one_line(fake_pysr, problem):
    fake_pysr.setenv("FAKE_PYSR", "broken")
    with pytest.raises(OptionError, match="no such operator") as caught:
        PySREngine().search(problem)
    assert "\n" not in str(caught.value)


def test_missing_julia_is_explained(monkeypatch, problem):
    monkeypatch.setattr(pysr_engine, "find_julia", lambda: None)
    with pytest.raises(MissingDependencyError, match="Julia") as caught:
        PySREngine().search(problem)
    message = str(caught.value)
    assert "\n" not in message
    assert "julialang.org" in message
    assert "PYTHON_JULIAPKG_OFFLINE" in message


def test_a_pysr_that_cannot_be_imported_is_explained(fake_pysr, problem, tmp_path):
    (tmp_path / "pysr" / "__init__.py").write_text("raise RuntimeError('cannot download julia')")
    with pytest.raises(MissingDependencyError, match="cannot download julia"):
        PySREngine().search(problem)


def test_the_worker_never_imports_torch(fake_pysr):
    code = (
        "import sys, fepysr_dyn.search.pysr_worker; print('torch' in sys.modules, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_options_pass_through_and_must_be_plain():
    with pytest.raises(OptionError, match="plain values"):
        PySRConfig(options={"loss_function": object()})
    assert PySRConfig(options={"populations": 8}).options["populations"] == 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v0 ^ 2.0", "v0**2.0"),
        ("square(cube(v0) + neg(v1))", "(v0**3 - v1)**2"),
        ("inv(exp(v0)) * 3.0f-1", "0.3*exp(-v0)"),
        ("Abs(v0) + sign(v1)*sqrt(v0)", "abs(v0) + sign(v1)*sqrt(v0)"),
        ("v0*1.5e-7", "1.5e-7*v0"),
    ],
)
def test_spellings_of_pysr(text, expected):
    assert equivalent(read_formula(text, ("v0", "v1")), parse(expected), rtol=1e-14)


def _installed_source():
    spec = importlib.util.find_spec("pysr")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("pysr is not installed")
    return Path(spec.submodule_search_locations[0])


def test_contract_with_the_installed_pysr(problem):
    """Every option, argument, attribute and file name we rely on, checked without importing pysr."""
    folder = _installed_source()
    source = (folder / "sr.py").read_text(encoding="utf-8")
    (regressor,) = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == "PySRRegressor"
    ]
    methods = {node.name: node for node in regressor.body if isinstance(node, ast.FunctionDef)}

    def arguments(name):
        return {argument.arg for argument in (*methods[name].args.args, *methods[name].args.kwonlyargs)}

    assert set(regressor_options(problem, "folder", 10.0)) <= arguments("__init__")
    assert {"X", "y", "weights", "variable_names"} <= arguments("fit")
    annotated = {
        node.target.id
        for node in regressor.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert "equations_" in annotated
    texts = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    assert {"complexity", "loss", "equation", "hall_of_fame.csv", "Equation", "serial"} <= texts
    exported = "".join(path.read_text(encoding="utf-8") for path in folder.glob("export*.py"))
    for name in ('"sympy_format"', '"inv"', '"square"', '"cube"', '"neg"', '"sign"', '"atan"'):
        assert name in exported


@pytest.mark.julia
def test_the_real_pysr():
    x = np.random.default_rng(0).normal(size=60)
    engine = PySREngine(PySRConfig(options={"niterations": 20, "populations": 4}, download_julia=True))
    front = engine.search(RegressionProblem({"x": x}, x**2 + np.cos(x), max_complexity=15))
    assert front.best.loss < 1e-20
