"""Speed of the batched training against one module per unit and one process per core.

The straightforward implementation follows the paper's description: every unit a module, autograd, one run
after the other in each process. Only a few of its steps are timed; every step costs the same.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.benchmarks.limits import peak_megabytes, reset_peak
from fepysr_dyn.benchmarks.units import Line, Unit

Array = NDArray[np.float64]
ROWS, EPOCHS, BATCH = 500, 100, 50
STEPS = EPOCHS * ROWS // BATCH
TIMED_STEPS = 40
TASK = "fepysr_dyn.benchmarks.stage1_speed:speed_unit"
STRAIGHTFORWARD, BATCHED = "one module per unit", "batched"


def speed_unit(unit: Unit) -> Line:
    """Time the straightforward implementation on all cores, or the batched one with some number of runs."""
    before = _load()
    if unit.problem == STRAIGHTFORWARD:
        rate, work = _straightforward()
        return {"rate": rate, "cpu_seconds": work, "load": before}
    runs = unit.setting["runs"]
    reset_peak()
    seconds, busy = _batched_seconds(runs)
    return {
        "seconds": seconds,
        "rate": runs / seconds,
        "cpu_seconds": busy / runs,
        "peak_megabytes": peak_megabytes(),
        "load": before,
    }


def _load() -> float:
    return round(os.getloadavg()[0], 1)


def _data() -> tuple[Array, Array]:
    X = np.random.default_rng(0).normal(size=(ROWS, 2))
    return X, X[:, 0] * X[:, 1] + np.sin(X[:, 0])


def _batched_seconds(runs: int) -> tuple[float, float]:
    """Return the seconds on the clock and of the processor."""
    from fepysr_dyn.features.config import PRESETS
    from fepysr_dyn.features.training import train

    _use_all_cores()
    config = replace(PRESETS["paper"], runs=runs, epochs=EPOCHS, batch_size=BATCH)
    train(*_data(), replace(config, epochs=1), seed=0)
    start, busy = time.perf_counter(), time.process_time()
    train(*_data(), config, seed=0)
    return time.perf_counter() - start, time.process_time() - busy


def _use_all_cores() -> None:
    """Let torch use the whole machine, as its rival does; the process of a unit has one thread otherwise."""
    import torch

    torch.set_num_threads(os.cpu_count() or 1)


def _straightforward() -> tuple[float, float]:
    """Return runs per second of all cores together, and processor seconds per run."""
    cores = os.cpu_count() or 1
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        steps = pool.map(_straightforward_step, range(cores))
    rate = sum(1 / (STEPS * seconds) for seconds, _ in steps)
    return rate, STEPS * sum(busy for _, busy in steps) / cores


def _straightforward_step(seed: int) -> tuple[float, float]:
    """Return the seconds on the clock and of the processor that one step of one run takes."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    X, y = (torch.tensor(part[:BATCH]) for part in _data())
    network = _network()
    for _ in range(5):
        _step(network, X, y)
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(TIMED_STEPS):
        _step(network, X, y)
    return (time.perf_counter() - start) / TIMED_STEPS, (time.process_time() - busy) / TIMED_STEPS


def _network() -> Any:
    import torch
    from torch import nn

    class Unit(nn.Module):
        """One operator with a weight vector per branch."""

        def __init__(self, inputs: int, operator: Any, branches: int) -> None:
            super().__init__()
            self.operator = operator
            self.branches = nn.ParameterList(
                nn.Parameter(torch.randn(inputs, dtype=torch.float64) / inputs**0.5) for _ in range(branches)
            )

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            return self.operator(*(h @ weight for weight in self.branches))  # type: ignore[no-any-return]

    class Net(nn.Module):
        """Layers that concatenate their input with their outputs, and a linear output."""

        def __init__(self) -> None:
            super().__init__()
            inputs = 2
            self.layers = nn.ModuleList()
            for _ in range(4):
                units: list[Any] = [(torch.square, 1), (torch.sin, 1), (torch.cos, 1), (torch.exp, 1)]
                units += [(torch.add, 2), (torch.mul, 2)]
                layer = nn.ModuleList(Unit(inputs, *unit) for unit in units for _ in range(4))
                self.layers.append(layer)
                inputs += len(layer)
            self.output = nn.Parameter(torch.randn(inputs, dtype=torch.float64) / inputs**0.5)

        def forward(self, h: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                assert isinstance(layer, nn.ModuleList)  # noqa: S101
                h = torch.cat([h, *(unit(h)[:, None] for unit in layer)], dim=1)
            return h @ self.output

    return Net()


def _step(network: Any, X: Any, y: Any) -> None:
    import torch

    units = [unit for layer in network.layers for unit in layer]
    loss = ((network(X) - y) ** 2).mean()
    for unit in units:
        for weight in unit.branches:
            loss = loss + 0.08 * weight.abs().sum()
        if len(unit.branches) == 2:
            loss = loss + 0.001 * torch.nn.functional.cosine_similarity(
                unit.branches[0], unit.branches[1], dim=0
            )
    network.zero_grad()
    loss.backward()
    with torch.no_grad():
        for weights in [list(unit.branches) for unit in units] + [[network.output]]:
            norm = torch.sqrt(sum((weight.grad**2).sum() for weight in weights)) + 1e-8
            for weight in weights:
                weight -= 0.5 * weight.grad / norm
