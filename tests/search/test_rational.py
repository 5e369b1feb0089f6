import numpy as np
import pytest

from fepysr_dyn.expressions import compile_expression, equivalent, parse, same_structure
from fepysr_dyn.search.problem import RegressionProblem
from fepysr_dyn.search.rational import RationalConfig, RationalEngine, changes_sign


def uniform(names, rows, low=0.05, high=3.0, seed=0):
    random = np.random.default_rng(seed)
    return {name: random.uniform(low, high, rows) for name in names}


def front_of(text, columns, noise=0.0, **options):
    truth = parse(text)
    target = compile_expression(truth, list(columns))(*columns.values())
    error = np.random.default_rng(9).normal(size=len(target))
    target = target + noise * np.sqrt(np.mean(target**2)) * error
    return truth, RationalEngine().search(RegressionProblem(columns, target, **options))


def solves(text, columns, **options):
    truth, front = front_of(text, columns, **options)
    box = {name: (float(np.min(v)), 1.3 * float(np.max(v))) for name, v in columns.items()}
    return any(c.loss < 1e-20 and equivalent(c.expression, truth, box, rtol=1e-8) for c in front)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1.7*s/(0.4 + s)", "s"),
        ("2.1*s**2/(0.36 + s**2) - 0.3*s", "s"),
        ("1.3*s**4/(0.8 + s**4)", "s"),
        ("1.2*s/(0.5*(1 + i/0.7) + s)", "si"),
        ("0.9*a*b/((0.3 + a)*(1.1 + b)) - 0.2*a", "ab"),
        ("(x + 1)**3/(x**2 - x + 1)", "x"),
        ("(z**2 + 1)/(exp(y) + sin(x)**2)", "xyz"),
        ("x*y*(exp(2*x + 2*y) - 1)/(exp(2*x + 2*y) + 1)", "xy"),
    ],
)
def test_exact_quotients_are_found(text, names):
    assert solves(text, uniform(names, 250))


def test_poles_inside_the_data_are_found_when_the_fit_is_exact():
    random = np.random.default_rng(0)
    columns = {"x": random.normal(size=200), "y": random.normal(size=200)}
    assert solves("(exp(x)*sin(y) - exp(y)*cos(x))/(x*y)", columns)


@pytest.mark.parametrize("text", ["1.7*s**2/(0.5 + s**2)", "1.2*s/(0.5 + s + 0.8*i)"])
def test_structure_survives_noise(text):
    columns = uniform("s" if "i" not in text else "si", 400)
    truth, front = front_of(text, columns, noise=0.02, operators=("+", "-", "*", "/"))
    box = dict.fromkeys(columns, (0.05, 3.0))
    assert any(same_structure(c.expression, truth, box) for c in front)


def test_common_factors_and_trivial_answers_are_no_answers():
    # sin² + cos² = 1 makes y*sin² + y*cos² - y = 0 for every y.
    columns = uniform("xy", 200)
    _, front = front_of("x/(1 + x*y)", columns)
    assert equivalent(front.best.expression, parse("x/(1 + x*y)"), rtol=1e-8)
    assert front.best.complexity <= 9


def test_sigmoid_from_weakly_excited_data(weakly_excited):
    columns, slopes = weakly_excited
    front = RationalEngine().search(RegressionProblem(columns, slopes["X1"]))
    truth = parse("1/(1 + exp(-(S - X2 + 0.25))) - X1")
    box = dict.fromkeys(columns, (0.0, 1.0))
    assert any(equivalent(c.expression, truth, box, rtol=1e-6) for c in front)


def test_poles_between_the_data_are_refused_unless_asked_for():
    # Noise invites denominators with a zero in the box.
    random = np.random.default_rng(5)
    columns = {"x": np.linspace(-1, 1, 60)}
    target = columns["x"] ** 2 + 0.3 * random.normal(size=60)
    problem = RegressionProblem(columns, target, operators=("+", "-", "*", "/"))
    for candidate in RationalEngine().search(problem):
        assert not changes_sign(1 / candidate.expression.as_numer_denom()[1], problem)
    risky = RationalEngine(RationalConfig(keep_poles=True)).search(problem)
    assert risky.best.loss <= RationalEngine().search(problem).best.loss


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_quotients_are_found_in_the_weak_form(noise):
    times = np.linspace(0.0, 6.0, 240)
    columns = {"x": 1.5 + np.sin(times) + 0.3 * np.sin(2.7 * times)}
    truth = parse("2*x/(x + 0.7)")
    values = compile_expression(truth, ("x",))(columns["x"])
    centres = np.linspace(0.3, 5.7, 60)[:, None]
    operator = np.clip(1.0 - ((times - centres) / 0.3) ** 2, 0.0, None) ** 3
    target = operator @ values
    target = target + noise * np.std(target) * np.random.default_rng(1).normal(size=len(target))
    problem = RegressionProblem(columns, target, measurement=operator, operators=("+", "-", "*", "/"))
    front = RationalEngine().search(problem)
    assert any(same_structure(c.expression, truth, {"x": (0.2, 3.0)}) for c in front), front


def test_missing_division_is_explained():
    columns = {"x": np.linspace(0.0, 1.0, 20)}
    problem = RegressionProblem(columns, columns["x"], operators=("+", "*"))
    assert "division" in RationalEngine().search(problem).message
