"""The compiled integration of many shooting windows; importing this module loads numba."""

from __future__ import annotations

import numpy as np
from numba import njit

from fepysr_dyn.expressions.tape import Array, Codes
from fepysr_dyn.expressions.tape_kernel import run_tape


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def shoot(
    tape: tuple[Codes, int, Codes],
    tableau: tuple[Array, Array],
    steps: tuple[Array, Codes, Array],
    variants: tuple[Array, Array],
    registers: Array,
    outputs: Array,
) -> None:
    """Integrate every window for every variant of constants and initial state.

    Parameters
    ----------
    tape : (operations, first result register, output registers)
        Rates of the states; its variables are constants, states, inputs in this order.
    tableau : (A, B)
        Of an explicit Runge-Kutta method.
    steps : (size, sample, inputs)
        Per step and window: its length, the sample it reaches or -1, the inputs at the stages.
    variants : (theta, starts)
        Constants (constants, variants) and initial states (states, windows, variants).
    registers, outputs : arrays
        Work space with the tape's constants filled in; states (states, windows, variants, samples), filled
        in until a window leaves the finite numbers.
    """
    operations, first_result, results = tape
    a, b = tableau
    size, sample, inputs = steps
    theta, starts = variants
    n_theta, n, n_inputs = theta.shape[0], starts.shape[0], inputs.shape[2]
    stages = b.shape[0]
    slopes = np.empty((stages, n))
    state = np.empty(n)
    for w in range(starts.shape[1]):
        for v in range(starts.shape[2]):
            for j in range(n_theta):
                registers[j] = theta[j, v]
            for i in range(n):
                state[i] = starts[i, w, v]
                outputs[i, w, v, 0] = state[i]
            for k in range(size.shape[0]):
                h = size[k, w]
                if h == 0.0:
                    break
                for s in range(stages):
                    for i in range(n):
                        x = state[i]
                        for r in range(s):
                            x += h * a[s, r] * slopes[r, i]
                        registers[n_theta + i] = x
                    for u in range(n_inputs):
                        registers[n_theta + n + u] = inputs[k, s, u, w]
                    run_tape(operations, first_result, registers)
                    for i in range(n):
                        slopes[s, i] = registers[results[i]]
                finite = True
                for i in range(n):
                    for s in range(stages):
                        state[i] += h * b[s] * slopes[s, i]
                    finite = finite and np.isfinite(state[i])
                if not finite:
                    break
                if sample[k, w] >= 0:
                    for i in range(n):
                        outputs[i, w, v, sample[k, w]] = state[i]
