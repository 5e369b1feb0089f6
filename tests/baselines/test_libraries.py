"""PySINDy's models as sympy: the same numbers as its own prediction."""

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.baselines.ensemble import make_ensemble
from fepysr_dyn.baselines.exponential import make_exponential
from fepysr_dyn.baselines.fourier import make_fourier
from fepysr_dyn.baselines.pieces import stacked
from fepysr_dyn.baselines.polynomial import make_polynomial
from fepysr_dyn.baselines.pysindy_calls import quiet
from fepysr_dyn.baselines.weak import WeakFitter
from fepysr_dyn.expressions import compile_expression
from fepysr_dyn.measured_system import measured_system
from fepysr_dyn.model_files import system_from_toml

DRIVEN = system_from_toml("""
[states.p]
initial = 0.4
rate = "0.3*q - p*q + u"
[states.q]
initial = 1.5
rate = "-0.7*q + 0.2*p**2 - 0.4*sin(q)"
[inputs.u]
stimulus = { kind = "steps", times = [0, 1.53, 4.0], values = [1, -0.5, 0.8] }
[protocol]
duration = 6
samples = 240
""")


@pytest.fixture(scope="module")
def runs():
    return fd.simulate(DRIVEN)


@pytest.mark.parametrize(
    "baseline",
    [make_polynomial(1), make_polynomial(2), make_polynomial(3), make_fourier(), make_exponential()],
    ids=lambda baseline: baseline.name,
)
@pytest.mark.parametrize("units", ["natural", "plain"])
def test_the_sympy_rates_are_what_the_model_predicts(runs, baseline, units):
    settings = {"smoothing": 0, "units": units, "threshold": 0.01}
    fitter = baseline.prepare(runs, 0)
    rates = fitter.fit(settings)
    model, scale, _ = fitter.model(settings)
    states, inputs = stacked(fitter._pieces)
    predicted = np.asarray(model.predict(states / scale.states, u=inputs / scale.inputs))
    predicted = predicted * scale.states * scale.rate
    for column, state in enumerate(runs.states):
        ours = compile_expression(rates[state], ("p", "q", "u"))(*states.T, *inputs.T)
        np.testing.assert_allclose(ours, predicted[:, column], rtol=1e-8, atol=1e-10)
    assert any(rate.free_symbols for rate in rates.values())


def test_the_median_of_an_ensemble_is_its_answer_and_a_seed_repeats_it(runs):
    settings = {"library": "degree 2", "smoothing": 0, "units": "plain", "threshold": 0.03}
    before = np.random.get_state()[1].copy()
    fitter = make_ensemble().prepare(runs, 7)
    model, units, library = fitter.model(settings)
    median = np.median(model.optimizer.coef_list, axis=0)
    assert fitter.fit(settings) == units.rates(median, library.terms, runs.states, runs.inputs)
    assert make_ensemble().prepare(runs, 7).fit(settings) == fitter.fit(settings)
    assert make_ensemble().prepare(runs, 8).fit(settings) != fitter.fit(settings)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def _quietly(fitter, settings):
    with quiet():
        return fitter.fit(settings)


def test_the_weak_form_in_natural_units_is_the_same_model_as_in_plain_ones(runs):
    fitter = WeakFitter(runs, 0)
    settings = {"degree": 2, "width": 0.15, "threshold": 0.0}
    plain, natural = (_quietly(fitter, {**settings, "units": units}) for units in ("plain", "natural"))
    rng = np.random.default_rng(0)
    columns = rng.uniform(-1, 1, (3, 50))
    for state in runs.states:
        first, second = (
            compile_expression(rates[state], ("p", "q", "u"))(*columns) for rates in (plain, natural)
        )
        np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e-4)
    true = compile_expression(DRIVEN.rates["p"], ("p", "q", "u"))(*columns)
    found = compile_expression(plain["p"], ("p", "q", "u"))(*columns)
    np.testing.assert_allclose(found, true, atol=1e-5)


def test_a_coefficient_that_is_not_finite_is_refused(runs):
    fitter = make_polynomial(1).prepare(runs, 0)
    _, units, library = fitter.model({"smoothing": 0, "units": "plain", "threshold": 0.01})
    with pytest.raises(ValueError, match="not finite"):
        units.rates(np.full((2, 4), np.nan), library.terms, runs.states, runs.inputs)


def test_the_system_has_the_experiments_of_the_data(runs):
    rates = make_polynomial(1).prepare(runs, 0).fit({"smoothing": 0, "units": "plain", "threshold": 0.01})
    system = measured_system("found", rates, runs)
    assert system.states == ("p", "q")
    assert system.inputs["u"].breakpoints == (1.53, 4.0)
    assert fd.simulate(system).states == runs.states
