import builtins
import threading

import numpy as np
import pytest

from fepysr_dyn.errors import MissingDependencyError, OptionError
from fepysr_dyn.expressions import equivalent, parse
from fepysr_dyn.search.operon_engine import OperonConfig, OperonEngine
from fepysr_dyn.search.problem import Budget, RegressionProblem, Runtime


def test_absence_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyoperon"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    problem = RegressionProblem({"x": np.arange(9.0)}, np.arange(9.0))
    with pytest.raises(MissingDependencyError, match=r"fepysr-dyn\[operon\]"):
        OperonEngine().search(problem)


def test_slices_are_checked():
    with pytest.raises(OptionError, match="slices"):
        OperonConfig(slices=0)


@pytest.fixture
def operon():
    return pytest.importorskip("pyoperon")


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_finds_a_product_in_float64_whatever_the_scale(operon, offset):
    x, y = np.random.default_rng(0).normal(size=(2, 200))
    problem = RegressionProblem(
        {"x": x * 1e4, "y": y},
        3 * x * y + offset,
        budget=Budget(40_000),
        operators=("+", "*"),
        max_complexity=15,
    )
    front = OperonEngine(OperonConfig(slices=2)).search(problem)
    assert front.best.loss < 1e-18
    truth = parse("0.0003*x*y") + offset
    box = {"x": (-3e4, 3e4), "y": (-3.0, 3.0)}
    assert equivalent(front.best.expression, truth, box)


def test_one_seed_one_answer_and_cancellation(operon):
    x = np.random.default_rng(0).normal(size=60)
    problem = RegressionProblem({"x": x}, np.sin(x) + x, budget=Budget(20_000))
    engine = OperonEngine(OperonConfig(slices=2))
    first, second = engine.search(problem), engine.search(problem)
    assert [c.expression for c in first] == [c.expression for c in second]
    cancelled = threading.Event()
    cancelled.set()
    assert not engine.search(problem, Runtime(cancelled=cancelled)).complete
