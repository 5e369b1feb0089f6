"""Inputs that differ between experiments: one formula for all, its numbers set by each PEtab condition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from fepysr_dyn.errors import ModelError
from fepysr_dyn.exchange.driving import Piece, pieces_of
from fepysr_dyn.exchange.mathml import TIME
from fepysr_dyn.exchange.sbml_writing import free_name
from fepysr_dyn.stimulus import Sine, Stimulus

#: Each piece is a column or three of the table of conditions.
MAX_PIECES = 200


@dataclass(frozen=True)
class SharedInput:
    """An input's formula of time, and the values its parameters have in each experiment."""

    formula: sympy.Expr
    values: dict[str, list[float]]


def shared_input(
    name: str, stimuli: Sequence[Stimulus], starts: Sequence[float], end: float, taken: set[str]
) -> SharedInput:
    """Return one formula for an input of several experiments.

    Parameters
    ----------
    stimuli : sequence of Stimulus
        One for each experiment.
    starts : sequence of float
        The time at which each experiment starts, which is 0 in PEtab.
    end : float
        A time after all experiments, counted from their starts.
    taken : set of str
        Names that are in use; those of the new parameters are added.
    """
    pieces = [_pieces(name, stimulus, start) for stimulus, start in zip(stimuli, starts, strict=True)]
    most = max(map(len, pieces))
    if most > MAX_PIECES:
        raise ModelError(
            f"input '{name}': expected at most {MAX_PIECES} pieces for PEtab, found a series of {most}; "
            "take fewer samples of it or declare its steps"
        )
    table = _Table(name, taken)
    # An experiment with fewer pieces steps to its own last value after the end.
    padded = [
        [*own, *(Piece(end * (2 + i), own[-1].value) for i in range(most - len(own)))] for own in pieces
    ]
    lines = []
    for index in range(most):
        column = [own[index] for own in padded]
        line = table.symbol(f"value{index + 1}", [piece.value for piece in column])
        start = table.symbol(f"time{index + 1}", [piece.start for piece in column]) if index else None
        if start is not None and any(piece.slope for piece in column):
            slope = table.symbol(f"slope{index + 1}", [piece.slope for piece in column])
            line = line + slope * (TIME - start)
        lines.append((line, start))
    formula = lines[0][0]
    if most > 1:
        ends = [sympy.Lt(TIME, start, evaluate=False) for _, start in lines[1:] if start is not None]
        branches = zip([line for line, _ in lines], [*ends, sympy.true], strict=True)
        formula = sympy.Piecewise(*branches, evaluate=False)
    if any(isinstance(stimulus, Sine) for stimulus in stimuli):
        formula = sympy.Add(formula, _wave(table, stimuli, starts), evaluate=False)
    return SharedInput(formula, table.values)


class _Table:
    """The numbers of one input: symbols where experiments differ, numbers where they agree."""

    def __init__(self, name: str, taken: set[str]) -> None:
        self._name = name
        self._taken = taken
        self.values: dict[str, list[float]] = {}

    def symbol(self, role: str, values: list[float]) -> sympy.Expr:
        if len(set(values)) == 1:
            return sympy.Float(values[0])
        name = free_name(f"{self._name}_{role}", self._taken)
        self.values[name] = values
        return sympy.Symbol(name)


def _pieces(name: str, stimulus: Stimulus, start: float) -> list[Piece]:
    """Return the pieces that matter from the start of an experiment on, in its own time."""
    if isinstance(stimulus, Sine):
        return [Piece(-math.inf, stimulus.offset)]
    pieces = pieces_of(name, stimulus) or ()
    later = [Piece(piece.start - start, piece.value, piece.slope) for piece in pieces if piece.start > start]
    before = [piece for piece in pieces if piece.start <= start]
    current = before[-1]
    if current.slope:
        value = current.value + current.slope * (start - current.start)
        # The first piece has no start: one more, from before the experiment on, carries the slope.
        return [Piece(-math.inf, value), Piece(-1.0, value - current.slope, current.slope), *later]
    return [Piece(-math.inf, current.value), *later]


def _wave(table: _Table, stimuli: Sequence[Stimulus], starts: Sequence[float]) -> sympy.Expr:
    sines = [stimulus if isinstance(stimulus, Sine) else Sine(0.0, 1.0) for stimulus in stimuli]
    omegas = [2 * math.pi / sine.period for sine in sines]
    amplitude = table.symbol("amplitude", [sine.amplitude for sine in sines])
    omega = table.symbol("omega", omegas)
    phases = [s.phase + o * start for s, o, start in zip(sines, omegas, starts, strict=True)]
    angle = sympy.Add(omega * TIME, table.symbol("phase", phases), evaluate=False)
    return sympy.Mul(amplitude, sympy.sin(angle, evaluate=False), evaluate=False)
