"""Training: random streams, independence of runs, threads, progress."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fepysr_dyn.features import PRESETS, extract_features
from fepysr_dyn.features.training import train

SMALL = replace(PRESETS["default"], runs=5, epochs=4, copies=2)


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(3).normal(size=(120, 2))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 0])


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_a_run_does_not_depend_on_its_neighbours(data, preset):
    config = replace(PRESETS[preset], epochs=3)
    many = train(*data, replace(config, runs=17), seed=1)
    for runs in (1, 4):
        few = train(*data, replace(config, runs=runs), seed=1)
        for small, large in zip(few.weights, many.weights, strict=True):
            np.testing.assert_array_equal(small, large[:runs])


def test_runs_differ_from_each_other(data):
    weights = train(*data, SMALL, seed=0).weights[0]
    assert len({run.tobytes() for run in weights}) == SMALL.runs


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_the_same_list_on_one_thread_and_on_two(data, preset):
    config = replace(PRESETS[preset], runs=8, epochs=5)
    before = torch.get_num_threads()
    lists = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            library = extract_features(*data, names=["x", "y"], config=config, seed=2)
            lists.append((library.names, library.counts, library.scores))
    finally:
        torch.set_num_threads(before)
    assert lists[0] == lists[1]


def test_another_seed_is_another_training(data):
    first, second = (train(*data, SMALL, seed=seed).weights[-1] for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_error_falls(data):
    config = replace(PRESETS["default"], runs=8)
    early, late = (train(*data, replace(config, epochs=epochs), seed=0).errors for epochs in (1, 30))
    assert np.median(late) < 0.5 * np.median(early)


def test_progress_reaches_one(data):
    seen = []
    train(*data, SMALL, seed=0, progress=lambda fraction, message: seen.append((fraction, message)))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert len(seen) == SMALL.epochs


def test_more_rows_than_allowed_are_thinned(data):
    X, y = data
    library = extract_features(X, y, config=replace(SMALL, max_rows=50), seed=0)
    assert library.values.shape[0] == len(y)
