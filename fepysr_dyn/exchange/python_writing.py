"""OdeSystem to a Python file that needs numpy and scipy alone."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable

import sympy

from fepysr_dyn.exchange.driving import formula_of
from fepysr_dyn.exchange.infix import InfixPrinter
from fepysr_dyn.exchange.mathml import TIME
from fepysr_dyn.exchange.rewriting import without_choices
from fepysr_dyn.exchange.sbml_writing import conditions, free_name
from fepysr_dyn.system import OdeSystem

_FUNCTIONS = {
    **{name: f"np.{name}" for name in ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"atan": "np.arctan", "Abs": "abs", "cot": "1/np.tan"},
}
#: Names that mean something else in the file.
_TAKEN = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "np", "sys", "solve_ivp"}) | {
    *("t", "state", "rates", "simulate", "main", "STATES", "INITIAL", "BREAKPOINTS", "DURATION", "SAMPLES"),
    *("times", "columns", "edges", "inside", "start", "stop", "last", "solution", "table", "path"),
}

_TEMPLATE = '''# {title}
"""Integrates the system and writes a table of its states: python {file} [FILE.csv]"""

import sys

import numpy as np
from scipy.integrate import solve_ivp

STATES = {states!r}
INITIAL = np.array({initial!r})
# Times at which an input jumps or bends; no step of the solver may cross one.
BREAKPOINTS = {breakpoints!r}
DURATION = {duration!r}
SAMPLES = {samples!r}
{parameters}

def rates(t, state):
    """Return the time derivatives of the states."""
    {unpacked} = state
{body}
    return [{returned}]


def simulate(times, initial=INITIAL):
    """Integrate from breakpoint to breakpoint and return the states at the given times, a row each."""
    times = np.asarray(times, dtype=float)
    edges = [times[0], *(b for b in BREAKPOINTS if times[0] < b < times[-1]), times[-1]]
    columns = [np.asarray(initial, dtype=float)[:, None]]
    last = columns[0][:, 0]
    for start, stop in zip(edges[:-1], edges[1:]):
        inside = times[(times > start) & (times <= stop)]
        # At the end of a piece an input still has its old value.
        solution = solve_ivp(
            lambda t, state: rates(min(t, np.nextafter(stop, start)), state),
            (start, stop), last, method="LSODA", rtol=1e-10, atol=1e-12, dense_output=True,
        )
        if not solution.success:
            sys.exit(f"the integration ended at t = {{solution.t[-1]:.6g}}: {{solution.message}}")
        if len(inside):
            columns.append(solution.sol(inside))
        last = solution.y[:, -1]
    return np.concatenate(columns, axis=1).T


def main():
    """Write the table to the file that is named, or print it."""
    times = np.linspace(0.0, DURATION, SAMPLES, endpoint=False)
    table = np.column_stack([times, simulate(times)])
    path = sys.argv[1] if len(sys.argv) > 1 else sys.stdout
    np.savetxt(path, table, delimiter=",", header=",".join(["time", *STATES]), comments="", fmt="%.17g")


if __name__ == "__main__":
    main()
'''


def to_python(system: OdeSystem, experiment: str | None = None) -> str:
    """Return a Python file that integrates a system.

    Parameters
    ----------
    experiment : str, optional
        Take the initial values and inputs of this experiment of the protocol; the system's own if not given.
    """
    initial, inputs = conditions(system, experiment)
    names = _names(system.symbols)
    printer = _PythonPrinter(_FUNCTIONS, {**names, TIME.name: "t"})

    def text(expression: sympy.Expr) -> str:
        return str(printer.doprint(without_choices(expression)))

    lines = [f"{names[name]} = {text(formula_of(name, drive, TIME))}" for name, drive in inputs.items()]
    lines += [f"{names[name]} = {text(value)}" for name, value in system.ordered_assignments()]
    points = {float(point) for drive in inputs.values() for point in drive.breakpoints}
    return _TEMPLATE.format(
        title="".join(sign if sign.isprintable() else " " for sign in system.title or system.name),
        file="FILE.py",
        states=list(system.states),
        initial=[float(value) for value in initial.values()],
        breakpoints=sorted(points),
        duration=float(system.protocol.duration),
        samples=system.protocol.samples,
        parameters="".join(f"{names[name]} = {float(v)!r}\n" for name, v in system.parameters.items()),
        unpacked=f"({', '.join(names[name] for name in system.states)},)",
        body="\n".join(f"    {line}" for line in lines),
        returned=", ".join(text(rate) for rate in system.rates.values()),
    )


class _PythonPrinter(InfixPrinter):
    """Formulas of plain floats: branches become conditional expressions, evaluated only where they hold."""

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:  # noqa: N802
        return self._power(expr, "**")

    def _print_Pi(self, expr: sympy.Expr) -> str:  # noqa: N802
        return "np.pi"

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:  # noqa: N802
        pairs = [(self._print(value), self._print(condition)) for value, condition in expr.args]
        *branches, (otherwise, _) = pairs
        parts = [f"{value} if {condition} else" for value, condition in branches]
        return f"({' '.join([*parts, otherwise])})"

    def _print_And(self, expr: sympy.And) -> str:  # noqa: N802
        return self._joined(expr, " and ")

    def _print_Or(self, expr: sympy.Or) -> str:  # noqa: N802
        return self._joined(expr, " or ")


def _names(symbols: Iterable[str]) -> dict[str, str]:
    """Return names that are free in the file: reserved ones get _ behind them."""
    symbols = list(symbols)
    taken = {*_TAKEN, *symbols}
    return {name: free_name(f"{name}_", taken) if name in _TAKEN else name for name in symbols}
