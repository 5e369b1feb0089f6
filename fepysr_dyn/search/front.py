"""Candidates and the Pareto front of loss against complexity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import sympy

from fepysr_dyn.expressions import compile_expression, complexity, to_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from fepysr_dyn.search.problem import RegressionProblem


@dataclass(frozen=True)
class Candidate:
    """One formula for the target.

    Parameters
    ----------
    expression : sympy expression
        In the user's variables; features are expanded.
    complexity : int
        Number of nodes of the expression tree.
    loss : float
        Weighted mean squared error relative to the target's variance.
    engine : str
        Who found it.
    """

    expression: sympy.Expr
    complexity: int
    loss: float
    engine: str

    @property
    def constants(self) -> tuple[float, ...]:
        """The non-integer numbers of the expression, in order of appearance."""
        import sympy

        atoms = [node for node in sympy.preorder_traversal(self.expression) if node.is_Float]
        return tuple(float(atom) for atom in atoms)


@dataclass(frozen=True)
class ParetoFront:
    """The candidates no other beats in both loss and complexity, simplest first.

    Parameters
    ----------
    candidates : tuple of Candidate
        Strictly increasing in complexity, strictly decreasing in loss.
    complete : bool
        False if a time limit or a cancellation cut the search short.
    message : str
        Why the search stopped.
    """

    candidates: tuple[Candidate, ...]
    complete: bool = True
    message: str = ""

    @classmethod
    def of(cls, candidates: Iterable[Candidate], *, complete: bool = True, message: str = "") -> ParetoFront:
        """Keep the non-dominated among any candidates."""
        kept: list[Candidate] = []
        for candidate in sorted(candidates, key=lambda c: (c.complexity, c.loss, to_text(c.expression))):
            if np.isfinite(candidate.loss) and (not kept or candidate.loss < kept[-1].loss):
                kept.append(candidate)
        return cls(tuple(kept), complete, message)

    def merge(self, *others: ParetoFront) -> ParetoFront:
        """Return the front of all candidates of all fronts."""
        fronts = (self, *others)
        return ParetoFront.of(
            (candidate for front in fronts for candidate in front),
            complete=all(front.complete for front in fronts),
            message="; ".join(front.message for front in fronts if front.message),
        )

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    @property
    def best(self) -> Candidate:
        """The candidate with the smallest loss."""
        return self.candidates[-1]

    def limited(self, max_complexity: int) -> ParetoFront:
        """Return the front without candidates above a complexity."""
        return replace(self, candidates=tuple(c for c in self if c.complexity <= max_complexity))

    def to_pandas(self) -> pd.DataFrame:
        """Return a table with one row per candidate."""
        import pandas as pd

        return pd.DataFrame(
            {
                "complexity": [c.complexity for c in self],
                "loss": [c.loss for c in self],
                "expression": [to_text(c.expression) for c in self],
                "engine": [c.engine for c in self],
            }
        )

    def plot(self) -> Figure:
        """Draw loss over complexity."""
        from fepysr_dyn.report.display import plot_front

        return plot_front(self)

    def _repr_html_(self) -> str:
        from fepysr_dyn.report.display import front_html

        return front_html(self)

    def _repr_latex_(self) -> str:
        from fepysr_dyn.report.display import front_latex

        return front_latex(self)


#: What sympy writes for a division by zero or a root of a negative number; it cannot be compiled.
_NO_NUMBERS = (sympy.zoo, sympy.nan, sympy.oo, -sympy.oo, sympy.I)


def evaluate_candidate(expression: sympy.Expr, problem: RegressionProblem, engine: str) -> Candidate:
    """Score an expression on a problem the same way for every engine."""
    expression = _of_real_variables(expression)
    if expression.has(*_NO_NUMBERS):
        return Candidate(expression, complexity(expression), float("inf"), engine)
    function = compile_expression(expression, problem.names)
    with np.errstate(all="ignore"):
        prediction = function(*(problem.columns[name] for name in problem.names))
    return Candidate(expression, complexity(expression), problem.loss(prediction), engine)


def _of_real_variables(expression: sympy.Expr) -> sympy.Expr:
    """Undo what sympy does for complex symbols: it makes exp(re(x)) of the absolute value of exp(x)."""
    if not expression.has(sympy.re, sympy.im):
        return expression
    return expression.replace(sympy.re, lambda inner: inner).replace(sympy.im, lambda inner: sympy.Integer(0))
