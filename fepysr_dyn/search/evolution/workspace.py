"""What kernels read (the data) and scribble on (the workspace), as plain tuples of arrays."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.search.evolution.opcodes import FIRST_INPUT

if TYPE_CHECKING:
    from fepysr_dyn.search.problem import RegressionProblem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Top-level summands of a program that get their own optimal coefficient.
MAX_TERMS = 10
#: Constants of a program that Levenberg-Marquardt moves at a time.
MAX_CONSTANTS = 12
#: Rows evaluated at a time: a tree of 17 nodes then takes 35 kB.
BLOCK = 256


class Data(NamedTuple):
    """A regression problem as the kernels see it.

    Residuals are scaled by `root_weights` so that their sum of squares is the loss; `target` and `one`
    (what the measurement makes of a constant 1) are scaled already.
    """

    X: Floats
    target: Floats
    root_weights: Floats
    one: Floats
    measurement: Floats
    is_scaled: bool


class Workspace(NamedTuple):
    """Memory of one worker for the evaluation of one program at a time, and the kernels that fill it."""

    forward: Any
    backward: Any
    tape: Floats
    adjoint: Floats
    outputs: Floats
    basis: Floats
    triangle: Floats
    coefficients: Floats
    residual: Floats
    slopes: Floats
    jacobian: Floats
    sizes: Integers
    roots: Integers
    places: Integers
    terms: Integers
    pending: Integers
    projections: Floats
    lengths: Floats
    normal: Floats
    lower: Floats
    vectors: Floats


def make_data(problem: RegressionProblem, inputs: Floats, *, is_scaled: bool) -> Data:
    """Prepare a problem whose input columns (variables and features) are already evaluated."""
    weights = np.ones(len(problem.target)) if problem.weights is None else np.asarray(problem.weights, float)
    root_weights = np.sqrt(weights / weights.sum()) / problem.scale
    measurement = np.zeros((0, 0)) if problem.measurement is None else problem.measurement
    constant = np.asarray(problem.measure(np.ones(inputs.shape[1])), dtype=np.float64)
    return Data(
        X=np.ascontiguousarray(inputs, dtype=np.float64),
        target=np.asarray(problem.target, dtype=np.float64) * root_weights,
        root_weights=root_weights,
        one=constant * root_weights,
        measurement=np.ascontiguousarray(measurement, dtype=np.float64),
        is_scaled=is_scaled,
    )


def make_workspace(data: Data, nodes: int) -> Workspace:
    """Allocate the memory for programs of at most `nodes` nodes."""
    rows, measured = data.X.shape[1], data.target.shape[0]
    forward, backward = _evaluation()
    return Workspace(
        forward=forward,
        backward=backward,
        tape=np.zeros((nodes, BLOCK)),
        adjoint=np.zeros((nodes, BLOCK)),
        outputs=np.zeros((MAX_TERMS, rows)),
        basis=np.zeros((MAX_TERMS + 1, measured)),
        triangle=np.zeros((MAX_TERMS + 1, MAX_TERMS + 1)),
        coefficients=np.zeros(MAX_TERMS + 1),
        residual=np.zeros(measured),
        slopes=np.zeros((MAX_CONSTANTS, rows)),
        jacobian=np.zeros((MAX_CONSTANTS, measured)),
        sizes=np.zeros(nodes, dtype=np.int64),
        roots=np.zeros(MAX_TERMS, dtype=np.int64),
        places=np.zeros(MAX_CONSTANTS, dtype=np.int64),
        terms=np.zeros(1, dtype=np.int64),
        pending=np.zeros(2 * MAX_TERMS, dtype=np.int64),
        projections=np.zeros(MAX_TERMS + 1),
        lengths=np.zeros(MAX_TERMS + 1),
        normal=np.zeros((MAX_CONSTANTS, MAX_CONSTANTS)),
        lower=np.zeros((MAX_CONSTANTS, MAX_CONSTANTS)),
        vectors=np.zeros((3, MAX_CONSTANTS)),
    )


@cache
def _evaluation() -> tuple[Any, Any]:
    """Compile evaluation and derivatives, or read them from disk."""
    from fepysr_dyn.search.evolution.derivatives import backward
    from fepysr_dyn.search.evolution.kernels import forward
    from fepysr_dyn.search.evolution.pointers import Pointer

    codes, values, sizes = np.zeros(1, dtype=np.int16), np.zeros(1), np.zeros(1, dtype=np.int64)
    block = np.zeros((1, 1))
    return (
        Pointer(forward, codes, values, sizes, (0, 0), block, 0, block),
        Pointer(backward, codes, sizes, 0, block, block, 0),
    )


def node_costs(input_costs: Integers, operator_costs: Integers) -> Integers:
    """Return the complexity of every code: operators first, inputs from `FIRST_INPUT` on."""
    costs = np.ones(FIRST_INPUT + len(input_costs), dtype=np.int64)
    costs[:FIRST_INPUT] = operator_costs
    costs[FIRST_INPUT:] = input_costs
    return costs
