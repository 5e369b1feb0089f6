import json
import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import sympy
import xarray as xr
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from fepysr_dyn import FePySR
from fepysr_dyn.errors import DataError, ExpressionError, FepysrDynError, InputError, OptionError
from fepysr_dyn.expressions import parse
from fepysr_dyn.search.baseline import baseline
from fepysr_dyn.search.front import ParetoFront


class Lines:
    """The quickest engine: straight lines, so that scikit-learn's many fits cost nothing."""

    name = "lines"

    def search(self, problem, runtime=None):
        return baseline(problem)


class Endless:
    """An engine that runs until it is told to stop."""

    name = "endless"

    def __init__(self, started=None):
        self.started = started

    def search(self, problem, runtime=None):
        if self.started is not None:
            self.started.set()
        limit = time.monotonic() + 60
        while not runtime.must_stop() and time.monotonic() < limit:
            time.sleep(0.02)
        return ParetoFront.of([], complete=False)


@pytest.fixture
def data():
    x = np.random.default_rng(0).normal(size=(80, 2))
    return x, x[:, 0] ** 2 - 3 * x[:, 0] * x[:, 1] + 0.5


def test_scikit_learn_conventions():
    """All checks but one: weights are not the same as repeated rows, which change how much is known."""
    expected = {"check_sample_weight_equivalence_on_dense_data": "the choice counts rows as evidence"}
    model = FePySR(engine=Lines(), features=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(model, expected_failed_checks=expected, on_fail=None, on_skip=None)
    failed = [result for result in results if result["status"] == "failed"]
    assert not failed, failed
    assert len(results) > 40


def test_arrays_frames_and_datasets_give_one_answer(data):
    x, y = data
    model = FePySR(engine="sparse", features=None)
    assert model.fit(x, y).expression_.equals(parse("x0**2 - 3*x0*x1 + 1/2"))
    assert model.variables_ == ("x0", "x1")
    frame = pd.DataFrame(x, columns=["a", "b"])
    truth = parse("a**2 - 3*a*b + 1/2")
    assert model.fit(frame, y).expression_.equals(truth)
    dataset = xr.Dataset({name: ("row", frame[name].to_numpy()) for name in frame})
    assert model.fit(dataset, y).expression_.equals(truth)
    array = xr.DataArray(x, dims=("row", "variable"), coords={"variable": ["a", "b"]})
    assert model.fit(array, y).expression_.equals(truth)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(model.predict(array), y)
    assert model.score(frame, y) == pytest.approx(1.0)
    np.testing.assert_allclose(model.to_callable()(x[:, 0], x[:, 1]), y)
    assert "a^{2}" in model.latex() or "a" in model.latex()
    assert clone(model).get_params()["engine"] == "sparse"


def test_stage_one_proposes_features(data):
    x, _ = data
    y = np.sin(x[:, 0]) * x[:, 1] ** 2
    model = FePySR(engine="sparse").fit(x, y)
    assert model.features_
    assert model.feature_library_ is not None
    assert model.expression_.equals(parse("sin(x0)*x1**2"))


def test_an_executor_changes_nothing(data):
    from fepysr_dyn.search.evolution import EvolutionConfig, EvolutionEngine

    engine = EvolutionEngine(EvolutionConfig(islands=2, population=40, library=400, epoch=1_000))
    X, y = data
    y = y + 0.1 * np.sin(3 * X[:, 1])
    alone, apart = (FePySR(engine=engine, features=None, evaluations=6_000) for _ in range(2))
    with ThreadPoolExecutor(2) as executor:
        apart.fit(X, y, executor=executor)
    assert apart.front_.candidates == alone.fit(X, y).front_.candidates


def test_features_can_be_given_or_left_out(data):
    x, y = data
    given = FePySR(engine=Lines(), features=["x0*x1", sympy.Symbol("x0") ** 2]).fit(x, y)
    assert given.features_ == (parse("x0*x1"), parse("x0**2"))
    assert FePySR(engine=Lines(), features=None).fit(x, y).features_ == ()
    with pytest.raises(InputError, match="no column"):
        FePySR(engine=Lines(), features=[sympy.Symbol("z")]).fit(x, y)
    with pytest.raises(ExpressionError):
        FePySR(engine=Lines(), features=["x0 +"]).fit(x, y)
    with pytest.raises(OptionError, match="fmn"):
        FePySR(engine=Lines(), features="nmf").fit(x, y)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda x, y: (x, y[:-1]), "inconsistent"),
        (lambda x, y: (np.where(x > 2, np.nan, x), y), "NaN"),
        (lambda x, y: (x, np.full_like(y, np.inf)), "infinity"),
        (lambda x, y: (x[:, 0], y), "2D"),
        (lambda x, y: (pd.DataFrame(x, columns=["a b", "c"]), y), "'a_b'"),
        (lambda x, y: (pd.DataFrame(x, columns=["a", "a"]), y), "differ"),
        (lambda x, y: (pd.DataFrame(x, columns=["exp", "b"]), y), "rename"),
    ],
)
def test_bad_input_is_one_clear_line(data, change, match):
    x, y = change(*data)
    with pytest.raises(InputError, match=match) as caught:
        FePySR(engine=Lines(), features=None).fit(x, y)
    assert isinstance(caught.value, FepysrDynError)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"engine": "spares"}, "did you mean 'sparse'"),
        ({"operators": ("+", "sinn")}, "unknown operator"),
        ({"time_limit": 0}, "positive"),
        ({"evaluations": 0}, "at least 1"),
    ],
)
def test_bad_options_are_one_clear_line(data, options, match):
    with pytest.raises(OptionError, match=match):
        FePySR(**{"engine": Lines(), "features": None, **options}).fit(*data)


