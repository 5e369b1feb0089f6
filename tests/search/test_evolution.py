"""The evolution engine as a whole."""

import multiprocessing
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import sympy

from fepysr_dyn.errors import OptionError
from fepysr_dyn.expressions import compile_expression, equivalent, parse, to_text
from fepysr_dyn.search import Budget, RegressionProblem, Runtime
from fepysr_dyn.search.evolution import EvolutionConfig, EvolutionEngine

SMALL = EvolutionConfig(islands=2, population=40, library=400, epoch=1_000)


def problem_of(text, names, rows=100, seed=0, low=-2.0, high=2.0, **options):
    random = np.random.default_rng(seed)
    columns = {name: random.uniform(low, high, rows) for name in names}
    target = compile_expression(parse(text), list(columns))(*columns.values())
    options.setdefault("budget", Budget(60_000))
    return RegressionProblem(columns, target, seed=seed, **options)


def written(front):
    return [(to_text(c.expression), c.complexity, c.loss) for c in front]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1.5*x**2 - 0.7*y + 2", "xy"),
        ("2*sin(x)*cos(y)", "xy"),
        ("x*y/(exp(x) + 1.3)", "xy"),
        ("sin(x**2)*cos(x) - 0.75", "x"),
    ],
)
def test_simple_targets_are_recovered(text, names, seed):
    problem = problem_of(text, names, seed=seed)
    front = EvolutionEngine(SMALL).search(problem)
    truth = parse(text)
    assert any(c.loss < 1e-20 and equivalent(c.expression, truth, rtol=1e-7) for c in front), written(front)
    assert front.complete


def test_losses_and_complexities_are_those_of_the_expressions():
    problem = problem_of("exp(-x**2)*y + 0.3*y", "xy", budget=Budget(8_000), max_complexity=15)
    front = EvolutionEngine(SMALL).search(problem)
    for candidate in front:
        prediction = compile_expression(candidate.expression, ["x", "y"])(*problem.columns.values())
        assert candidate.loss == pytest.approx(problem.loss(prediction), rel=1e-9, abs=1e-30)
        assert candidate.complexity <= 15


def test_only_allowed_operators_are_used():
    problem = problem_of(
        "sin(x) + y", "xy", budget=Budget(5_000), operators=("+", "*", "tanh"), max_complexity=20
    )
    front = EvolutionEngine(SMALL).search(problem)
    functions = {type(f) for c in front for f in c.expression.atoms(sympy.Function)}
    assert functions <= {sympy.tanh}
    assert not any(p.exp.is_negative for c in front for p in c.expression.atoms(sympy.Pow))


def test_without_sums_and_products_nothing_is_scaled():
    problem = problem_of("sin(exp(x))", "x", budget=Budget(5_000), operators=("sin", "exp", "/"))
    front = EvolutionEngine(SMALL).search(problem)
    assert front.best.expression == parse("sin(exp(x))")


def test_same_answer_on_any_number_of_workers():
    problem = problem_of("sqrt(x**2 + y**2 + 1)*cos(y)", "xy", budget=Budget(12_000), seed=5)
    alone = EvolutionEngine(SMALL).search(problem)
    together = EvolutionEngine(SMALL).search(problem, Runtime(workers=2))
    assert written(alone) == written(together)


def test_processes_give_the_same_answer_and_keep_their_own_clock():
    problem = problem_of("sqrt(x**2 + y**2 + 1)*cos(y)", "xy", budget=Budget(6_000, 500.0), seed=5)
    alone = EvolutionEngine(SMALL).search(problem)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        apart = EvolutionEngine(SMALL).search(problem, Runtime(executor=executor))
    assert written(alone) == written(apart)


def test_a_stated_error_far_below_the_signal_ends_the_search():
    problem = problem_of("x*y/(exp(x) + 1.3)", "xy", budget=Budget(200_000))
    random = np.random.default_rng(3)
    noise = 1e-7 * float(np.std(problem.target))
    blurred = replace(problem, target=problem.target + noise * random.normal(size=100), noise=noise)
    front = EvolutionEngine(SMALL).search(blurred)
    assert "exact" in front.message
    assert front.best.loss < 2e-14


def test_another_seed_is_another_search():
    fronts = [
        EvolutionEngine(SMALL).search(problem_of("tanh(x*y) + x", "xy", budget=Budget(4_000), seed=s))
        for s in (0, 1)
    ]
    assert written(fronts[0]) != written(fronts[1])


