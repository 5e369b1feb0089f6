"""Fits of rate laws: they end where a general fit of the formula ends, and know what cannot be fitted."""

import numpy as np
import pytest
import sympy

from fepysr_dyn.expressions import parse
from fepysr_dyn.search.least_squares import refit_expression
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.rate_law_fitting import RateLawFitter
from fepysr_dyn.search.rate_laws import Part, RateTerm

DECAY = RateTerm(("e",))
HILL = RateTerm((), (Part("saturation", "s", 2, "", 1.0),))
GATED = RateTerm(("e",), (Part("inhibition", "z", 3, "", 0.5), Part("competition", "s", 1, "e", 0.4)))
REST = RateTerm(("e",), (Part("exhaustion", "s", 1, "", 4.0),))


def problem_of(law, seed, noise=0.0, **settings):
    random = np.random.default_rng(seed)
    columns = {name: random.uniform(0.05, 2.0, 300) for name in "sez"}
    rate = sympy.lambdify(list(columns), parse(law))(*columns.values())
    target = rate + noise * float(np.std(rate)) * random.normal(size=300)
    return RegressionProblem(columns, target, noise=noise or None, **settings)


def formula(law):
    terms = [term.expression([sympy.Float(part.level) for part in term.parts]) for term in law.terms]
    return sum(sympy.Float(c) * term for c, term in zip(law.coefficients, terms, strict=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("law", "terms", "levels"),
    [
        ("1.7*s**2/(0.3 + s**2) - 0.8*e", (HILL, DECAY), [0.3]),
        ("2.4*e*s/((0.9 + z**3)*(0.15 + s + e)) - 0.8*e", (GATED, DECAY), [0.9, 0.15]),
        ("1.1*e/(2.3 - s) - 0.8*e", (REST, DECAY), [2.3]),
    ],
)
def test_constants_of_exact_laws_are_found_from_afar(law, terms, levels, seed):
    fitted = RateLawFitter(problem_of(law, seed)).fit(terms)
    found = [part.level for term in fitted.terms for part in term.parts]
    np.testing.assert_allclose(found, levels, rtol=1e-6)
    assert fitted.coefficients[1] == pytest.approx(-0.8, rel=1e-6)
    assert fitted.loss < 1e-14


@pytest.mark.parametrize("seed", range(4))
def test_under_noise_and_with_weights_no_general_fit_is_better(seed):
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, 300)
    problem = problem_of("1.7*s**2/(0.3 + s**2) - 0.8*e", seed, noise=0.1, weights=weights)
    fitted = RateLawFitter(problem).fit((HILL, DECAY))
    refitted, loss = refit_expression(formula(fitted), problem)
    assert fitted.loss == pytest.approx(loss, rel=1e-6)
    assert problem.loss(np.asarray(sympy.lambdify(list("sez"), refitted)(*problem.columns.values()))) > 0.0


@pytest.mark.parametrize("seed", range(4))
def test_a_measured_problem_is_fitted_as_it_is_measured(seed):
    windows = np.abs(np.random.default_rng(seed).normal(size=(60, 300)))
    exact = problem_of("1.7*s**2/(0.3 + s**2) - 0.8*e", seed)
    problem = RegressionProblem(exact.columns, windows @ exact.target, measurement=windows)
    fitted = RateLawFitter(problem).fit((HILL, DECAY))
    assert fitted.terms[0].parts[0].level == pytest.approx(0.3, rel=1e-6)
    np.testing.assert_allclose(fitted.coefficients, [1.7, -0.8], rtol=1e-6)


def test_values_and_formula_of_a_term_agree():
    problem = problem_of("s", 0)
    for term in (DECAY, HILL, GATED, REST):
        written = term.expression([sympy.Float(part.level) for part in term.parts])
        expected = sympy.lambdify(list("sez"), written)(*problem.columns.values())
        np.testing.assert_allclose(RateLawFitter(problem).values([term])[:, 0], expected, rtol=1e-12)


def test_what_cannot_be_fitted_has_an_infinite_loss():
    problem = problem_of("1.7*s - 0.8*e", 0)
    assert RateLawFitter(problem).fit((DECAY, DECAY)).loss == np.inf
    inside = RateTerm(("e",), (Part("exhaustion", "s", 1, "", 1.0),))
    fitted = RateLawFitter(problem).fit((inside,))
    assert fitted.loss == np.inf or fitted.terms[0].parts[0].level > 2.0


def test_plainer_terms_and_sizes():
    competition = RateTerm(("z",), (Part("competition", "s", 1, "e", 0.4),))
    assert competition.plainer() == [RateTerm(("z",)), RateTerm(("s", "z"))]
    assert HILL.plainer() == [RateTerm(()), RateTerm(("s", "s"))]
    assert DECAY.plainer() == []
    assert RateTerm(()).size < DECAY.size < HILL.size < GATED.size


def test_hill_exponents_lead_one_after_the_other_to_switches():
    part, reached = Part("inhibition", "s", 8, "", 0.5**8), [8]
    while steeper := [other for other in part.neighbours() if other.exponent > part.exponent]:
        part = steeper[0]
        reached.append(part.exponent)
        # The column at which the switch is half on stays where it is.
        assert part.level ** (1 / part.exponent) == pytest.approx(0.5)
    assert reached == sorted(set(reached))
    assert reached[-1] >= 40


@pytest.mark.parametrize(("level", "runs"), [(0.5, False), (2.0, False), (1e5, True)])
def test_a_constant_far_beyond_the_data_runs_away(level, runs):
    assert Part("saturation", "s", 1, "", level).runs_away({"s": np.linspace(0.0, 2.0, 9)}) is runs
