"""Training of all runs: random streams, mini-batches, schedule, progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from fepysr_dyn.features.config import FmnConfig
from fepysr_dyn.features.network import LayerShape, Network, layer_shapes

Array = NDArray[np.float64]
#: Runs that one thread trains together.
BLOCK = 32
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
    data = tuple(torch.from_numpy(np.ascontiguousarray(part, dtype=np.float32)) for part in (X, y))
    blocks = [
        _Block(shapes, streams[start : start + BLOCK], data, config)
        for start in range(0, len(streams), BLOCK)
    ]
    with _one_thread_each(len(blocks)) as pool:
        for epoch in range(config.epochs):
            list(pool.map(partial(_Block.epoch, rate=_rate(config, epoch)), blocks))
            if progress is not None:
                progress((epoch + 1) / config.epochs, f"epoch {epoch + 1} of {config.epochs}")
    networks = [block.network for block in blocks]
    return TrainedRuns(
        shapes,
        [
            torch.cat([network.layers[index].weights for network in networks]).numpy()
            for index in range(len(shapes))
        ],
        torch.cat([network.alive for network in networks]).numpy(),
        torch.cat([block.errors for block in blocks]).numpy().astype(np.float64),
    )


@contextmanager
def _one_thread_each(tasks: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool with as many threads as torch may use, each working alone.

    Threads inside one small operation cost more than they give, and very much more on a busy machine, where
    all wait for the slowest after every operation.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(max(1, min(threads, tasks))) as pool:
            yield pool
    finally:
        torch.set_num_threads(threads)


class _Block:
    """Some of the runs, few enough to stay in the cache."""

    def __init__(
        self,
        shapes: list[LayerShape],
        streams: list[np.random.Generator],
        data: tuple[torch.Tensor, ...],
        config: FmnConfig,
    ) -> None:
        self._streams = streams
        self._columns, self._target = data
        self._penalties = (config.sparsity, config.contrast)
        self._batch = min(config.batch_size, len(self._target))
        self.network = Network(shapes, _initial_weights(shapes, streams, config), self._batch)
        self.errors = torch.zeros(len(streams))

    def epoch(self, rate: float) -> None:
        """Run all whole mini-batches of one epoch and note the mean error of each run."""
        with torch.no_grad():
            runs, rows = len(self._streams), len(self._target)
            steps = max(1, rows // self._batch)
            used = steps * self._batch
            order = torch.from_numpy(np.stack([s.permutation(rows)[:used] for s in self._streams]))
            X = self._columns[order].view(runs, steps, self._batch, -1).permute(1, 0, 3, 2).contiguous()
            y = self._target[order].view(runs, steps, 1, self._batch).transpose(0, 1).contiguous()
            total = torch.zeros(runs)
            for index in range(steps):
                total += self.network.step(X[index], y[index], rate, self._penalties)
            self.errors = total / steps


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
