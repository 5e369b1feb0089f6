"""From samples to equations that are integrated again."""

from dataclasses import replace

import numpy as np
import pytest
import sympy

import fepysr_dyn as fd
from fepysr_dyn.errors import OptionError

SPARSE = fd.DiscoveryConfig(
    engine="sparse",
    features=False,
    operators=("+", "-", "*"),
    max_rows=200,
    seconds_per_state=600.0,
    resamples=5,
)


def test_both_equations_are_recovered_and_reproduce_the_data(found):
    assert all(score.recovered for score in found.validation.structure.values())
    assert found.validation.worst_nrmse < 1e-6
    assert found.complete


def test_the_found_system_predicts_another_stimulus(system, found):
    other = replace(
        system,
        inputs={"u": fd.load_model("tyson_two_protein").inputs["S"]},
        initial={"x": 0.3, "y": 2.0},
        protocol=replace(system.protocol, experiments=(type(system.protocol.experiments[0])("unseen"),)),
    )
    assert fd.validate(found.system, fd.simulate(other)).worst_nrmse < 1e-6


def test_noise_leaves_a_system_that_follows_the_data(system):
    runs = fd.simulate(system, noise=0.01, seed=5)
    found = fd.discover(runs, config=SPARSE, truth=system)
    assert found.validation.worst_r2 > 0.95
    assert all(constant.standard_error > 0 for constant in found.constants)


def test_the_same_seed_gives_the_same_system(runs):
    noisy = fd.simulate(fd.load_model("lotka_volterra"), noise=0.02, seed=1)
    first, again = (fd.discover(noisy, config=SPARSE, seed=3) for _ in range(2))
    assert first.equations() == again.equations()
    assert first.confidence == again.confidence


def test_progress_is_reported_in_order(runs):
    reports = []
    fd.discover(runs, config=SPARSE, progress=reports.append)
    fractions = [report.fraction for report in reports]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


class TestPriors:
    def discover(self, runs, **prior):
        config = replace(SPARSE, priors={"x": fd.EquationPrior(**prior)}, resamples=0)
        return fd.discover(runs, config=config).system.rates["x"]

    def test_a_known_term_is_kept_and_the_rest_is_found(self, runs):
        rate = self.discover(runs, known="0.7*x")
        x, y, u = sympy.symbols("x y u")
        truth = 0.7 * x - 0.5 * x * y + 0.1 * u
        difference = sympy.lambdify((x, y, u), rate - truth)(1.3, 0.4, 0.9)
        assert abs(difference) < 1e-8

    def test_only_the_named_columns_are_used(self, runs):
        rate = self.discover(runs, columns=("x", "y"))
        assert {str(symbol) for symbol in rate.free_symbols} <= {"x", "y"}

    def test_a_forbidden_term_does_not_occur(self, runs):
        from fepysr_dyn.discovery.config import term_coefficients

        rate = self.discover(runs, forbidden=("x*y",))
        assert sympy.Symbol("x") * sympy.Symbol("y") not in term_coefficients(rate)

    def test_bounds_and_signs_filter_candidates(self):
        prior = fd.EquationPrior(bounds={"x": (0.0, 1.0)}, decreases_with=("y",))
        x, y = sympy.symbols("x y")
        columns = {"x": np.linspace(0.1, 2, 20), "y": np.linspace(0.1, 2, 20)}
        assert prior.allows(0.5 * x - x * y, columns)
        assert not prior.allows(1.5 * x - x * y, columns)
        assert not prior.allows(0.5 * x + x * y, columns)

    @pytest.mark.parametrize(
        ("priors", "message"),
        [
            ({"xx": fd.EquationPrior()}, "did you mean 'x'"),
            ({"x": fd.EquationPrior(columns=("yy",))}, "did you mean 'y'"),
        ],
    )
    def test_unknown_names_are_refused(self, runs, priors, message):
        with pytest.raises(OptionError, match=message):
            fd.discover(runs, config=replace(SPARSE, priors=priors))
