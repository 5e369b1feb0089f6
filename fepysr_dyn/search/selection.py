"""Choice of one candidate from a front.

A candidate is exact when its residual reaches the numerical resolution of the target, or the target's own
error where the problem states one that is far below the signal. Among exact candidates the shortest
description wins. Otherwise the description length decides: bits for the structure and the constants, plus
bits for the residuals, counted over the number of independent residuals. Where there are too few rows for
that, the knee of the front is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy

from fepysr_dyn.errors import DataError
from fepysr_dyn.expressions import compile_expression, equivalent
from fepysr_dyn.search.foretelling import foretells
from fepysr_dyn.search.front import Candidate, ParetoFront
from fepysr_dyn.search.problem import Array, RegressionProblem
from fepysr_dyn.search.snapping import RESOLUTION, snap, value_bits

#: A stated error below this share of the target's scale is treated as a limit of resolution, not as noise.
_TINY_NOISE = 1e-5
#: Stated errors are themselves estimates.
_NOISE_SLACK = 1.5
#: Candidates whose description is longer by at most this many bits (odds 1:100) are as good as the chosen.
_MARGIN_BITS = 6.6
#: A front is flat if so many more nodes leave at least this share of the loss.
_FLAT_NODES = 8
_FLAT_LOSS = 0.7
#: Noise that nobody has stated is larger than this; what is smaller is the rounding of fitted constants.
_ROUNDING_LOSS = 1e-10
#: A loss at which simple constants may make a formula exact.
_NEARLY_EXACT = 1e-10
#: Candidates this close in bits are snapped before the final comparison.
_CONTENDERS = 12
_CONTENDER_BITS = 120.0
#: Bits per node as a share of those of a free choice of symbols: most trees are not formulas anybody would
#: write, and many are the same formula.
_NODE_SHARE = 0.5


@dataclass(frozen=True)
class Choice:
    """What was chosen from a front, and why.

    Parameters
    ----------
    candidate : Candidate
        The chosen one, with simple constants where the data allow them.
    unsnapped : Candidate
        The same before its constants were simplified.
    alternatives : tuple of Candidate
        Others the data cannot tell from it, best first.
    exact : bool
        Whether it fits to the resolution of the target.
    noise : float
        Standard deviation of the target's error: as stated, or estimated from the residuals.
    reason : str
        One line for the user.
    """

    candidate: Candidate
    unsnapped: Candidate
    alternatives: tuple[Candidate, ...]
    exact: bool
    noise: float
    reason: str


def choose(front: ParetoFront, problem: RegressionProblem, *, simple_constants: bool = True) -> Choice:
    """Choose from a front.

    Examples
    --------
    >>> from fepysr_dyn.expressions import parse
    >>> from fepysr_dyn.search.front import evaluate_candidate
    >>> x = np.linspace(0, 2, 30)
    >>> problem = RegressionProblem({"x": x}, np.sin(x) + 0.5)
    >>> texts = ["0.9", "0.4*x + 0.5", "sin(x) + 0.5", "sin(x) + 0.5 + 1e-17*x"]
    >>> front = ParetoFront.of([evaluate_candidate(parse(text), problem, "example") for text in texts])
    >>> choose(front, problem).candidate.expression
    sin(x) + 1/2
    """
    if not len(front):
        raise DataError("the search found no expression that is finite on the data; try other operators")
    judge = _Judge(front, problem)
    pairs = judge.contenders(front)
    if simple_constants:
        pairs = [(snap(candidate, problem), candidate) for candidate, _ in pairs]
    exact = [pair for pair in pairs if is_exact(pair[0], problem)]
    if exact:
        return judge.shortest(exact, exact=True)
    if judge.rows <= 5:
        return judge.knee(pairs)
    return judge.shortest(pairs, exact=False)


def settled(front: ParetoFront, problem: RegressionProblem) -> Candidate | None:
    """Return the choice if the front is flat beyond it: longer formulas only follow the noise.

    Without noise the loss of a formula that is not the truth keeps falling as formulas grow, until the
    rounding of its own constants stops it: what is that small is no noise, unless noise is stated.
    """
    if problem.noise is None and front.best.loss < _ROUNDING_LOSS:
        return None
    chosen = choose(front, problem, simple_constants=False).candidate
    grown = front.best.complexity >= chosen.complexity + _FLAT_NODES
    return chosen if grown and front.best.loss > _FLAT_LOSS * chosen.loss else None


def is_exact(candidate: Candidate, problem: RegressionProblem) -> bool:
    """Return whether a candidate fits to the target's resolution.

    Besides the loss, rows are compared relative to their own size: in a heavy-tailed target a few large
    values can make any residual elsewhere look small.
    """
    if not np.isfinite(candidate.loss):
        return False
    if problem.noise is not None and problem.noise / problem.scale > RESOLUTION:
        return bool(
            problem.noise / problem.scale <= _TINY_NOISE
            and math.sqrt(candidate.loss) <= _NOISE_SLACK * problem.noise / problem.scale
        )
    if candidate.loss > RESOLUTION**2:
        return False
    difference = np.abs(_residual(candidate, problem))
    size = np.abs(problem.target)
    typical = float(np.median(size))
    # A derivative has an error of its own, which does not shrink where the derivative does.
    stated = 3.0 * (problem.noise or 0.0)
    allowed = RESOLUTION * (size + typical) + _rounding(candidate, problem) + stated
    # A few rows may lie at a pole, where nothing is exact.
    return bool(np.mean(difference <= allowed) >= 0.95)


def _rounding(candidate: Candidate, problem: RegressionProblem) -> Array:
    """Return how much each row moves when the columns move by the resolution: terms may cancel."""
    function = compile_expression(candidate.expression, problem.names)
    columns = [np.asarray(column, dtype=np.float64) for column in problem.columns.values()]
    moved: Array = np.zeros(len(problem.target))
    with np.errstate(all="ignore"):
        here = problem.measure(function(*columns))
        for index in range(len(columns)):
            shifted = [c * (1 + RESOLUTION / 10) if i == index else c for i, c in enumerate(columns)]
            moved = np.maximum(moved, np.abs(problem.measure(function(*shifted)) - here))
    return np.where(np.isfinite(moved), moved, 0.0)


def surely_exact(candidate: Candidate, problem: RegressionProblem) -> bool:
    """Return whether an exact candidate is too short to be a series that happens to reach the resolution.

    What counts are the bits of the formula against those of the data it explains. With many constants it must
    also hold where they were not fitted.
    """
    if not is_exact(candidate, problem):
        return False
    rows = len(problem.target)
    explained = rows * -math.log2(_floor(problem))
    formula = description_bits(candidate, problem)
    if formula >= 0.25 * explained:
        return False
    long_constants = sum(1 for value in candidate.constants if value_bits(sympy.Float(value)) > 40)
    return (
        long_constants <= 2
        or candidate.complexity <= 15
        or foretells(candidate.expression, problem, _floor(problem))
    )


def description_bits(candidate: Candidate, problem: RegressionProblem) -> float:
    """Return the bits of a formula: its nodes and its constants, each to the precision the fit gives it."""
    symbols = len(problem.operators) + len(problem.names) + 1
    node_bits = _NODE_SHARE * math.log2(symbols)
    rows = len(problem.target)
    precision = 3.0 + 0.5 * math.log2(rows) - 0.5 * math.log2(max(candidate.loss, _floor(problem) ** 2))
    numbers = [node for node in sympy.preorder_traversal(candidate.expression) if node.is_Number]
    constants = sum(
        min(value_bits(number), max(precision, 3.0)) if number.is_Float else value_bits(number)
        for number in numbers
        if number != -1
    )
    return candidate.complexity * node_bits + constants


class _Judge:
    """The description length of every candidate of one front."""

    def __init__(self, front: ParetoFront, problem: RegressionProblem) -> None:
        self.problem = problem
        self.floor = _floor(problem) ** 2
        self.rows = _independent_rows(_residual(front.best, problem))
        # A stated error is that of the target alone; where columns err as well, no formula reaches it.
        is_noise = self.floor > _TINY_NOISE**2
        self.error = max(self.floor, front.best.loss) if is_noise else self.floor

    def bits(self, candidate: Candidate) -> float:
        """Return the bits of formula and residuals together."""
        if self.problem.noise is not None and self.problem.noise / self.problem.scale > RESOLUTION:
            # With a known error the fit is judged by chi-squared, and going below the error is no gain.
            residual = self.rows / 2 * (max(candidate.loss, self.floor) / self.error) / math.log(2)
        else:
            spent = len(candidate.constants)
            correction = self.rows / max(self.rows - spent, 1)
            residual = self.rows / 2 * math.log2(max(candidate.loss, self.floor) * correction)
        return description_bits(candidate, self.problem) + residual

    def contenders(self, front: ParetoFront) -> list[tuple[Candidate, Candidate]]:
        """Return the candidates worth a closer look, each with itself."""
        ranked = sorted(front, key=lambda c: (self.bits(c), c.complexity))
        limit = self.bits(ranked[0]) + _CONTENDER_BITS
        near = [c for c in ranked if self.bits(c) <= limit or is_exact(c, self.problem)]
        kept = near[:_CONTENDERS]
        return [(candidate, candidate) for candidate in kept]

    def shortest(self, pairs: Sequence[tuple[Candidate, Candidate]], *, exact: bool) -> Choice:
        """Choose by description length; of exact candidates only the formula counts."""
        measure = (lambda c: description_bits(c, self.problem)) if exact else self.bits
        ranked = sorted(pairs, key=lambda pair: (measure(pair[0]), pair[0].complexity))
        best, unsnapped = ranked[0]
        if exact:
            box = wider_box(self.problem)
            others = [
                pair[0]
                for pair in ranked[1:]
                # Another way to write the same function is no alternative.
                if not equivalent(pair[0].expression, best.expression, box, rtol=1e-9)
            ]
        else:
            others = [pair[0] for pair in ranked[1:] if measure(pair[0]) <= measure(best) + _MARGIN_BITS]
        others = [other for other in _distinct(others) if other.expression != best.expression]
        level = math.sqrt(best.loss)
        how = "fits to the resolution of the target" if exact else "shortest description of the data"
        reason = f"{how}; relative error {level:.2g}, {len(others)} alternative(s) within the margin"
        return Choice(best, unsnapped, tuple(others), exact, self._noise(best), reason)

    def knee(self, pairs: Sequence[tuple[Candidate, Candidate]]) -> Choice:
        """Choose the steepest drop of the logarithmic loss: the fallback for very few rows."""
        ordered = sorted(pairs, key=lambda pair: pair[0].complexity)
        losses = [math.log(max(pair[0].loss, self.floor)) for pair in ordered]
        sizes = [pair[0].complexity for pair in ordered]
        slopes = [0.0] + [
            (losses[i - 1] - losses[i]) / max(sizes[i] - sizes[i - 1], 1) for i in range(1, len(ordered))
        ]
        index = int(np.argmax(slopes))
        best, unsnapped = ordered[index]
        others = tuple(_distinct([pair[0] for i, pair in enumerate(ordered) if i != index]))
        reason = "knee of the front: too few independent rows for a description length"
        return Choice(best, unsnapped, others, False, self._noise(best), reason)

    def _noise(self, best: Candidate) -> float:
        if self.problem.noise is not None:
            return self.problem.noise
        rows = len(self.problem.target)
        return self.problem.scale * math.sqrt(best.loss * rows / max(rows - len(best.constants), 1))


def with_snapped(front: ParetoFront, problem: RegressionProblem, *, most: int = 6) -> ParetoFront:
    """Return a front to which the almost exact contenders have been added with simple constants.

    Where there is noise, constants are simplified when the choice is made, not during the search.
    """
    if not len(front) or front.best.loss > max(_NEARLY_EXACT, _floor(problem) ** 2 * 100):
        return front
    judge = _Judge(front, problem)
    near = [pair[0] for pair in judge.contenders(front)[:most]]
    snapped = [snap(candidate, problem) for candidate in near]
    merged = ParetoFront.of([*front, *snapped])
    return replace(front, candidates=merged.candidates)


def _floor(problem: RegressionProblem) -> float:
    """Relative error below which a better fit means nothing."""
    stated = 0.0 if problem.noise is None else problem.noise / problem.scale
    return max(RESOLUTION, stated)


def _residual(candidate: Candidate, problem: RegressionProblem) -> Array:
    function = compile_expression(candidate.expression, problem.names)
    with np.errstate(all="ignore"):
        measured = problem.measure(function(*(problem.columns[name] for name in problem.names)))
    residual: Array = measured - problem.target
    if problem.weights is not None:
        residual = residual * np.sqrt(problem.weights / np.mean(problem.weights))
    return residual


def _independent_rows(residual: Array) -> float:
    """Return the effective number of rows: errors of smoothed derivatives are correlated along time."""
    rows = len(residual)
    centred = residual - np.mean(residual)
    power = float(centred @ centred)
    if rows < 20 or power == 0.0 or not np.isfinite(power):
        return float(rows)
    total = 1.0
    for lag in range(1, rows // 4):
        correlation = float(centred[:-lag] @ centred[lag:]) / power
        # What a white residual shows by chance does not count.
        if correlation < 2.0 / math.sqrt(rows):
            break
        total += 2 * correlation
    return max(rows / total, min(rows, 20.0))


def wider_box(problem: RegressionProblem) -> dict[str, tuple[float, float]]:
    """Return ranges a quarter wider than the data, where formulas that agree on the data may differ."""
    box = {}
    for name, values in problem.columns.items():
        low, high = float(np.min(values)), float(np.max(values))
        box[name] = (low - 0.25 * (high - low), high + 0.25 * (high - low))
    return box


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    seen: dict[sympy.Expr, Candidate] = {}
    for candidate in candidates:
        seen.setdefault(candidate.expression, candidate)
    return list(seen.values())
