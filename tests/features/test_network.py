"""The batched network: its gradient against autograd, the mask, the step, runs that are lost."""

import numpy as np
import pytest
import torch

from fepysr_dyn.features.config import FmnConfig
from fepysr_dyn.features.network import EPSILON, Network, exp_mask, layer_shapes
from fepysr_dyn.features.operators import EXP_LIMIT, GUARD, OPERATORS, operator_names

ALL = tuple(sorted(OPERATORS, key=lambda name: (OPERATORS[name].arity, not OPERATORS[name].symmetric)))
RUNS, BATCH = 3, 7


def plain_value(name, z):
    """The operators once more, for autograd."""
    a = z[0]
    unary = {
        "square": lambda: a**2,
        "sin": lambda: torch.sin(a),
        "cos": lambda: torch.cos(a),
        "exp": lambda: torch.exp(a.clamp(max=EXP_LIMIT)),
        "log": lambda: 0.5 * torch.log(a**2 + GUARD**2),
        "sqrt": lambda: (a**2 + GUARD**2) ** 0.25,
        "abs": lambda: a.abs(),
        "tanh": lambda: torch.tanh(a),
        "inv": lambda: a / (a**2 + GUARD**2),
        "mm": lambda: a.abs() / (1 + a.abs()),
        "hill": lambda: a**2 / (1 + a**2),
    }
    binary = {
        "add": lambda: a + z[1],
        "mul": lambda: a * z[1],
        "sub": lambda: a - z[1],
        "div": lambda: a * z[1] / (z[1] ** 2 + GUARD**2),
    }
    return {**unary, **binary}[name]()


def plain_loss(shapes, weights, X, y):
    """The forward pass written unit by unit, as the paper describes it, summed over independent runs."""
    total = 0.0
    for run in range(RUNS):
        h = X[run]
        for shape, weight in zip(shapes, weights[:-1], strict=True):
            outputs = []
            for unit, name in enumerate(shape.units):
                rows = [unit] if OPERATORS[name].arity == 1 else [unit, unit + shape.n_binary]
                outputs.append(plain_value(name, [weight[run, row] @ h for row in rows]))
            h = torch.cat([h, torch.stack(outputs)])
        total = total + ((weights[-1][run, 0] @ h - y[run, 0]) ** 2).mean()
    return total


def make(operators, depth=2, copies=2, seed=0, scale=0.3):
    generator = torch.Generator().manual_seed(seed)
    shapes = layer_shapes(2, (operators,) * depth, copies)
    masks = exp_mask(shapes, 2)
    sizes = [(RUNS, shape.branches, shape.inputs) for shape in shapes]
    total = shapes[-1].inputs + len(shapes[-1].units)
    weights = [torch.randn(size, generator=generator, dtype=torch.float64) * scale for size in sizes]
    weights = [weight * mask for weight, mask in zip(weights, masks, strict=True)]
    weights.append(torch.randn(RUNS, 1, total, generator=generator, dtype=torch.float64) * scale)
    X = torch.randn(RUNS, 2, BATCH, generator=generator, dtype=torch.float64)
    y = torch.randn(RUNS, 1, BATCH, generator=generator, dtype=torch.float64)
    return shapes, weights, X, y


