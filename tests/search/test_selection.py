import numpy as np
import pytest

from fepysr_dyn.errors import DataError
from fepysr_dyn.expressions import equivalent, parse
from fepysr_dyn.search.front import ParetoFront, evaluate_candidate
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.refit import refit_candidate
from fepysr_dyn.search.selection import choose, is_exact, surely_exact


def _front(problem, texts):
    return ParetoFront.of([refit_candidate(parse(text), problem, "test") for text in texts])


def test_exact_fit_beats_longer_formulas_with_smaller_rounding():
    x = np.random.default_rng(0).uniform(-2, 2, 60)
    problem = RegressionProblem({"x": x}, np.sin(x**2) * np.cos(x) - 1)
    texts = ["0.1*x", "0.1*x**2 - 0.5", "sin(x**2)*cos(x) - 1.0", "sin(x**2)*cos(x) - 1.0 + 1e-9*sin(0.5*x)"]
    choice = choose(_front(problem, texts), problem)
    assert choice.exact
    assert choice.candidate.expression == parse("sin(x**2)*cos(x) - 1")


def test_a_good_approximation_is_not_exact():
    x = np.random.default_rng(0).uniform(-1, 1, 100)
    problem = RegressionProblem({"x": x}, np.sin(x))
    terms = " + ".join(f"0.1*x**{power}" for power in (1, 3, 5, 7))
    series = refit_candidate(parse(terms), problem, "test")
    assert series.loss < 1e-12
    assert not is_exact(series, problem)


def test_series_at_resolution_are_exact_but_not_surely():
    x = np.random.default_rng(0).uniform(-1, 1, 20)
    problem = RegressionProblem({"x": x}, np.sin(x))
    terms = " + ".join(f"0.1*x**{power}" for power in (1, 3, 5, 7, 9, 11))
    series = refit_candidate(parse(terms), problem, "test")
    sine = evaluate_candidate(parse("sin(x)"), problem, "test")
    assert not surely_exact(series, problem)
    assert surely_exact(sine, problem)
    assert choose(ParetoFront.of([series, sine]), problem).candidate.expression == parse("sin(x)")


def test_heavy_tails_do_not_make_a_wrong_formula_exact():
    random = np.random.default_rng(0)
    x = random.normal(size=400)
    x[0] = 5.2
    problem = RegressionProblem({"x": x}, np.exp(x**2) + 1e-5 * np.sin(x))
    wrong = evaluate_candidate(parse("exp(x**2)"), problem, "test")
    assert wrong.loss < 1e-22
    assert not is_exact(wrong, problem)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("alpha", [0.02, 0.1])
def test_noise_does_not_buy_terms(alpha, seed):
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(2, 500))
    clean = x**4 - x**2 * y**2 + y
    target = clean + alpha * np.sqrt(np.mean(clean**2)) * random.normal(size=500)
    problem = RegressionProblem({"x": x, "y": y}, target)
    texts = [
        "1.0",
        "1.0*x**4",
        "1.0*x**4 - 1.0*x**2*y**2",
        "1.0*x**4 - 1.0*x**2*y**2 + 1.0*y",
        "1.0*x**4 - 1.0*x**2*y**2 + 1.0*y + 0.1*sin(x)",
        "1.0*x**4 - 1.0*x**2*y**2 + 1.0*y + 0.1*x**3*y + 0.1",
        "1.0*x**4 - 1.0*x**2*y**2 + 1.0*y + 0.1*x**3*y + 0.1*exp(x) + 0.1*cos(y)",
    ]
    choice = choose(_front(problem, texts), problem)
    assert not choice.exact
    # At 10 % noise the smallest term is within the errors of the largest.
    allowed = [parse("x**4 - x**2*y**2 + y")] + ([parse("x**4 - x**2*y**2")] if alpha == 0.1 else [])
    shapes = [set(a.as_coefficients_dict()) for a in allowed]
    assert set(choice.candidate.expression.expand().as_coefficients_dict()) in shapes
    assert choice.noise == pytest.approx(alpha * np.sqrt(np.mean(clean**2)), rel=0.15)


def test_known_tiny_error_counts_as_resolution():
    """A derivative with a smooth error of 1e-9: neither zero nor white noise."""
    t = np.linspace(0, 10, 500)
    x = np.exp(-0.3 * t)
    error = 1e-9 * np.sin(3 * t)
    texts = ["-0.3*x", "-0.3*x + 1e-9*sin(20*x)", "-0.3*x + 1e-9*x**2 + 1e-9*sin(9.0*x)", "0.1"]
    for noise in (1e-9, None):
        problem = RegressionProblem({"x": x}, -0.3 * x + error, noise=noise)
        choice = choose(_front(problem, texts), problem)
        assert choice.exact is (noise is not None)
        assert equivalent(choice.candidate.expression, parse("-0.3*x"), rtol=1e-6)


def test_unsnapped_constants_and_alternatives_are_kept():
    random = np.random.default_rng(3)
    x = random.uniform(0, 1, 40)
    problem = RegressionProblem({"x": x}, 0.5 * x + random.normal(0, 0.05, 40))
    choice = choose(_front(problem, ["0.4*x", "0.4*x + 0.01", "0.2"]), problem)
    assert choice.candidate.expression == parse("x/2")
    assert len(choice.unsnapped.constants) == 1
    assert choice.unsnapped.constants != (0.5,)


def test_few_rows_fall_back_to_the_knee():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    problem = RegressionProblem({"x": x}, np.array([0.1, 1.0, 2.1, 2.9]))
    choice = choose(_front(problem, ["1.0", "1.1*x", "1.0*x + 0.1*sin(x)"]), problem)
    assert "knee" in choice.reason


def test_an_empty_front_is_an_error_in_words():
    problem = RegressionProblem({"x": np.zeros(3)}, np.ones(3))
    with pytest.raises(DataError, match="no expression"):
        choose(ParetoFront(()), problem)
