"""Stimuli as formulas of time, the form in which other programs know an input."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import sympy

from fepysr_dyn.errors import ModelError
from fepysr_dyn.stimulus import Constant, Ramps, Sampled, Sine, Steps, Stimulus

#: A series of more pieces than this is data, not a formula: other programs would take minutes to read it.
MAX_PIECES = 2_000


@dataclass(frozen=True)
class Piece:
    """From `start` on the input is ``value + slope * (t - start)``; the first piece has no start."""

    start: float
    value: float
    slope: float = 0.0


def pieces_of(name: str, stimulus: Stimulus) -> tuple[Piece, ...] | None:
    """Return an input as pieces of straight lines, or None for a sine.

    Raises
    ------
    ModelError
        If there are too many pieces, or for a kind of stimulus that is not one of the model files'.
    """
    if isinstance(stimulus, Sine):
        return None
    if isinstance(stimulus, Constant):
        return (Piece(-math.inf, stimulus.value),)
    if isinstance(stimulus, Steps):
        starts = stimulus.breakpoints
        levels = stimulus(starts).tolist() if starts else []
        pieces = [Piece(start, level) for start, level in zip(starts, levels, strict=True)]
    elif isinstance(stimulus, Ramps | Sampled):
        pieces = _merged(_lines(stimulus))
    else:
        raise ModelError(
            f"input '{name}': a stimulus of the class {type(stimulus).__name__} has no formula to export"
        )
    if len(pieces) > MAX_PIECES:
        raise ModelError(
            f"input '{name}': expected at most {MAX_PIECES} pieces, found a series of {len(pieces)}; "
            "take fewer samples of it or declare its steps"
        )
    return (Piece(-math.inf, float(stimulus.values[0])), *pieces)


def formula_of(name: str, stimulus: Stimulus, time: sympy.Symbol) -> sympy.Expr:
    """Return an input as an expression of time."""
    if isinstance(stimulus, Sine):
        angle = sympy.Float(2 * math.pi / stimulus.period) * time
        wave = sympy.sin(_sum(angle, stimulus.phase), evaluate=False)
        return _sum(sympy.Mul(sympy.Float(stimulus.amplitude), wave, evaluate=False), stimulus.offset)
    pieces = pieces_of(name, stimulus) or ()
    lines = [_line(piece, time) for piece in pieces]
    if len(lines) == 1:
        return lines[0]
    ends = [sympy.Lt(time, sympy.Float(piece.start), evaluate=False) for piece in pieces[1:]]
    return sympy.Piecewise(*zip(lines, [*ends, sympy.true], strict=True), evaluate=False)


def is_level(pieces: tuple[Piece, ...] | None) -> bool:
    """Return whether an input only steps from one level to another."""
    return pieces is not None and all(piece.slope == 0 for piece in pieces)


def _lines(stimulus: Ramps | Sampled) -> list[Piece]:
    jumps = set(stimulus.jumps) if isinstance(stimulus, Sampled) else set()
    knots = list(zip(stimulus.times, stimulus.values, strict=True))
    found = []
    for (start, value), (stop, next_value) in itertools.pairwise(knots):
        # Before a jump the old value is held.
        slope = 0.0 if stop in jumps else (next_value - value) / (stop - start)
        found.append(Piece(start, value, slope))
    return [*found, Piece(*knots[-1])]


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Join pieces that continue the same straight line, as the samples of a ramp do."""
    size = max(abs(piece.value) for piece in pieces)
    span = pieces[-1].start - pieces[0].start
    ends = [piece.start for piece in pieces[1:]]
    kept = pieces[:1]
    for piece, end in zip(pieces[1:-1], ends[1:], strict=True):
        last, length = kept[-1], end - piece.start
        gap = abs(last.value + last.slope * (piece.start - last.start) - piece.value)
        bend = abs(piece.slope - last.slope) * length
        # What lies between the last sample before a jump and the jump may be as short as rounding.
        if length > 1e-12 * span and max(gap, bend) > 1e-9 * size:
            kept.append(piece)
    return [*kept, *pieces[-1:]] if len(pieces) > 1 else kept


def _line(piece: Piece, time: sympy.Symbol) -> sympy.Expr:
    if piece.slope == 0:
        return sympy.Float(piece.value)
    rise = sympy.Mul(sympy.Float(piece.slope), _sum(time, -piece.start), evaluate=False)
    return _sum(rise, piece.value)


def _sum(term: sympy.Expr, number: float) -> sympy.Expr:
    return sympy.Add(term, sympy.Float(number), evaluate=False) if number else term
