"""Compile the kernels of an epoch for the types they will meet."""

from __future__ import annotations

import threading

import numpy as np

from fepysr_dyn.search.evolution.archive import Island
from fepysr_dyn.search.evolution.constants import optimise_constants
from fepysr_dyn.search.evolution.inputs import Task
from fepysr_dyn.search.evolution.mutation import mutate
from fepysr_dyn.search.evolution.normalising import normalise
from fepysr_dyn.search.evolution.pointers import Kernels, Pointer
from fepysr_dyn.search.evolution.proposing import propose
from fepysr_dyn.search.evolution.workspace import Workspace

_LOCK = threading.Lock()
_KERNELS: list[Kernels] = []


def compile_kernels(island: Island, task: Task, work: Workspace) -> Kernels:
    """Return the kernels, compiled or read from disk on the first call of a process."""
    with _LOCK:
        if not _KERNELS:
            _KERNELS.append(_compile(island, task, work))
        return _KERNELS[0]


def _compile(island: Island, task: Task, work: Workspace) -> Kernels:
    codes, values = np.zeros(1, dtype=np.int16), np.zeros(1)
    program = (codes, values)
    data, rules, stream, library = task.search, task.rules, island.stream, task.library
    return Kernels(
        fit=Pointer(optimise_constants, codes, values, 0, data, work, 0, 0.0),
        propose=Pointer(propose, 0, program, 0, work, library, program, rules.allowed, 0, 0, stream),
        mutate=Pointer(mutate, 0, program, 0, program, 0, program, rules, stream, work.sizes),
        normalise=Pointer(normalise, program, 0, program, True, rules, work),
    )
