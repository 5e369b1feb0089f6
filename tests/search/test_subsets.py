import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fepysr_dyn.search.library import Atom
from fepysr_dyn.search.subsets import SubsetConfig, best_subsets, independent_columns
from fepysr_dyn.search.wide import promising_products


def exhaustive(A, y, size):
    from itertools import combinations

    def residual(columns):
        part = A[:, columns]
        return np.linalg.norm(y - part @ np.linalg.lstsq(part, y, rcond=None)[0]) / np.linalg.norm(y)

    return min(residual(list(columns)) for columns in combinations(range(A.shape[1]), size))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_small_subsets_are_the_best_there_are(seed):
    random = np.random.default_rng(seed)
    # Strong correlation: all columns share one direction.
    A = random.normal(size=(40, 9)) + 3 * random.normal(size=(40, 1))
    y = random.normal(size=40)
    found = {}
    for subset in best_subsets(A, y, SubsetConfig(max_terms=3)):
        size = len(subset.columns)
        found[size] = min(subset.residual, found.get(size, np.inf))
    for size in (1, 2):
        assert found[size] == pytest.approx(exhaustive(A, y, size), rel=1e-9)
    assert found[3] <= 1.02 * exhaustive(A, y, 3)


@pytest.mark.parametrize("seed", range(5))
def test_backward_elimination_is_exact_on_nearly_dependent_columns(seed):
    random = np.random.default_rng(seed)
    x = random.uniform(0.9, 1.1, 300)
    # Powers on a narrow interval: the condition number is about 1e12.
    A = np.column_stack([x**k for k in range(9)])
    y = 2 * x - 0.5 * x**4 + 0.25 * x**7
    best = min(
        (s for s in best_subsets(A, y, SubsetConfig(max_terms=5)) if len(s.columns) == 3),
        key=lambda s: s.residual,
    )
    assert best.residual < 1e-13
    assert best.columns == (1, 4, 7)


def test_exchange_repairs_a_misled_first_step():
    random = np.random.default_rng(1)
    a, b = random.normal(size=(2, 200))
    decoy = a + b + 0.05 * random.normal(size=200)
    noise = random.normal(size=(200, 5))
    A = np.column_stack([decoy, a, b, noise])
    config = SubsetConfig(max_terms=2, beam=1, pairs=0)
    pairs = [s for s in best_subsets(A, a + b, config) if len(s.columns) == 2]
    assert min(pairs, key=lambda s: s.residual).columns == (1, 2)


def test_dependent_columns_are_left_out_in_order():
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 50))
    A = np.column_stack([a, 2 * a, b, a - 3 * b, np.ones(50)])
    assert list(independent_columns(A)) == [0, 2, 4]


def test_products_are_pursued_without_being_formed():
    random = np.random.default_rng(2)
    import sympy

    values = random.normal(size=(120, 60))
    atoms = [Atom(sympy.Integer(1), np.ones(120))]
    atoms += [Atom(sympy.Symbol(f"v{k}"), values[:, k]) for k in range(60)]
    target = 2 * values[:, 3] * values[:, 17] - values[:, 40] * values[:, 41] + 0.1
    _, subsets = promising_products(atoms, atoms, target, np.ones(120))
    names = {tuple(sorted(str(a.expression * b.expression) for a, b in subset)) for subset in subsets}
    assert ("1", "v17*v3", "v40*v41") in names
