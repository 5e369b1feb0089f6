"""Implicit laws solved for the derivative; the penalised fit itself needs cvxpy and is replaced here."""

import numpy as np
import pytest

from fepysr_dyn.baselines.implicit import _best_law


class LeastSquares:
    """Every column in terms of all others, without a penalty."""

    def __init__(self, **options):
        self.options = options

    def fit(self, columns, target):
        rows = []
        for left in range(columns.shape[1]):
            others = [i for i in range(columns.shape[1]) if i != left]
            row = np.zeros(columns.shape[1])
            row[others] = np.linalg.lstsq(columns[:, others], columns[:, left], rcond=None)[0]
            rows.append(row)
        self.coef_ = np.array(rows)
        return self


def test_a_rational_law_is_solved_for_the_derivative_and_cleared_of_what_vanishes():
    x = np.linspace(0.1, 3.0, 80)
    rate = 0.2 - 1.5 * x / (0.4 + x)
    law = _best_law(LeastSquares, np.column_stack([np.ones_like(x), x]), rate, 1e-3)
    top, bottom = (part / law[1][1] for part in law)
    np.testing.assert_allclose(bottom, [0.4, 1.0], rtol=1e-6)
    np.testing.assert_allclose(top, [0.08, -1.3], rtol=1e-6)


def test_a_law_without_a_denominator_has_a_constant_one():
    x = np.linspace(-1.0, 3.0, 80)
    top, bottom = _best_law(LeastSquares, np.column_stack([np.ones_like(x), x, x**2]), 0.3 * x**2 - x, 1e-3)
    np.testing.assert_allclose(top / bottom[0], [0.0, -1.0, 0.3], atol=1e-6)
    np.testing.assert_allclose(bottom[1:] / bottom[0], 0.0, atol=1e-6)


def test_a_denominator_that_vanishes_within_the_data_is_no_law():
    x = np.linspace(0.0, 2.0, 81)
    # The only sparse relation is x' (x - 1) = 1, which has a pole in the middle of the data.
    rate = 1 / (x - 1.0001)
    features = np.column_stack([np.ones_like(x), x])
    law = _best_law(LeastSquares, features, rate, 1e-3)
    assert law is None or np.all(np.sign(features @ law[1]) == np.sign(features[0] @ law[1]))


def test_a_state_that_rests_has_the_rate_zero():
    top, bottom = _best_law(LeastSquares, np.ones((20, 3)), np.zeros(20), 1e-3)
    assert not top.any()
    assert bottom.tolist() == [1, 0, 0]


@pytest.mark.parametrize("penalty", [1e-4, 1e-2])
def test_the_penalty_reaches_the_optimizer(penalty):
    seen = []

    class Watching(LeastSquares):
        def __init__(self, **options):
            super().__init__(**options)
            seen.append(options["reg_weight_lam"])

    x = np.linspace(0.1, 1.0, 30)
    _best_law(Watching, np.column_stack([np.ones_like(x), x]), -x, penalty)
    assert seen == [penalty]
