"""Programs and kernels against sympy, numpy and finite differences."""

import numpy as np
import pytest
import sympy

from fepysr_dyn.errors import ExpressionError
from fepysr_dyn.expressions import compile_expression, equivalent, parse
from fepysr_dyn.search.evolution import opcodes as op
from fepysr_dyn.search.evolution.encoding import Program, decode, encode
from fepysr_dyn.search.problem import BINARY_OPERATORS, UNARY_OPERATORS, RegressionProblem

ALL = BINARY_OPERATORS + UNARY_OPERATORS
X, Y = sympy.symbols("x y")


def random_program(random, nodes=9):
    """Grow a random tree in postfix order over two inputs."""
    codes, values = [], []

    def grow(size):
        if size <= 1:
            is_constant = random.random() < 0.3
            codes.append(op.CONSTANT if is_constant else op.FIRST_INPUT + random.integers(2))
            values.append(round(float(random.uniform(-2, 2)), 3) if is_constant else 0.0)
            return
        operators = UNARY_OPERATORS if size == 2 or random.random() < 0.4 else BINARY_OPERATORS
        name = operators[random.integers(len(operators))]
        if name in UNARY_OPERATORS:
            grow(size - 1)
        else:
            left = int(random.integers(1, size - 1))
            grow(left)
            grow(size - 1 - left)
        codes.append(op.CODES[name])
        values.append(0.0)

    grow(nodes)
    return Program(np.array(codes, dtype=np.int16), np.array(values))


def is_real(expression):
    """Whether sympy kept all numbers real: it evaluates roots of negative constants to complex ones."""
    if expression.has(sympy.zoo, sympy.nan, sympy.I, sympy.oo):
        return False
    numbers = [node for node in sympy.preorder_traversal(expression) if node.is_number]
    return all(node.is_extended_real for node in numbers)


def prepared(columns, target, nodes=64, is_scaled=True, **options):
    from fepysr_dyn.search.evolution.workspace import make_data, make_workspace

    problem = RegressionProblem(columns, target, **options)
    data = make_data(problem, problem.matrix, is_scaled=is_scaled)
    return problem, data, make_workspace(data, nodes)


def padded(program, nodes=64):
    codes, values = np.zeros(nodes, dtype=np.int16), np.zeros(nodes)
    codes[: len(program)] = program.codes
    values[: len(program)] = program.values
    return codes, values, len(program)


def test_kernel_agrees_with_numpy_on_random_programs():
    from fepysr_dyn.search.evolution.fitting import evaluate_terms

    random = np.random.default_rng(0)
    # More rows than one block, and not a multiple of it.
    columns = {"x": random.uniform(0.1, 2, 600), "y": random.uniform(-2, 2, 600)}
    _, data, work = prepared(columns, columns["x"], is_scaled=False)
    compared = 0
    for _ in range(150):
        program = random_program(random, int(random.integers(1, 14)))
        expression = decode(program.codes, program.values, [X, Y])
        is_valid = evaluate_terms(*padded(program), data, work) > 0
        # sympy may have simplified an invalid part away, but never the other way round.
        if not is_valid or not is_real(expression):
            continue
        expected = compile_expression(expression, ["x", "y"])(*columns.values())
        # Functions of huge numbers magnify the last digit on some rows.
        assert np.isclose(work.outputs[0], expected, rtol=1e-7, atol=1e-9).mean() > 0.97
        compared += 1
    assert compared > 60


@pytest.mark.parametrize("name", UNARY_OPERATORS)
def test_each_operator_returns_from_a_program(name):
    program = Program(np.array([op.FIRST_INPUT, op.CODES[name]], dtype=np.int16), np.zeros(2))
    expression = decode(program.codes, program.values, [X])
    assert list(encode(expression, [X], ALL).codes) == list(program.codes)


def test_round_trip_of_random_programs():
    random = np.random.default_rng(1)
    box = {"x": (0.2, 2.0), "y": (0.2, 2.0)}
    points = {name: np.linspace(low, high, 50) for name, (low, high) in box.items()}
    compared = 0
    for _ in range(120):
        program = random_program(random, int(random.integers(1, 12)))
        expression = decode(program.codes, program.values, [X, Y])
        if not is_real(expression):
            continue
        try:
            values = compile_expression(expression, ["x", "y"])(*points.values())
        except np.exceptions.ComplexWarning:
            continue
        if not np.all(np.isfinite(values)):
            continue
        again = encode(expression, [X, Y], ALL)
        assert equivalent(decode(again.codes, again.values, [X, Y]), expression, box, rtol=1e-9)
        compared += 1
    assert compared > 50


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("x**7 - 3*x**2/y", ("+", "-", "*", "/")),
        ("x**3 + y**-2", ("+", "*", "square", "inv")),
        ("x**1.5 + sqrt(y)", ("+", "*", "sqrt")),
        ("2 - x - y", ("+", "*", "neg")),
        ("x**y/exp(-x)", ("*", "/", "**", "exp", "neg")),
    ],
)
def test_encoding_uses_only_allowed_operators(text, operators):
    expression = parse(text)
    program = encode(expression, [X, Y], operators)
    used = {op.NAMES[code] for code in program.codes.tolist() if 0 < code < op.FIRST_INPUT}
    assert used <= set(operators)
    box = {"x": (0.2, 2.0), "y": (0.2, 2.0)}
    assert equivalent(decode(program.codes, program.values, [X, Y]), expression, box, rtol=1e-12)


def test_encoding_refuses_what_is_not_allowed():
    with pytest.raises(ExpressionError, match="'sin' is not allowed"):
        encode(sympy.sin(X), [X], ("+", "*"))