@pytest.mark.parametrize(
    "operators", [("square", "sin", "cos", "exp", "add", "mul"), *((o,) for o in ALL), ALL]
)
def test_gradient_is_that_of_autograd(operators):
    shapes, weights, X, y = make(operators)
    network = Network(shapes, weights, BATCH)
    network.loss_gradient(X, y)
    free = [weight.clone().requires_grad_() for weight in weights]
    plain_loss(shapes, free, X, y).backward()
    for layer, weight, mask in zip(network.layers, free[:-1], exp_mask(shapes, 2), strict=True):
        layer.add_penalties(0.0, 0.0)
        torch.testing.assert_close(layer.gradient, weight.grad * mask, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(network._output_gradient, free[-1].grad, rtol=1e-8, atol=1e-10)


def test_penalties_are_l1_and_the_signed_cosine():
    shapes, weights, *_ = make(("sin", "add", "mul", "sub"), depth=1)
    layer = Network(shapes, weights, BATCH).layers[0]
    layer.gradient.zero_()
    layer.add_penalties(0.08, 0.3)
    free = weights[0].clone().requires_grad_()
    start, shift = shapes[0].n_unary, shapes[0].n_binary
    # Four symmetric units (two copies of + and ×); the subtraction has no contrastive penalty.
    left, right = free[:, start : start + 4], free[:, start + shift : start + shift + 4]
    cosine = torch.nn.functional.cosine_similarity(left, right, dim=2)
    (0.08 * free.abs().sum() + 0.3 * cosine.sum()).backward()
    torch.testing.assert_close(layer.gradient, free.grad, rtol=1e-4, atol=1e-5)


def test_step_has_the_length_of_the_rate_in_every_unit():
    shapes, weights, X, y = make(("square", "exp", "mul", "div"))
    network = Network(shapes, weights, BATCH)
    network.step(X, y, 0.5, (0.08, 0.001))
    for shape, layer, before in zip(shapes, network.layers, weights, strict=False):
        moved = (layer.weights - before).square().sum(dim=2)
        start, shift = shape.n_unary, shape.n_binary
        unary = moved[:, :start].sqrt()
        binary = (moved[:, start : start + shift] + moved[:, start + shift :]).sqrt()
        for lengths in (unary, binary):
            torch.testing.assert_close(lengths, torch.full_like(lengths, 0.5), rtol=1e-5, atol=EPSILON)


def test_exp_never_sees_exp():
    shapes, weights, X, y = make(("exp", "add"), depth=3)
    network = Network(shapes, weights, BATCH)
    for _ in range(5):
        network.step(X, y, 0.1, (0.08, 0.001))
    names = ["x", "x"]
    for shape, layer in zip(shapes, network.layers, strict=True):
        for unit, name in enumerate(shape.units):
            on_exp = layer.weights[:, unit, [other == "exp" for other in names]]
            assert bool((on_exp == 0).all()) == (name == "exp" or on_exp.numel() == 0)
        names += shape.units


def test_a_run_that_is_not_finite_stops_alone():
    shapes, weights, X, y = make(("square", "mul"))
    spoiled = [weight.clone() for weight in weights]
    spoiled[-1][1] = float("nan")
    whole, hurt = Network(shapes, weights, BATCH), Network(shapes, spoiled, BATCH)
    for _ in range(3):
        whole.step(X, y, 0.1, (0.08, 0.001))
        hurt.step(X, y, 0.1, (0.08, 0.001))
    assert hurt.alive.tolist() == [True, False, True]
    for good, bad, before in zip(whole.layers, hurt.layers, weights, strict=False):
        torch.testing.assert_close(bad.weights[[0, 2]], good.weights[[0, 2]], rtol=0, atol=0)
        torch.testing.assert_close(bad.weights[1], before[1], rtol=0, atol=0)


@pytest.mark.parametrize("name", ALL)
def test_operators_are_finite_everywhere(name):
    z = torch.tensor([[[-1e4, -1.0, -1e-30, 0.0, 1e-30, 1.0, 1e4]]])
    arguments = (z, z.flip(2))[: OPERATORS[name].arity]
    assert torch.isfinite(plain_value(name, arguments)).all()


def test_univariate_networks_start_with_unary_units():
    layers = FmnConfig().layers(1)
    assert [len(layer) for layer in layers] == [4, 6, 6]
    assert [len(layer) for layer in FmnConfig().layers(2)] == [6, 6, 6, 6]
    assert operator_names(["+", "*", "-", "/"]) == ("add", "mul", "sub", "div")


def test_units_are_as_many_as_the_paper_counts():
    shapes = layer_shapes(2, FmnConfig().layers(2), 4)
    assert [len(shape.units) for shape in shapes] == [24, 24, 24, 24]
    assert np.cumsum([2] + [24] * 3).tolist() == [shape.inputs for shape in shapes]
