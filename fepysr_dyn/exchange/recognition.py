"""Formulas of time to stimuli: what `driving` writes, and anything else of the same form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from fepysr_dyn.exchange.formulas import Tree, arguments_of, evaluate
from fepysr_dyn.stimulus import Constant, Ramps, Sampled, Sine, Steps, Stimulus

_LINEAR = frozenset({"plus", "minus", "times", "divide", "number", "time", "name"})
#: Places at which a formula is compared with a straight line.
_PROBES = (0.0, 0.3, 0.7, 1.0)

ValueOf = Callable[[str], float]
Line = tuple[float, float]


def stimulus_of(tree: Tree, constant: ValueOf) -> Stimulus | None:
    """Return the stimulus that a formula of time alone stands for, or None if it is not one of ours.

    Parameters
    ----------
    constant : function
        Gives the value of a name that stands for a constant, NaN for any other.
    """
    if tree[0] == "piecewise":
        return _piecewise(arguments_of(tree), constant)
    return _sine(tree, constant)


def _value(tree: Tree, constant: ValueOf, time: float = math.nan) -> float:
    return evaluate(tree, lambda name: time if name == "time" else constant(name))


def _piecewise(arguments: list[Tree], constant: ValueOf) -> Stimulus | None:
    if len(arguments) % 2 == 0:
        return None
    starts = [_threshold(condition, constant) for condition in arguments[1::2]]
    if not all(earlier < later for earlier, later in itertools.pairwise(starts)):
        return None
    if not all(map(math.isfinite, starts)):
        return None
    edges = [starts[0] - 1.0, *starts, starts[-1] + 1.0]
    lines = [
        _line(tree, constant, start, stop)
        for tree, (start, stop) in zip(arguments[::2], itertools.pairwise(edges), strict=True)
    ]
    if any(math.isnan(value + slope) for value, slope in lines):
        return None
    return _joined(starts, lines)


def _threshold(condition: Tree, constant: ValueOf) -> float:
    """Return c of a condition ``time < c``, NaN for any other."""
    match condition:
        case ["lt", ["time"], bound] | ["gt", bound, ["time"]]:
            return _value(bound, constant)
    return math.nan


def _line(tree: Tree, constant: ValueOf, start: float, stop: float) -> Line:
    """Return value and slope at the start of an interval, NaN for what is no straight line."""
    if not _only(tree, _LINEAR):
        return math.nan, math.nan
    values = [_value(tree, constant, start + share * (stop - start)) for share in _PROBES]
    rise = values[-1] - values[0]
    size = max(map(abs, values)) or 1.0
    for share, value in zip(_PROBES, values, strict=True):
        if not abs(value - values[0] - share * rise) <= 1e-9 * size:
            return math.nan, math.nan
    # A level written as a formula may differ from itself by rounding.
    level = abs(rise) <= 1e-14 * size
    return values[0], 0.0 if level else rise / (stop - start)


def _joined(starts: list[float], lines: list[Line]) -> Stimulus | None:
    (before, first_slope), *later = lines
    if first_slope or later[-1][1]:
        return None
    values = [value for value, _ in later]
    if not any(slope for _, slope in later):
        return Steps((min(0.0, starts[0] - 1.0), *starts), (before, *values))
    times = list(starts)
    ends = [
        value + slope * (stop - start)
        for (value, slope), (start, stop) in zip(later[:-1], itertools.pairwise(starts), strict=True)
    ]
    jumps = []
    for stop, end, (_, slope), value in zip(times[1:], ends, later, values[1:], strict=False):
        if not math.isclose(end, value, rel_tol=1e-9, abs_tol=1e-12 * max(map(abs, values))):
            if slope:
                return None
            jumps.append(stop)
    if before != values[0]:
        times, values = [starts[0] - 1.0, *times], [before, *values]
        jumps.insert(0, starts[0])
    if jumps:
        return Sampled(tuple(times), tuple(values), tuple(jumps))
    return Ramps(tuple(times), tuple(values))


def _sine(tree: Tree, constant: ValueOf) -> Stimulus | None:
    """Return offset + amplitude·sin(ω·time + phase)."""
    waves = [node for node in _nodes(tree) if node[0] == "sin"]
    if len(waves) != 1 or len(arguments_of(waves[0])) != 1:
        return None
    (angle,) = arguments_of(waves[0])
    outside = _replaced(tree, waves[0])
    # Outside of the sine the time stands for its value.
    offset, amplitude = _line(outside, constant, 0.0, 1.0)
    phase, omega = _line(angle, constant, 0.0, 1.0)
    if math.isnan(offset + amplitude + phase + omega):
        return None
    if omega == 0 or amplitude == 0:
        return Constant(offset + amplitude * math.sin(phase))
    if omega < 0:
        amplitude, phase, omega = -amplitude, -phase, -omega
    return Sine(amplitude, 2 * math.pi / omega, offset, phase)


def _replaced(tree: Tree, wave: Tree) -> Tree:
    if tree is wave:
        return ["time"]
    if tree[0] == "time":
        # Time outside of the sine: not one of ours.
        return ["unknown"]
    return [_replaced(part, wave) if isinstance(part, list) else part for part in tree]


def _nodes(tree: Tree) -> list[Tree]:
    return [tree, *(node for argument in arguments_of(tree) for node in _nodes(argument))]


def _only(tree: Tree, allowed: frozenset[str]) -> bool:
    return tree[0] in allowed and all(_only(argument, allowed) for argument in arguments_of(tree))