def test_features_are_recognised_and_expanded():
    feature = sympy.exp(X) + Y
    program = encode(feature * X, [X, Y, feature], ALL)
    assert op.FIRST_INPUT + 2 in program.codes.tolist()
    assert decode(program.codes, program.values, [X, Y, feature]) == feature * X


def test_derivatives_agree_with_finite_differences():
    from fepysr_dyn.search.evolution.constants import differentiate, find_constants
    from fepysr_dyn.search.evolution.fitting import evaluate_terms

    random = np.random.default_rng(2)
    columns = {"x": random.uniform(0.2, 1.5, 300), "y": random.uniform(0.2, 1.5, 300)}
    _, data, work = prepared(columns, columns["x"], is_scaled=False)
    compared = 0
    for _ in range(200):
        codes, values, length = padded(random_program(random, int(random.integers(3, 12))))
        if evaluate_terms(codes, values, length, data, work) < 1 or np.abs(work.outputs[0]).max() > 1e4:
            continue
        count = find_constants(codes, 1, work)
        places = work.places[:count].copy()
        differentiate(codes, values, 1, count, data, work)
        slopes = work.slopes[:count].copy()
        for place, slope in zip(places, slopes, strict=True):
            sides = []
            for step in (1e-6, -1e-6):
                moved = values.copy()
                moved[place] += step
                is_valid = evaluate_terms(codes, moved, length, data, work) > 0
                sides.append(work.outputs[0].copy() if is_valid else np.full(300, np.nan))
            numeric = (sides[0] - sides[1]) / 2e-6
            usable = np.isfinite(numeric) & np.isfinite(slope) & (np.abs(numeric) < 1e3)
            # Kinks of abs and sign lie between the two sides at few rows.
            close = np.isclose(numeric[usable], slope[usable], rtol=1e-3, atol=1e-4)
            assert close.sum() >= 0.97 * usable.sum()
            compared += int(usable.sum() > 250)
    assert compared > 40


@pytest.mark.parametrize("seed", range(4))
def test_levenberg_marquardt_reaches_the_exact_constants(seed):
    from fepysr_dyn.search.evolution.constants import optimise_constants

    random = np.random.default_rng(seed)
    columns = {"x": random.normal(size=200), "y": random.normal(size=200)}
    truth = parse("3.1*sin(1.7*x + 0.3) - 0.4*exp(0.6*y) + 2.5")
    target = compile_expression(truth, ["x", "y"])(*columns.values())
    _, data, work = prepared(columns, target)
    start = parse("sin(1.4*x + 0.1) + exp(0.2*y)")
    codes, values, length = padded(encode(start, [X, Y], ALL))
    loss, _ = optimise_constants(codes, values, length, data, work, 40, 0.0)
    assert loss < 1e-26
    constants = values[:length][codes[:length] == op.CONSTANT]
    assert np.allclose(np.sort(constants), [0.3, 0.6, 1.7])
    assert np.allclose(np.sort(work.coefficients[:3]), [-0.4, 2.5, 3.1])


def test_loss_is_the_problems_loss():
    from fepysr_dyn.search.evolution.constants import optimise_constants

    random = np.random.default_rng(3)
    columns = {"x": random.normal(size=80)}
    weights = random.uniform(0.5, 2, 80)
    problem, data, work = prepared(columns, random.normal(size=80), weights=weights)
    codes, values, length = padded(encode(sympy.sin(X) + X**2, [X], ALL))
    loss, _ = optimise_constants(codes, values, length, data, work, 0, 0.0)
    fitted = work.coefficients[0] + work.coefficients[1:3] @ work.outputs[:2]
    assert np.isclose(loss, problem.loss(fitted), rtol=1e-12)


def test_simplification_keeps_the_function():
    from fepysr_dyn.search.evolution.simplify import simplify

    random = np.random.default_rng(4)
    allowed = np.ones(op.FIRST_INPUT, dtype=np.int64)
    columns = {"x": random.uniform(0.3, 2, 40), "y": random.uniform(0.3, 2, 40)}
    from fepysr_dyn.search.evolution.fitting import evaluate_terms

    _, data, work = prepared(columns, columns["x"], is_scaled=False)
    shortened = compared = 0
    for _ in range(400):
        codes, values, length = padded(random_program(random, int(random.integers(3, 16))))
        if evaluate_terms(codes, values, length, data, work) < 1 or np.abs(work.outputs[0]).max() > 1e8:
            continue
        before = work.outputs[0].copy()
        new_length = simplify(codes, values, length, allowed, np.zeros(64, dtype=np.int64))
        assert evaluate_terms(codes, values, new_length, data, work) == 1
        assert np.allclose(work.outputs[0], before, rtol=1e-6, atol=1e-8)
        assert new_length <= length
        shortened += new_length < length
        compared += 1
    assert compared > 150
    assert shortened > 20


@pytest.mark.parametrize(("name", "most"), [("exp", 700.0), ("sin", 1e5), ("cos", 1e5)])
def test_vectorised_functions_agree_with_numpy(name, most):
    from fepysr_dyn.search.evolution import elementary

    random = np.random.default_rng(5)
    special = np.array([0.0, -0.0, np.pi, np.pi / 2, 1e-300, 2 * most, -2 * most, np.nan, np.inf, -np.inf])
    for block in (random.normal(size=256), random.uniform(-most, most, 201), special, special[:5]):
        out = np.empty_like(block)
        getattr(elementary, f"{name}_of")(block, out)
        with np.errstate(all="ignore"):
            assert np.allclose(out, getattr(np, name)(block), rtol=1e-15, atol=1e-16, equal_nan=True)
