"""From weights to formulas."""

from collections import Counter

import numpy as np
import pytest
import sympy

from fepysr_dyn.expressions import compile_expression
from fepysr_dyn.features.extraction import count_nodes, fingerprint, merge, primitive
from fepysr_dyn.features.network import layer_shapes
from fepysr_dyn.features.nodes import FeatureGraph
from fepysr_dyn.features.operators import OPERATORS
from fepysr_dyn.features.training import TrainedRuns

x, y = sympy.symbols("x y")


@pytest.fixture
def graph():
    return FeatureGraph(np.random.default_rng(0).normal(size=(40, 2)), ("x", "y"))


def test_the_largest_absolute_weight_counts(graph):
    """[-5, 1] selects the first input, brackets are kept, and a dropped run is not counted."""
    shapes = layer_shapes(2, (("square", "add"), ("square", "sin")), 1)
    first = np.array([[[-5.0, 1.0], [2.0, 0.0], [0.0, -3.0]]] * 2, dtype=np.float32)
    second = np.zeros((2, 2, 4), dtype=np.float32)
    second[:, 0, 3] = -9.0
    second[:, 1, 2] = 1.0
    trained = TrainedRuns(shapes, [first, second], np.array([True, False]), np.zeros(2))
    counts = count_nodes(graph, trained)
    found = {graph.formula(node): count for node, count in counts.items()}
    assert found == {x**2: 1, x + y: 1, sympy.expand((x + y) ** 2): 1, sympy.sin(x**2): 1} or found == {
        x**2: 1,
        x + y: 1,
        (x + y) ** 2: 1,
        sympy.sin(x**2): 1,
    }


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_values_are_those_of_the_formula(graph, name):
    operator = OPERATORS[name]
    node = graph.add(name, (0, 1)[: operator.arity], 0.7 if operator.has_scale else 0.0)
    expected = compile_expression(graph.formula(node), ("x", "y"))(graph.values(0), graph.values(1))
    np.testing.assert_allclose(graph.values(node), expected, rtol=1e-12)


def test_half_saturation_comes_from_the_weight():
    graph = FeatureGraph(np.random.default_rng(0).uniform(0.1, 2, (40, 1)), ("x",))
    shapes = layer_shapes(1, (("mm", "hill"),), 1)
    weights = np.array([[[2.0], [-4.0]]], dtype=np.float32)
    counts = count_nodes(graph, TrainedRuns(shapes, [weights], np.array([True]), np.zeros(1)))
    found = {sympy.nsimplify(graph.formula(node), rational=True) for node in counts}
    half = sympy.Rational(1, 2)
    assert {x / (x + half), x**2 / (x**2 + half**4)} == {sympy.together(f) for f in found} or len(found) == 2


def test_merging_up_to_sign_and_factor(graph):
    double = graph.add("add", (graph.add("mul", (0, 1)),) * 2)
    product = graph.add("mul", (0, 1))
    raw = graph.add("add", (0, 0))
    features = merge(graph, Counter({double: 3, product: 2, raw: 7}))
    assert len(features) == 1
    assert features[0].count == 5
    assert features[0].node == product
    assert dict(features[0].variants) == {double: 3, product: 2}


def test_constants_and_what_is_not_finite_are_left_out():
    X = np.column_stack([np.linspace(-1, 1, 20), np.ones(20)])
    graph = FeatureGraph(X, ("x", "c"))
    root = graph.add("inv", (graph.add("sub", (0, 0)),))
    assert merge(graph, Counter({graph.add("exp", (1,)): 2, root: 1})) == []
    assert fingerprint(np.full(20, np.inf)) is None


def test_log_of_negative_values_is_written_with_abs(graph):
    assert graph.formula(graph.add("log", (0,))) == sympy.log(sympy.Abs(x))
    positive = graph.add("exp", (1,))
    assert np.isfinite(graph.values(graph.add("sqrt", (positive,)))).all()


def test_primitive():
    assert primitive(-3 * x * y) == x * y
    assert primitive(y - x) == primitive(2 * x - 2 * y)
    assert primitive(0.5 * sympy.sin(x)) == sympy.sin(x)
