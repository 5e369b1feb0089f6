"""What a regression problem measures of a prediction."""

import numpy as np
import pytest

from fepysr_dyn.errors import DataError
from fepysr_dyn.search.problem import RegressionProblem


def measured(operator, nuisance=None):
    rows = operator.shape[1]
    columns = {"x": np.linspace(0.0, 1.0, rows)}
    return RegressionProblem(columns, np.zeros(len(operator)), measurement=operator, nuisance=nuisance)


@pytest.mark.parametrize("band", [3, 400])
def test_operators_of_short_and_of_long_memory_measure_alike(band):
    random = np.random.default_rng(band)
    dense = random.normal(size=(300, 400))
    operator = np.where(np.abs(np.subtract.outer(np.arange(300), np.arange(400))) < band, dense, 0.0)
    problem, predictions = measured(operator), random.normal(size=(400, 5))
    np.testing.assert_allclose(problem.measure(predictions), operator @ predictions, atol=1e-12)
    np.testing.assert_allclose(problem.measure(predictions[:, 0]), operator @ predictions[:, 0], atol=1e-12)


def test_what_other_unknowns_account_for_does_not_count():
    random = np.random.default_rng(0)
    operator = random.normal(size=(30, 40))
    nuisance, _ = np.linalg.qr(random.normal(size=(30, 2)))
    problem = measured(operator, nuisance)
    prediction = random.normal(size=40)
    left = problem.measure(prediction)
    np.testing.assert_allclose(nuisance.T @ left, 0.0, atol=1e-12)
    np.testing.assert_allclose(left, operator @ prediction - nuisance @ (nuisance.T @ operator @ prediction))


def test_nuisance_of_another_length_is_refused():
    with pytest.raises(DataError, match="nuisance directions need 30 rows, got 29"):
        measured(np.ones((30, 40)), np.ones((29, 1)))
