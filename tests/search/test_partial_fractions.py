"""Laws with denominators, from exact columns and from a simulated trajectory's kind of columns."""

import numpy as np
import pytest

from fepysr_dyn.expressions import compile_expression, equivalent, parse
from fepysr_dyn.search.denominators import find_denominators
from fepysr_dyn.search.partial_fractions import search_fractions
from fepysr_dyn.search.problem import Budget, RegressionProblem
from fepysr_dyn.search.radicals import find_radicals
from fepysr_dyn.search.session import Session

LAWS = {
    "a product of saturations": "3*x*(1 - y)/((1.005 - y)*(x + 0.5)) - 1.5*y/(y + 0.005)",
    "a high power": "0.82/(1854.5*x**5 + 1) - y/(1 + x + y)",
    "a power that is not whole": "156.25/(y**2.5 + 1) - x",
    "a square root without a pole": "z - 0.7*y + (0.25 - 0.5*x)/(sqrt(x**2 - x + 0.26) + 0.1)",
    "two opposed enzymes": "0.05*z - 0.1*x - 0.01*x/(1.05*x + sqrt(1.1025*x**2 - 0.439*x + 0.0441) - 0.19)",
    "three factors, one of a sum": "0.5*z*x/(x + 0.2) - 0.7*y/(y + 0.3) + z*(3 - x - y)/(3.2 - x - y)",
}


def problem_of(law, seed=0, rows=400, error=0.0):
    random = np.random.default_rng(seed)
    columns = {name: random.uniform(0.02, 0.95, rows) for name in "xyz"}
    names = sorted(str(symbol) for symbol in parse(law).free_symbols)
    columns = {name: columns[name] for name in names}
    target = compile_expression(parse(law), tuple(names))(*columns.values())
    scale = float(np.std(target))
    noise = error * scale or None
    return RegressionProblem(columns, target + error * scale * random.normal(size=rows), noise=noise)


@pytest.mark.parametrize("error", [0.0, 1e-10])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_laws_are_found_from_their_denominators(law, error):
    problem = problem_of(law, error=error)
    session = Session(problem, None, "rational")
    search_fractions(session)
    box = dict.fromkeys(problem.names, (0.02, 0.9))
    at_resolution = [c for c in session.best(6) if c.loss <= session.resolution**2]
    shortest = min(at_resolution, key=lambda candidate: candidate.complexity)
    assert equivalent(shortest.expression, parse(law), box, rtol=1e-5)


@pytest.mark.parametrize("find", [find_denominators, find_radicals])
def test_noise_leaves_nothing_to_read_off(find):
    problem = problem_of(LAWS["a product of saturations"], error=1e-3)
    assert not list(find(problem))


@pytest.mark.parametrize("find", [find_denominators, find_radicals])
def test_what_is_neither_quotient_nor_root_gives_nothing(find):
    x = np.random.default_rng(0).uniform(-2, 2, 300)
    problem = RegressionProblem({"x": x}, np.sin(3 * x) * np.exp(-x))
    assert not list(find(problem))


@pytest.mark.parametrize("find", [find_denominators, find_radicals])
def test_a_wish_to_stop_is_heard(find):
    problem = problem_of(LAWS["a high power"])
    assert not list(find(problem, lambda: True))


def test_many_columns_are_looked_at_within_the_budget():
    random = np.random.default_rng(0)
    columns = {f"x{i}": random.uniform(0.1, 1.0, 300) for i in range(20)}
    problem = RegressionProblem(columns, np.sin(9 * columns["x0"] * columns["x7"]), budget=Budget(20_000))
    session = Session(problem, None, "rational")
    search_fractions(session)
    assert session.must_stop()
    assert session.spent < 25_000


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "other",
    [np.zeros(120), np.full(120, 3.0), np.repeat([0.0, 1.0, 2.0], 40), np.full(120, 1e-250)],
    ids=["off", "constant", "levels", "tiny"],
)
def test_columns_that_say_nothing_do_no_harm(other, weighted):
    random = np.random.default_rng(0)
    x = np.r_[0.0, random.uniform(0.1, 1.0, 119)]
    weights = random.uniform(0.5, 2.0, 120) if weighted else None
    for target in (x / (x + 0.2), np.sqrt(x**2 + 0.1) + x):
        session = Session(RegressionProblem({"x": x, "z": other}, target, weights=weights), None, "rational")
        search_fractions(session)
        assert session.best_loss < 1e-20


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_targets_and_columns_without_a_law_give_nothing(size):
    x = np.random.default_rng(0).uniform(0.1, 1.0, 120)
    for columns, target in (
        ({"x": x}, np.zeros(120)),
        ({"z": np.zeros(120)}, x),
        ({"x": size * x}, x / (1 + x)),
    ):
        assert not list(find_denominators(RegressionProblem(columns, target)))
        assert not list(find_radicals(RegressionProblem(columns, target)))
