"""The evolution engine beside pyoperon and gplearn, one core each: evaluations and time to an answer."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.benchmarks.problems import BenchmarkProblem, load_problems
from fepysr_dyn.benchmarks.units import Line, Unit

Array = NDArray[np.float64]
Predict = Callable[[Array], Array]

#: The tree that every tool evaluates: 17 nodes with a sine, an exponential and a division.
TREE = "sin(x*y + 0.5)/(exp(0.3*y) + x) - x*y"
TASK = "fepysr_dyn.benchmarks.engine_speed:speed_unit"
#: Seconds of the processor over which a rate is measured.
SECONDS_TIMED = 2.0
_SHARE = 0.98


def columns(rows: int) -> Array:
    """Return two normal columns, one a row."""
    return np.random.default_rng(0).normal(size=(2, rows))


def own_rate(rows: int, seconds: float) -> float:
    """Return evaluations per second of the engine's kernel, linear coefficients fitted each time."""
    from fepysr_dyn.expressions import parse
    from fepysr_dyn.search.evolution.encoding import encode
    from fepysr_dyn.search.evolution.repeat import repeat_fit
    from fepysr_dyn.search.evolution.workspace import make_data, make_workspace
    from fepysr_dyn.search.problem import DEFAULT_OPERATORS, RegressionProblem

    x, y = columns(rows)
    problem = RegressionProblem({"x": x, "y": y}, np.sin(x) + y)
    import sympy

    program = encode(parse(TREE), sympy.symbols("x y"), DEFAULT_OPERATORS)
    data = make_data(problem, problem.matrix, is_scaled=True)
    work = make_workspace(data, len(program))
    return _rate(lambda times: repeat_fit(program.codes, program.values, data, work, times), seconds)


def operon_rate(rows: int, seconds: float) -> float:
    """Return evaluations per second of pyoperon's interpreter (float32, without any fit)."""
    import pyoperon as operon

    x, y = columns(rows)
    data = operon.Dataset(np.column_stack([x, y, np.sin(x) + y]))
    kinds = operon.NodeType
    inputs = {name: data.Variables[i].Hash for i, name in enumerate("xy")}

    def node(word: str) -> Any:
        if word.isalpha() and word not in inputs:
            return operon.Node(getattr(kinds, word))
        made = operon.Node(kinds.Variable, inputs[word]) if word in inputs else operon.Node(kinds.Constant)
        made.Value = 1.0 if word in inputs else float(word)
        return made

    # The same tree in postfix order with the right operand first (its parser crashes on this formula).
    order = "y x Mul x y 0.3 Mul Exp Add 0.5 y x Mul Add Sin Div Sub"
    tree = operon.Tree([node(word) for word in order.split()])
    tree.UpdateNodes()
    span = operon.Range(0, rows)

    def repeat(times: int) -> None:
        for _ in range(times):
            operon.Evaluate(tree, data, span)

    return _rate(repeat, seconds)


def gplearn_rate(rows: int, seconds: float) -> float:
    """Return evaluations per second of gplearn's trees (numpy, float64, without any fit)."""
    from gplearn._program import _Program
    from gplearn.functions import _Function, _function_map

    exponential = _Function(np.exp, "exp", 1)
    f = {**_function_map, "exp": exponential}
    # The same tree in prefix order.
    tree = [f["sub"], f["div"], f["sin"], f["add"], f["mul"], 0, 1, 0.5, f["add"], f["exp"]]
    tree += [f["mul"], 0.3, 1, 0, f["mul"], 0, 1]
    program = _Program(
        function_set=list(f.values()), arities={1: [exponential], 2: [f["add"]]}, init_depth=(2, 4),
        init_method="full", n_features=2, const_range=(-1.0, 1.0), metric=None, p_point_replace=0.05,
        parsimony_coefficient=0.0, random_state=np.random.RandomState(0), program=tree,
    )  # fmt: skip
    table = columns(rows).T.copy()

    def repeat(times: int) -> None:
        for _ in range(times):
            program.execute(table)

    return _rate(repeat, seconds)


def _rate(repeat: Callable[[int], object], seconds: float) -> float:
    """Return repetitions per second of processor time: the machine may be busy."""
    repeat(1)
    start = time.process_time()
    repeat(20)
    # Calls of about a tenth of a second: passing the arguments to compiled code takes time as well.
    times = max(1, int(2.0 / max(time.process_time() - start, 1e-6)))
    done, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        repeat(times)
        done += times
    return done / (time.process_time() - start)


