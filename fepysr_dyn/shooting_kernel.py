"""The compiled integration of many shooting windows; importing this module loads numba."""

from __future__ import annotations

import numpy as np
from numba import njit

from fepysr_dyn.expressions.tape import Array, Codes
from fepysr_dyn.expressions.tape_kernel import run_tape_on_lanes

#: Windows and variants that are integrated side by side: enough to make up for looking up each operation,
#: few enough for their registers to stay in the cache.
_LANES = 256


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def shoot(
    tape: tuple[Codes, int, Codes],
    constants: Array,
    tableau: tuple[Array, Array],
    steps: tuple[Array, Codes, Array],
    variants: tuple[Array, Array],
    outputs: Array,
) -> None:
    """Integrate every window for every variant of constants and initial state.

    A window that leaves the finite numbers ends the integration of those beside it: fits have no use for
    the rest.

    Parameters
    ----------
    tape : (operations, first result register, output registers)
        Rates of the states; its variables are constants, states, inputs in this order.
    constants : array
        Of the tape.
    tableau : (A, B)
        Of an explicit Runge-Kutta method.
    steps : (size, sample, inputs)
        Per step and window: its length, the sample it reaches or -1, the inputs at the stages.
    variants : (theta, starts)
        Constants (constants, variants) and initial states (states, windows, variants).
    outputs : array
        States (states, windows, variants, samples), filled in.
    """
    operations, first_result, results = tape
    a, b = tableau
    size, sample, inputs = steps
    theta, starts = variants
    n_theta, n, n_inputs = theta.shape[0], starts.shape[0], inputs.shape[2]
    stages = b.shape[0]
    all_lanes = starts.shape[1] * starts.shape[2]
    for first in range(0, all_lanes, _LANES):
        lanes = min(_LANES, all_lanes - first)
        window = (first + np.arange(lanes)) // starts.shape[2]
        variant = (first + np.arange(lanes)) % starts.shape[2]
        registers = np.empty((first_result + operations.shape[0], lanes))
        slopes = np.empty((stages, n, lanes))
        state = np.empty((n, lanes))
        h = np.empty(lanes)
        for lane in range(lanes):
            w, v = window[lane], variant[lane]
            for j in range(n_theta):
                registers[j, lane] = theta[j, v]
            for j in range(constants.shape[0]):
                registers[first_result - constants.shape[0] + j, lane] = constants[j]
            for i in range(n):
                state[i, lane] = starts[i, w, v]
                outputs[i, w, v, 0] = starts[i, w, v]
        for k in range(size.shape[0]):
            for lane in range(lanes):
                h[lane] = size[k, window[lane]]
            if not np.any(h):
                break
            for s in range(stages):
                for i in range(n):
                    x = registers[n_theta + i]
                    x[:] = 0.0
                    for r in range(s):
                        factor, slope = a[s, r], slopes[r, i]
                        if factor != 0.0:
                            for lane in range(lanes):
                                x[lane] += factor * slope[lane]
                    for lane in range(lanes):
                        x[lane] = state[i, lane] + h[lane] * x[lane]
                for u in range(n_inputs):
                    for lane in range(lanes):
                        registers[n_theta + n + u, lane] = inputs[k, s, u, window[lane]]
                run_tape_on_lanes(operations, first_result, registers)
                for i in range(n):
                    slopes[s, i] = registers[results[i]]
            finite = True
            for i in range(n):
                for s in range(stages):
                    if b[s] != 0.0:
                        for lane in range(lanes):
                            state[i, lane] += h[lane] * b[s] * slopes[s, i, lane]
                for lane in range(lanes):
                    if sample[k, window[lane]] >= 0:
                        outputs[i, window[lane], variant[lane], sample[k, window[lane]]] = state[i, lane]
                        finite = finite and np.isfinite(state[i, lane])
            if not finite:
                break