def test_a_saved_model_is_the_same_model(data, tmp_path):
    x, y = data
    model = FePySR(engine="sparse", features=["x0*x1"]).fit(pd.DataFrame(x, columns=["x0", "x1"]), y)
    path = tmp_path / "fit.json"
    model.save(path)
    loaded = FePySR.load(path)
    assert loaded.expression_ == model.expression_
    assert loaded.front_.to_pandas().equals(model.front_.to_pandas())
    assert loaded.features_ == model.features_
    assert loaded.choice_.exact == model.choice_.exact
    frame = pd.DataFrame(x, columns=["x0", "x1"])
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    document = json.loads(path.read_text())
    assert document["schema"] == 1
    assert document["versions"]["numpy"] == np.__version__


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("not json", "no JSON"),
        ("[]", "kind"),
        ('{"kind": "fepysr-fit", "schema": 99}', "schema 99"),
        ('{"kind": "fepysr-fit", "schema": 1}', "damaged"),
    ],
)
def test_a_broken_file_is_explained(tmp_path, text, match):
    path = tmp_path / "fit.json"
    path.write_text(text)
    with pytest.raises(DataError, match=match):
        FePySR.load(path)


def test_a_file_never_runs_code(data, tmp_path):
    path = tmp_path / "fit.json"
    FePySR(engine=Lines(), features=None).fit(*data).save(path)
    document = json.loads(path.read_text())
    document["candidate"]["expression"] = "__import__('os').system('touch hacked')"
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="damaged"):
        FePySR.load(path)


def test_time_limit_returns_the_best_so_far(data):
    with pytest.warns(UserWarning, match="cut short"):
        model = FePySR(engine=Endless(), features=None, time_limit=0.3).fit(*data)
    assert model.interrupted_
    assert model.seconds_ < 30
    assert np.all(np.isfinite(model.predict(data[0])))


def test_ctrl_c_returns_the_best_so_far(data):
    started = threading.Event()

    def press():
        started.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=press, daemon=True).start()
    with pytest.warns(UserWarning, match="cut short"):
        model = FePySR(engine=Endless(started), features=None).fit(*data)
    assert model.interrupted_
    assert signal.getsignal(signal.SIGINT) is before


def test_weights_of_zero_are_missing_rows(data):
    x, y = data
    spoiled = y.copy()
    spoiled[:10] = 1e3
    weights = np.ones(80)
    weights[:10] = 0.0
    model = FePySR(engine="sparse", features=None).fit(x, spoiled, sample_weight=weights)
    assert model.expression_.equals(parse("x0**2 - 3*x0*x1 + 1/2"))


def test_works_inside_cross_validation(data):
    x, y = data
    scores = cross_val_score(FePySR(engine=Lines(), features=None), x, y, cv=3)
    assert scores.shape == (3,)