def own_answer(problem: BenchmarkProblem, seed: int, cap: float) -> Predict:
    """Search with the evolution engine alone."""
    from fepysr_dyn.expressions import compile_expression
    from fepysr_dyn.search.evolution import EvolutionEngine
    from fepysr_dyn.search.problem import Budget, RegressionProblem

    table, target = problem.sample(seed)
    front = EvolutionEngine().search(RegressionProblem(table, target, budget=Budget(10**9, cap), seed=seed))
    function = compile_expression(front.best.expression, problem.variables)
    return lambda X: function(*X.T)


def operon_answer(problem: BenchmarkProblem, seed: int, cap: float) -> Predict:
    """Search with pyoperon's regressor."""
    from pyoperon.sklearn import SymbolicRegressor

    table, target = problem.sample(seed)
    model = SymbolicRegressor(
        allowed_symbols="add,sub,mul,div,square,exp,log,sqrt,sin,cos,constant,variable",
        optimizer_iterations=5, max_length=40, generations=10**6, max_evaluations=10**9, max_time=int(cap),
        model_selection_criterion="mean_squared_error", n_threads=1, random_state=seed,
    )  # fmt: skip
    model.fit(np.column_stack(list(table.values())), target)
    return lambda X: np.asarray(model.predict(X), dtype=np.float64)


def gplearn_answer(problem: BenchmarkProblem, seed: int, cap: float) -> Predict:
    """Search with gplearn's regressor, generation by generation until the time is over."""
    from gplearn.functions import make_function
    from gplearn.genetic import SymbolicRegressor

    exponential = make_function(function=_safe_exp, name="exp", arity=1)
    table, target = problem.sample(seed)
    model = SymbolicRegressor(
        function_set=("add", "sub", "mul", "div", "sqrt", "log", "sin", "cos", exponential),
        population_size=1000, generations=1, stopping_criteria=1e-10, parsimony_coefficient=1e-4,
        metric="mse", random_state=seed, warm_start=True,
    )  # fmt: skip
    X = np.column_stack(list(table.values()))
    start = time.process_time()
    while time.process_time() - start < cap:
        model.fit(X, target)
        if model._program.raw_fitness_ < 1e-10:
            break
        model.set_params(generations=model.generations + 1)
    return lambda X: np.asarray(model.predict(X), dtype=np.float64)


def _safe_exp(a: Array) -> Array:
    with np.errstate(over="ignore"):
        values = np.exp(a)
    return np.where(np.abs(values) < 1e100, values, 0.0)


def is_recovered(predict: Predict, problem: BenchmarkProblem, rtol: float = 1e-3) -> bool:
    """Return whether a prediction is the truth on the wider box; loosely, as pyoperon has 7 digits."""
    random = np.random.default_rng(1)
    points = {name: random.uniform(low, high, 1_000) for name, (low, high) in problem.box.items()}
    truth = problem.evaluate(points)
    found = predict(np.column_stack([points[name] for name in problem.variables]))
    usable = np.isfinite(truth)
    size = np.abs(truth[usable]) + np.median(np.abs(truth[usable]))
    wrong = np.abs(found[usable] - truth[usable]) / size
    return bool(np.quantile(np.where(np.isfinite(wrong), wrong, np.inf), _SHARE) < rtol)


TOOLS = {
    "fepysr_dyn": ("numba", own_rate, own_answer),
    "pyoperon": ("pyoperon", operon_rate, operon_answer),
    "gplearn": ("gplearn", gplearn_rate, gplearn_answer),
}


def speed_unit(unit: Unit) -> Line:
    """Measure a tool: evaluations per second at some number of rows, or the time to a recovered answer."""
    tool = unit.setting["tool"]
    if "rows" in unit.setting:
        return {"rate": TOOLS[tool][1](unit.setting["rows"], SECONDS_TIMED)}
    (problem,) = load_problems(unit.problem)
    start = time.process_time()
    predict = TOOLS[tool][2](problem, unit.seed, unit.setting["cap"])
    seconds = time.process_time() - start
    return {"recovered": is_recovered(predict, problem), "seconds": round(seconds, 3)}


def installed_tools() -> list[str]:
    """Return the tools that can be measured here."""
    return [name for name, tool in TOOLS.items() if importlib.util.find_spec(tool[0]) is not None]
