"""The best pairs of columns are those that trying all pairs one by one gives."""

import itertools

import numpy as np
import pytest

from fepysr_dyn.search.pairs import best_pairs


@pytest.mark.parametrize("seed", range(4))
def test_the_best_pairs_leave_the_least(seed):
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(40, 12)) @ random.normal(size=(12, 12))
    target = random.normal(size=40)

    def left(pair):
        columns = matrix[:, list(pair)]
        return float(np.linalg.norm(target - columns @ np.linalg.lstsq(columns, target)[0]))

    expected = sorted(itertools.combinations(range(12), 2), key=left)[:5]
    assert best_pairs(matrix, target, range(12), 5) == expected


def test_two_kinds_are_paired_once_and_parallel_columns_never():
    x = np.linspace(0.1, 1.0, 30)
    matrix = np.column_stack([x, 2 * x, x**2, 3 * x**2, np.zeros(30)])
    assert len(best_pairs(matrix, x + x**2, ["a", "a", "b", "b", "c"], 9)) == 1
    assert best_pairs(matrix[:, :2], x, "ab", 3) == []
