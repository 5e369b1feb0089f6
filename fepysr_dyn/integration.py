"""One initial value problem, integrated from breakpoint to breakpoint; how it ended is a value.

Steps are taken one by one with scipy's solvers rather than through ``solve_ivp``, which cannot give back what
was integrated until a time limit, and cannot change to a stiff method on the way.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import OptionError, did_you_mean
from fepysr_dyn.expressions import compile_scalar
from fepysr_dyn.expressions.taped import compile_taped
from fepysr_dyn.stimulus import Stimulus, split_at

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

    from fepysr_dyn.system import OdeSystem

Array = NDArray[np.float64]

#: Rates of more nodes than this are evaluated without generated code, and their Jacobian by differences:
#: sympy would need seconds or minutes for either.
LARGE = 200

METHODS = ("auto", "DOP853", "RK45", "LSODA", "Radau", "BDF")


class Outcome(StrEnum):
    """How an integration ended."""

    COMPLETE = "complete"
    BLOW_UP = "blow-up"
    NON_FINITE = "non-finite"
    STIFF = "stiff"
    TIME_LIMIT = "time limit"


@dataclass(frozen=True)
class SolverOptions:
    """How to integrate.

    Parameters
    ----------
    method : str
        "auto" starts with DOP853 and goes on with LSODA where stability, not accuracy, limits the step.
    rtol, atol : float
        Tolerances of a step; `atol` is relative to the size of each state.
    samples_per_step : float
        A step spans at most this many sampling intervals: the interpolant between the ends of a long step
        is far less accurate than the ends, which shows as soon as samples are differentiated.
    blow_up : float
        A state this many times larger than all the sizes it started with counts as a blow-up.
    time_limit : float
        Seconds for one experiment.
    """

    method: str = "auto"
    rtol: float = 1e-12
    atol: float = 1e-13
    samples_per_step: float = 4.0
    blow_up: float = 1e9
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            hint = did_you_mean(self.method, METHODS)
            raise OptionError(f"method must be one of {', '.join(METHODS)}, got '{self.method}'{hint}")
        for name in ("rtol", "atol", "samples_per_step", "blow_up", "time_limit"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name} must be positive, got {getattr(self, name)}")


@dataclass(frozen=True)
class Integration:
    """What came out: the states at the times that were reached, and how it ended.

    Parameters
    ----------
    states : array
        Shape (states, times).
    """

    outcome: Outcome
    message: str
    times: Array
    states: Array

    @property
    def complete(self) -> bool:
        """Whether all times were reached."""
        return self.outcome is Outcome.COMPLETE


class RightHandSide:
    """The rates of a system as fast functions of plain floats, and their Jacobian."""

    def __init__(self, system: OdeSystem) -> None:
        self.states = system.states
        self.inputs = tuple(system.inputs)
        self._expressions = system.explicit_rates()
        self._arguments = (*self.states, *self.inputs)
        nodes = (node for rate in self._expressions.values() for node in sympy.preorder_traversal(rate))
        self._is_large = next(itertools.islice(nodes, LARGE, None), None) is not None
        compile_rates = compile_taped if self._is_large else compile_scalar
        self._rates = compile_rates(tuple(self._expressions.values()), self._arguments)
        self._jacobian: Callable[..., Sequence[float]] | None = None

    def rates(self, state: Array, inputs: Sequence[float]) -> Array:
        """Return the rates, NaN where they are undefined."""
        return self._evaluate(self._rates, state, inputs, len(self.states))

    def jacobian(self, state: Array, inputs: Sequence[float]) -> Array:
        """Return the derivatives of the rates with respect to the states, row by row."""
        n = len(self.states)
        if self._is_large:
            return self._differences(state, inputs)
        if self._jacobian is None:
            self._jacobian = compile_scalar(self._slopes(), self._arguments)
        return self._evaluate(self._jacobian, state, inputs, n * n).reshape(n, n)

    def _differences(self, state: Array, inputs: Sequence[float]) -> Array:
        """Return the Jacobian by central differences, exact enough for stability and implicit steps."""
        steps = 6e-6 * np.maximum(np.abs(state), 1e-3 * float(np.max(np.abs(state))) or 1e-3)
        columns = []
        for index, step in enumerate(steps):
            ahead, behind = state.copy(), state.copy()
            ahead[index] += step
            behind[index] -= step
            columns.append((self.rates(ahead, inputs) - self.rates(behind, inputs)) / (2 * step))
        return np.array(columns).T

    def _slopes(self) -> list[sympy.Expr]:
        real = {sympy.Symbol(name): sympy.Symbol(name, real=True) for name in self._arguments}
        plain = {new: old for old, new in real.items()}
        return [
            sympy.diff(rate.xreplace(real), real[sympy.Symbol(state)]).xreplace(plain)
            for rate in self._expressions.values()
            for state in self.states
        ]

    @staticmethod
    def _evaluate(
        function: Callable[..., Sequence[float]], state: Array, inputs: Sequence[float], size: int
    ) -> Array:
        try:
            return np.array(function(*state.tolist(), *inputs), dtype=float)
        except (ArithmeticError, ValueError, TypeError):
            # Overflow, a pole, or a complex power: undefined here. Solvers shorten the step on NaN.
            return np.full(size, np.nan)


def integrate(
    system: OdeSystem | RightHandSide,
    initial: Sequence[float],
    inputs: Mapping[str, Stimulus],
    times: Array,
    options: SolverOptions | None = None,
) -> Integration:
    """Integrate from the first time to the last and return the states at all of them.

    Parameters
    ----------
    system : OdeSystem or RightHandSide
        Pass a RightHandSide to compile once for several calls.
    initial : sequence of float
        State at ``times[0]``.
    inputs : mapping of str to Stimulus
        One stimulus for each input of the system.
    times : array
        Ascending.
    """
    right_hand_side = system if isinstance(system, RightHandSide) else RightHandSide(system)
    run = _Run(right_hand_side, np.asarray(initial, dtype=float), inputs, times, options or SolverOptions())
    return run.integrate()


class _Run:
    """The state of one integration on its way."""

    #: Steps between two looks at the Jacobian, and the product of step and spectral radius that a
    #: step limited by accuracy never reaches at these tolerances.
    _STIFFNESS_INTERVAL = 50
    _STABILITY_LIMIT = 2.0

    def __init__(
        self,
        right_hand_side: RightHandSide,
        initial: Array,
        inputs: Mapping[str, Stimulus],
        times: Array,
        options: SolverOptions,
    ) -> None:
        self._rhs = right_hand_side
        self._inputs = [inputs[name] for name in right_hand_side.inputs]
        self._times = np.asarray(times, dtype=float)
        self._options = options
        self._state = initial
        self._size = np.abs(initial)
        self._bound = options.blow_up * max(1.0, float(np.max(self._size)))
        self._deadline = time.monotonic() + options.time_limit
        self._stiff = options.method in ("LSODA", "Radau", "BDF")
        spacing = float(np.median(np.diff(self._times))) if len(self._times) > 1 else 1.0
        self._max_step = options.samples_per_step * spacing

    def integrate(self) -> Integration:
        times, columns = [self._times[:1]], [self._state[:, None]]
        breakpoints = [point for stimulus in self._inputs for point in stimulus.breakpoints]
        outcome, message = Outcome.COMPLETE, ""
        pieces = split_at(breakpoints, self._times[0], self._times[-1]) if len(self._times) > 1 else []
        for start, stop in pieces:
            wanted = self._times[(self._times > start) & (self._times <= stop)]
            reached, values, outcome, message = self._piece(start, stop, wanted)
            times.append(reached)
            columns.append(values)
            if outcome is not Outcome.COMPLETE:
                break
        return Integration(outcome, message, np.concatenate(times), np.concatenate(columns, axis=1))

    def _piece(self, start: float, stop: float, wanted: Array) -> tuple[Array, Array, Outcome, str]:
        """Integrate over one interval without a breakpoint inside."""
        drives = [stimulus.piece(start, stop) for stimulus in self._inputs]

        def rates(t: float, state: Array) -> Array:
            return self._rhs.rates(state, [drive(t) for drive in drives])

        def jacobian(t: float, state: Array) -> Array:
            return self._rhs.jacobian(state, [drive(t) for drive in drives])

        values = np.empty((len(self._state), len(wanted)))
        done = 0
        t = start
        if not np.all(np.isfinite(rates(start, self._state))):
            return (
                wanted[:0],
                values[:, :0],
                Outcome.NON_FINITE,
                f"the rates are undefined at t = {start:.6g}",
            )
        solver = self._solver(rates, jacobian, t, stop)
        steps = 0
        while solver.status == "running":
            complaint = solver.step()
            if complaint is not None or not np.all(np.isfinite(solver.y)):
                outcome, message = self._explain(solver, rates, complaint)
                return wanted[:done], values[:, :done], outcome, message
            ready = int(np.searchsorted(wanted, solver.t, side="right"))
            if ready > done:
                values[:, done:ready] = solver.dense_output()(wanted[done:ready])
                done = ready
            self._size = np.maximum(self._size, np.abs(solver.y))
            steps += 1
            if np.max(self._size) > self._bound:
                message = f"a state exceeded {self._bound:.3g} at t = {solver.t:.6g}"
                return wanted[:done], values[:, :done], Outcome.BLOW_UP, message
            if steps % 16 == 0 and time.monotonic() > self._deadline:
                message = f"stopped after {self._options.time_limit:g} s at t = {solver.t:.6g}"
                return wanted[:done], values[:, :done], Outcome.TIME_LIMIT, message
            if self._should_switch(solver, jacobian, steps):
                self._stiff = True
                self._state = solver.y
                solver = self._solver(rates, jacobian, solver.t, stop)
        self._state = solver.y
        return wanted, values, Outcome.COMPLETE, ""

    def _solver(self, rates: Any, jacobian: Any, start: float, stop: float) -> OdeSolver:
        from scipy import integrate as scipy_integrate

        options = self._options
        name = options.method
        if name == "auto":
            name = "LSODA" if self._stiff else "DOP853"
        # A state that starts at zero still has a size: what its rate makes of it within a few samples.
        typical = np.maximum(self._size, np.abs(rates(start, self._state)) * self._max_step)
        scale = np.maximum(typical, 1e-3 * (float(np.max(typical)) or 1.0))
        settings: dict[str, Any] = {
            "rtol": max(options.rtol, 3e-14),
            "atol": options.atol * scale,
            "max_step": self._max_step,
        }
        if name in ("LSODA", "Radau", "BDF"):
            settings["jac"] = jacobian
        method = getattr(scipy_integrate, name)
        solver: OdeSolver = method(rates, start, self._state, stop, **settings)
        return solver

    def _should_switch(self, solver: OdeSolver, jacobian: Any, steps: int) -> bool:
        if self._stiff or self._options.method != "auto" or steps % self._STIFFNESS_INTERVAL:
            return False
        matrix = jacobian(solver.t, solver.y)
        if not np.all(np.isfinite(matrix)) or solver.step_size is None:
            return False
        radius = float(np.max(np.abs(np.linalg.eigvals(matrix))))
        remaining = (solver.t_bound - solver.t) / solver.step_size
        limited = radius * solver.step_size > self._STABILITY_LIMIT
        return bool(limited and remaining > self._STIFFNESS_INTERVAL)

    def _explain(self, solver: OdeSolver, rates: Any, complaint: str | None) -> tuple[Outcome, str]:
        where = f"t = {solver.t:.6g}"
        slopes = rates(solver.t, solver.y)
        if not np.all(np.isfinite(slopes)) or not np.all(np.isfinite(solver.y)):
            return Outcome.NON_FINITE, f"the rates are undefined at {where}"
        # A step that shrinks to nothing means a pole ahead if the rates are steep, and otherwise the edge
        # of where they are defined.
        span = float(self._times[-1] - self._times[0])
        if np.max(np.abs(slopes) / np.maximum(self._size, 1e-300)) * span > 1e6:
            return Outcome.BLOW_UP, f"the solution runs into a pole at {where}"
        ahead = [solver.y + slopes * span * 10.0**-digits for digits in (14, 12, 10, 8)]
        if not all(np.all(np.isfinite(rates(solver.t, state))) for state in ahead):
            return Outcome.NON_FINITE, f"the rates become undefined at {where}"
        return Outcome.STIFF, f"no step is small enough at {where}: {complaint or 'the solver gave up'}"