def test_weak_form_finds_what_the_pointwise_form_finds():
    random = np.random.default_rng(0)
    columns = {"x": random.uniform(-2, 2, 150), "y": random.uniform(-2, 2, 150)}
    truth = parse("1.2*x*y - sin(x)")
    values = compile_expression(truth, ["x", "y"])(*columns.values())
    operator = random.normal(size=(60, 150))
    weak = RegressionProblem(columns, operator @ values, measurement=operator, budget=Budget(40_000))
    front = EvolutionEngine(SMALL).search(weak)
    assert any(equivalent(c.expression, truth, rtol=1e-7) for c in front), written(front)


def test_weights_are_honoured():
    random = np.random.default_rng(1)
    x = random.uniform(-2, 2, 120)
    target = 2 * x**2 + 1
    target[:20] += random.normal(size=20)
    weights = np.ones(120)
    weights[:20] = 1e-12
    problem = RegressionProblem({"x": x}, target, weights=weights, budget=Budget(5_000))
    front = EvolutionEngine(SMALL).search(problem)
    assert any(equivalent(c.expression, parse("2*x**2 + 1"), rtol=1e-4) for c in front), written(front)


def test_features_come_back_in_the_users_variables():
    feature = parse("sin(x*y) + exp(y)")
    problem = problem_of("x*(sin(x*y) + exp(y))", "xy", features=(feature,), budget=Budget(10_000))
    front = EvolutionEngine(SMALL).search(problem)
    assert {str(s) for s in front.best.expression.free_symbols} == {"x", "y"}
    assert front.best.loss < 1e-24


def test_seeds_are_used():
    text = "sin(exp(x*cos(y)) + y**3)/(1 + x**2*cos(y)**2)"
    problem = problem_of(text, "xy", budget=Budget(500))
    unusable = sympy.besselj(0, sympy.Symbol("x"))
    front = EvolutionEngine(SMALL, seeds=(unusable, parse(text))).search(problem)
    assert front.best.loss < 1e-24


def test_time_limit_cuts_short_and_says_so():
    problem = problem_of("tanh(x*y)/(1.1 + cos(3*x)) + sign(y)", "xy", rows=400, budget=Budget(10**9, 2.0))
    start = time.monotonic()
    front = EvolutionEngine(SMALL).search(problem)
    assert time.monotonic() - start < 8.0
    assert not front.complete
    assert "time limit" in front.message
    assert len(front) > 0


def test_cancellation_returns_the_best_so_far():
    event = threading.Event()
    reports = []

    def listen(progress):
        reports.append(progress)
        if len(reports) == 2:
            event.set()

    problem = problem_of("tanh(x*y)/(1.1 + cos(3*x)) + sign(y)", "xy", budget=Budget(10**9))
    front = EvolutionEngine(SMALL).search(problem, Runtime(progress=listen, cancelled=event))
    assert len(reports) == 2
    assert 0 < reports[0].fraction < 1
    assert not front.complete
    assert len(front) > 0


def test_many_rows_are_searched_on_some_and_fitted_on_all():
    problem = problem_of("1.5*sin(x)*y + 0.2*x", "xy", rows=5_000, budget=Budget(20_000))
    config = EvolutionConfig(islands=2, population=40, library=400, epoch=1_000, search_rows=300)
    front = EvolutionEngine(config).search(problem)
    assert front.best.loss < 1e-24


def test_options_are_checked():
    with pytest.raises(OptionError, match="islands must be at least 1"):
        EvolutionConfig(islands=0)
    with pytest.raises(OptionError, match="archive_share"):
        EvolutionConfig(archive_share=2.0)


def test_importing_the_engine_compiles_nothing():
    code = "import fepysr_dyn.search.evolution, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_constant_columns_and_targets_are_answered():
    random = np.random.default_rng(0)
    budget = Budget(500)
    spread = RegressionProblem({"x": np.ones(30)}, random.normal(size=30), budget=budget)
    assert EvolutionEngine(SMALL).search(spread).best.loss == pytest.approx(1.0)
    flat = RegressionProblem({"x": random.normal(size=30)}, np.full(30, 2.5), budget=budget)
    front = EvolutionEngine(SMALL).search(flat)
    assert front.best.loss < 1e-24
    assert front.candidates[-1].complexity <= 3
