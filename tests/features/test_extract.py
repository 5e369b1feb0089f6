"""`extract_features` as users call it: bad input, presets, the library, the transformer."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sympy

import fepysr_dyn as fd
from fepysr_dyn.errors import DataError, FepysrDynError, OptionError
from fepysr_dyn.features import PRESETS, FeatureMapper, FmnConfig, extract_features
from fepysr_dyn.features.config import resolve_config

QUICK = replace(PRESETS["default"], runs=6, epochs=5, copies=2)
X = np.random.default_rng(0).normal(size=(80, 2))
Y = X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def library():
    return extract_features(X, Y, names=["x", "y"], config=QUICK)


def spoiled(value):
    columns = X.copy()
    columns[3, 1] = value
    return columns


BAD = [
    ("rows", {"X": X[:5], "y": Y[:5]}, DataError, "at least 10 rows, got 5"),
    ("constant", {"X": X, "y": np.ones(80)}, DataError, "constant"),
    ("nan", {"X": spoiled(np.nan), "y": Y}, DataError, "column 'x1' holds 1 values that are not finite"),
    ("inf", {"X": X, "y": np.where(Y > 1, np.inf, Y)}, DataError, "target holds"),
    ("length", {"X": X, "y": Y[:-1]}, DataError, "needs 80 values"),
    ("text", {"X": [["a", "b"]] * 20, "y": np.arange(20)}, DataError, "numbers only"),
    ("shape", {"X": np.zeros((20, 2, 2)), "y": np.arange(20)}, DataError, "table"),
    ("names", {"X": X, "y": Y, "names": ["x"]}, OptionError, "2 names"),
    ("twice", {"X": X, "y": Y, "names": ["x", "x"]}, OptionError, "differ"),
    ("reserved", {"X": X, "y": Y, "names": ["x", "exp"]}, OptionError, "'exp' cannot be the name"),
    ("preset", {"X": X, "y": Y, "preset": "papr"}, OptionError, "did you mean 'paper'"),
]


@pytest.mark.parametrize(("arguments", "kind", "message"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input_is_one_clear_line(arguments, kind, message):
    with pytest.raises(kind) as caught:
        extract_features(**arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operators": ("sine",)}, "unknown operator 'sine'; did you mean 'sin'"),
        ({"operators": ()}, "at least one operator"),
        ({"layer_operators": (("sin",), ())}, "at least one operator"),
        ({"runs": 0}, "runs must be a whole number of at least 1"),
        ({"epochs": 2.5}, "epochs must be a whole number"),
        ({"copies": True}, "copies must be a whole number"),
        ({"depth": 0}, "depth must be"),
        ({"learning_rate": 0}, "learning_rate must be positive"),
        ({"sparsity": -1}, "penalties must not be negative"),
        ({"schedule": "linear"}, "schedule must be one of constant, cosine"),
        ({"initial": "zeros"}, "initial must be one of"),
        ({"ranking": "size"}, "ranking must be one of"),
    ],
)
def test_every_setting_is_checked(settings, message):
    with pytest.raises(OptionError, match=message):
        FmnConfig(**settings)


def test_unknown_settings_are_refused():
    with pytest.raises(OptionError, match="did you mean 'epochs'"):
        resolve_config("paper", None, epoch=3)


def test_paper_preset_is_the_paper():
    paper = PRESETS["paper"]
    assert (paper.batch_size, paper.learning_rate, paper.epochs, paper.runs, paper.top) == (
        50,
        0.5,
        100,
        16,
        4,
    )
    assert (paper.sparsity, paper.contrast, paper.copies) == (0.08, 0.001, 4)
    assert paper.operators == ("square", "sin", "cos", "exp", "add", "mul")
    assert paper.ranking == "count"
    assert paper.schedule == "constant"
    assert not paper.standardise


def test_count_ranking_is_sorted_by_count():
    found = extract_features(X, Y, config=replace(PRESETS["paper"], runs=4, epochs=3))
    assert list(found.counts) == sorted(found.counts, reverse=True)
    assert found.scores == tuple(map(float, found.counts))


def test_library(library):
    assert library.names[0] == "x*y"
    assert all(not feature.is_Symbol and feature.free_symbols for feature in library.expressions)
    assert library.values.shape == (80, len(library))
    np.testing.assert_allclose(library.evaluate(X), library.values)
    table = library.to_pandas()
    assert list(table["rank"]) == list(range(1, len(library) + 1))
    assert list(table["feature"]) == list(library.names)
    best = library.top(3)
    assert len(best) == 3
    assert best.expressions == library.expressions[:3]
    assert "6 of 6 runs counted" in str(library.report)
    # Nothing twice, also not up to sign and factor.
    normed = library.values / np.linalg.norm(library.values, axis=0)
    overlap = np.abs(normed.T @ normed) - np.eye(len(library))
    assert overlap.max() < 1 - 1e-12


def test_fewer_features_than_asked(library):
    with pytest.raises(OptionError, match="1000 features were asked for, only"):
        library.top(1000)
    with pytest.raises(OptionError, match="at least 1"):
        library.top(0)
    with pytest.raises(OptionError, match="need 2 columns, got 3"):
        library.evaluate(np.zeros((4, 3)))


def test_nothing_found_is_an_empty_library():
    """The sum of one variable with itself is that variable: no feature is left."""
    config = FmnConfig(layer_operators=(("add",),), runs=2, epochs=1)
    found = extract_features(X[:, :1], Y, config=config)
    assert len(found) == len(found.top()) == 0
    assert found.evaluate(X[:, :1]).shape == (80, 0)


def test_data_frames_give_their_names():
    frame = pd.DataFrame(X, columns=["u", "v"])
    assert extract_features(frame, Y, config=QUICK).names[0] == "u*v"


def test_one_variable():
    t = np.random.default_rng(1).normal(size=100)
    found = extract_features(t, np.sin(t) + t**2, names=["t"], config=QUICK)
    assert {"sin(t)", "t**2"} <= set(found.top(4).names)


def test_rational_kinetics_on_request():
    """x/(x + y) is a quotient of features, found with a division unit."""
    positive = np.random.default_rng(2).uniform(0.2, 3, (150, 2))
    target = positive[:, 0] / (positive[:, 0] + positive[:, 1])
    config = replace(PRESETS["default"], operators=("add", "mul", "div", "inv"), runs=16, epochs=10)
    found = extract_features(positive, target, names=["x", "y"], config=config).top(10)
    assert {"x + y", "x/y", "y/x", "x/(x + y)", "1/(x + y)"} & set(found.names)


def test_operators_per_layer():
    config = replace(QUICK, layer_operators=(("sin",), ("square",)), ranking="count")
    found = extract_features(X, Y, names=["x", "y"], config=config)
    x, y = sympy.symbols("x y")
    allowed = {sympy.sin(x), sympy.sin(y), x**2, y**2, sympy.sin(x) ** 2, sympy.sin(y) ** 2}
    assert set(found.expressions) <= allowed


def test_all_runs_lost_is_said(monkeypatch):
    from fepysr_dyn.features import extract

    real = extract.train

    def lost(*arguments):
        trained = real(*arguments)
        trained.alive[:] = False
        return trained

    monkeypatch.setattr(extract, "train", lost)
    with pytest.raises(DataError, match="all 6 runs left the finite numbers"):
        extract_features(X, Y, config=QUICK)


def test_dropped_runs_are_reported(monkeypatch):
    from fepysr_dyn.features import extract

    real = extract.train

    def hurt(*arguments):
        trained = real(*arguments)
        trained.alive[2] = False
        return trained

    monkeypatch.setattr(extract, "train", hurt)
    found = extract_features(X, Y, config=QUICK)
    assert found.report.dropped == (2,)
    assert found.report.unit_outputs == 5 * 4 * 12
    assert "5 of 6 runs counted; dropped" in str(found.report)


def test_huge_columns_do_not_break_it():
    found = extract_features(X * 1e6, Y * 1e12, names=["x", "y"], config=QUICK)
    assert found.names[0] == "x*y"


def test_transformer_appends_columns():
    mapper = FeatureMapper(n_features=3, config=QUICK)
    frame = pd.DataFrame(X, columns=["x", "y"])
    wide = mapper.fit_transform(frame, Y)
    assert wide.shape == (80, 5)
    np.testing.assert_allclose(wide[:, :2], X)
    assert list(mapper.get_feature_names_out())[:3] == ["x", "y", "x*y"]
    np.testing.assert_allclose(wide[:, 2], Y)


def test_transformer_works_in_a_pipeline():
    from sklearn.base import clone
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline

    model = clone(make_pipeline(FeatureMapper(n_features=4, config=QUICK), LinearRegression()))
    assert model.fit(X, Y).score(X, Y) > 1 - 1e-9


def test_public_names():
    assert fd.extract_features is extract_features
    assert issubclass(OptionError, FepysrDynError)
