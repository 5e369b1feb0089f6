"""Training of all runs: random streams, mini-batches, schedule, progress."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fepysr_dyn.features.config import FmnConfig
from fepysr_dyn.features.network import LayerShape, Network, layer_shapes

Array = NDArray[np.float64]
#: Called with the fraction done and a message.
ProgressCallback = Callable[[float, str], None]


@dataclass(frozen=True)
class TrainedRuns:
    """Weights of all runs after training.

    Parameters
    ----------
    shapes : list of LayerShape
    weights : list of array
        Per layer, (runs, branches, inputs).
    alive : array of bool
        Whether a run stayed within the finite numbers.
    errors : array
        Mean squared error of the last epoch per run, on the scale trained on.
    """

    shapes: list[LayerShape]
    weights: list[NDArray[np.float32]]
    alive: NDArray[np.bool_]
    errors: Array


def train(
    X: Array, y: Array, config: FmnConfig, seed: int, progress: ProgressCallback | None = None
) -> TrainedRuns:
    """Train all runs of a problem.

    Every run draws its weights and its mini-batches from a stream of its own, so that it does not depend
    on how many runs train beside it.
    """
    shapes = layer_shapes(X.shape[1], config.layers(X.shape[1]), config.copies)
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(config.runs)]
    batch = min(config.batch_size, len(y))
    with torch.no_grad():
        network = Network(shapes, _initial_weights(shapes, streams, config), batch)
        columns = torch.from_numpy(np.ascontiguousarray(X, dtype=np.float32))
        target = torch.from_numpy(np.ascontiguousarray(y, dtype=np.float32))
        errors = torch.zeros(config.runs)
        for epoch in range(config.epochs):
            errors = _epoch(network, columns, target, streams, _rate(config, epoch), config)
            if progress is not None:
                progress((epoch + 1) / config.epochs, f"epoch {epoch + 1} of {config.epochs}")
    return TrainedRuns(
        shapes,
        [layer.weights.numpy().copy() for layer in network.layers],
        network.alive.numpy().copy(),
        errors.numpy().astype(np.float64),
    )


def _epoch(
    network: Network,
    columns: torch.Tensor,
    target: torch.Tensor,
    streams: list[np.random.Generator],
    rate: float,
    config: FmnConfig,
) -> torch.Tensor:
    """Run all whole mini-batches of one epoch; return the mean error per run."""
    batch = network.features.shape[2]
    rows = len(target)
    steps = max(1, rows // batch)
    order = torch.from_numpy(np.stack([stream.permutation(rows)[: steps * batch] for stream in streams]))
    X = columns[order].view(len(streams), steps, batch, -1).permute(1, 0, 3, 2).contiguous()
    y = target[order].view(len(streams), steps, 1, batch).transpose(0, 1).contiguous()
    errors = torch.zeros(len(streams))
    for index in range(steps):
        errors += network.step(X[index], y[index], rate, (config.sparsity, config.contrast))
    return errors / steps


def _rate(config: FmnConfig, epoch: int) -> float:
    if config.schedule == "constant":
        return config.learning_rate
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * epoch / config.epochs))


def _initial_weights(
    shapes: list[LayerShape], streams: list[np.random.Generator], config: FmnConfig
) -> list[torch.Tensor]:
    """Draw the weights run by run, so that a run's numbers depend on its own stream only."""
    per_run = [
        [_draw(stream, shape.branches, shape.inputs, config) for shape in shapes] for stream in streams
    ]
    total = shapes[-1].inputs + len(shapes[-1].units)
    outputs = [stream.normal(0.0, 1 / math.sqrt(total), (1, total)) for stream in streams]
    layers = [np.stack([weights[index] for weights in per_run]) for index in range(len(shapes))]
    return [torch.from_numpy(np.asarray(w, dtype=np.float32)) for w in (*layers, np.stack(outputs))]


def _draw(stream: np.random.Generator, branches: int, inputs: int, config: FmnConfig) -> Array:
    weights = stream.normal(0.0, 1 / math.sqrt(inputs), (branches, inputs))
    if config.initial == "sparse":
        # One dominant input per branch: near-tied weights make the arg max an accident.
        weights *= 0.1
        chosen = stream.integers(0, inputs, branches)
        weights[np.arange(branches), chosen] += stream.choice([-1.0, 1.0], branches)
    return weights
