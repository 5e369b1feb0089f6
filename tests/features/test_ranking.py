"""Sparse models over dictionaries of products, and the ranking they give."""

import numpy as np
import pytest

from fepysr_dyn.expressions import parse
from fepysr_dyn.features import extract_features
from fepysr_dyn.features.sparse_fit import GramProblem, true_residual
from fepysr_dyn.features.validity import valid_flags


def normalised(columns):
    centred = columns - columns.mean(axis=0)
    return centred / np.linalg.norm(centred, axis=0)


def test_a_sparse_sum_is_found_among_correlated_columns():
    """Forward selection alone starts with the column that is nearly the sum."""
    rng = np.random.default_rng(0)
    D = rng.normal(size=(300, 40))
    D[:, 7] = D[:, 1] + D[:, 2] + 0.3 * rng.normal(size=300)
    D = normalised(D)
    target = normalised((D[:, 1] + D[:, 2] - 0.2 * D[:, 3])[:, None])[:, 0]
    model = GramProblem(D.T @ D, D.T @ target, np.full(40, 10.0), 300).search()
    assert set(model.columns) == {1, 2, 3}
    assert model.exact
    assert true_residual(D[:, list(model.columns)], target) < 1e-20


def test_noise_is_not_explained():
    rng = np.random.default_rng(1)
    D = normalised(rng.normal(size=(300, 200)))
    target = normalised(rng.normal(size=(300, 1)))[:, 0]
    prices = np.full(200, 2 * np.log(200) + np.log(300))
    assert GramProblem(D.T @ D, D.T @ target, prices, 300).search().columns == ()


def test_a_collinear_start_is_no_error():
    rng = np.random.default_rng(2)
    D = normalised(rng.normal(size=(50, 4)))
    D[:, 1] = D[:, 0]
    model = GramProblem(D.T @ D, D.T @ D[:, 2], np.ones(4), 50).search([0, 1])
    assert 2 in model.columns


TARGETS = [
    ("x**4*y - x**3 + 0.5*y**2*cos(x) - x", {"x**4", "x**2", "y**2", "cos(x)"}),
    ("exp(x**2 + sin(y))", {"exp(x**2)", "exp(sin(y))", "x**2", "sin(y)"}),
    ("x*y/(exp(x) + sin(y)**2)", {"exp(x)", "sin(y)", "x*y"}),
]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("target", "wanted"), TARGETS)
def test_building_blocks_come_first(target, wanted, seed):
    X = np.random.default_rng(seed + 10).normal(size=(300, 2))
    truth = parse(target)
    values = np.array([float(truth.subs({"x": a, "y": b})) for a, b in X])
    library = extract_features(X, values, names=["x", "y"], seed=seed)
    assert wanted <= set(library.top(8).names)
    assert sum(valid_flags(library.top(4).expressions, truth)) >= 3


def test_variables_that_enter_together_are_a_feature():
    X = np.random.default_rng(5).uniform(0, 1, size=(200, 3))
    y = -X[:, 0] + 0.25 * (X[:, 1] - X[:, 2]) + 0.001 * X[:, 1] ** 2
    assert "b - c" in extract_features(X, y, names=["a", "b", "c"], seed=0).top(10).names
