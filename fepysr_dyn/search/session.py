"""What every deterministic engine needs around its search: budget, reports, and the candidates so far."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.expressions import complexity
from fepysr_dyn.search.evaluation import UnsupportedExpressionError, tree_values
from fepysr_dyn.search.foretelling import foretells
from fepysr_dyn.search.front import Candidate, ParetoFront, evaluate_candidate
from fepysr_dyn.search.operators import uses_only
from fepysr_dyn.search.problem import RegressionProblem, Runtime
from fepysr_dyn.search.rows import balance, column_arrays
from fepysr_dyn.search.writing import MOST_GATHERED, shortest

if TYPE_CHECKING:
    import sympy

#: A residual below this, relative to the target row by row, is rounding and no misfit.
RESOLUTION = 1e-11
#: An expression of at most this complexity that fits to rounding is taken as the answer. Longer ones may be
#: series of something else, so for them the fit must be exact to the last digits or hold beyond its rows.
MAX_EXACT_COMPLEXITY = 26
_LAST_DIGITS = 1e-28
#: A stated error of the target below this, relative to its scale, is a limit of resolution: derivatives of
#: samples without noise have one. Above it a fit to the error may be one of many.
_ALMOST_EXACT = 1e-7
#: So many of the best-fitting candidates are refitted at a time.
_REFINED = 4


class Session:
    """One run of an engine on a problem.

    Parameters
    ----------
    problem : RegressionProblem
        What is searched.
    runtime : Runtime, optional
        Reports, cancellation and deadline from outside.
    engine : str
        Name written into the candidates.
    """

    def __init__(self, problem: RegressionProblem, runtime: Runtime | None, engine: str) -> None:
        self.problem = problem
        self.engine = engine
        outer = runtime or Runtime()
        deadline = min(outer.deadline, time.monotonic() + problem.budget.seconds)
        self.runtime = replace(outer, deadline=deadline)
        self._columns = column_arrays(problem)
        self.notes: list[str] = []
        self._spent = 0
        self._stopped = False
        self._seen: dict[sympy.Expr, Candidate] = {}
        self._refined: set[sympy.Expr] = set()
        self._front: list[tuple[int, float]] = []
        self.exact: Candidate | None = None

    @property
    def best_loss(self) -> float:
        """Smallest loss so far."""
        return min((loss for _, loss in self._front), default=float("inf"))

    @property
    def candidates(self) -> list[Candidate]:
        """Everything that was offered, on the front or not."""
        return list(self._seen.values())

    @property
    def spent(self) -> int:
        """Evaluations counted so far."""
        return self._spent

    @cached_property
    def resolution(self) -> float:
        """Relative residual that is no misfit: rounding, or the stated error of a target almost as good."""
        stated = 1.5 * (self.problem.noise or 0.0) / self.problem.scale
        return max(RESOLUTION, stated) if stated <= _ALMOST_EXACT else RESOLUTION

    def spend(self, evaluations: int) -> None:
        """Count work against the budget."""
        self._spent += evaluations

    def must_stop(self) -> bool:
        """Return whether the user, the clock or the budget ends the search; remembered for the front."""
        if self.runtime.must_stop() or self._spent >= self.problem.budget.evaluations:
            self._stopped = True
        return self._stopped

    def report(self, fraction: float, message: str) -> None:
        """Tell the listener how far the search is."""
        self.runtime.report(self.engine, fraction, message, self.best_loss)

    def would_help(self, size: int, loss: float) -> bool:
        """Return whether a candidate of this complexity and loss would enter the front."""
        if size > self.problem.max_complexity or not np.isfinite(loss):
            return False
        return all(loss < known for nodes, known in self._front if nodes <= size)

    def add(self, expression: sympy.Expr, loss: float) -> None:
        """Keep an allowed expression whose loss is known; the front scores it again with all others."""
        if expression in self._seen:
            return
        size = complexity(expression)
        if size > self.problem.max_complexity and self.would_help(size - MOST_GATHERED, loss):
            expression = shortest(expression)
            size = complexity(expression)
        if not self.would_help(size, loss):
            return
        if uses_only(expression, self.problem.operators):
            self._keep(Candidate(expression, size, loss, self.engine))

    def offer(self, expression: sympy.Expr) -> Candidate | None:
        """Score an expression and keep it if it is allowed."""
        if expression in self._seen:
            return self._seen[expression]
        if not uses_only(expression, self.problem.operators):
            return None
        size = complexity(expression)
        if size > self.problem.max_complexity:
            return None
        self.spend(1)
        candidate = Candidate(expression, size, self._loss(expression), self.engine)
        self._keep(candidate)
        return candidate

    def _loss(self, expression: sympy.Expr) -> float:
        try:
            return self.problem.loss(tree_values(expression, self._columns))
        except UnsupportedExpressionError:
            return evaluate_candidate(expression, self.problem, self.engine).loss

    def best(self, count: int) -> list[Candidate]:
        """Return the candidates of smallest loss, best first."""
        return self._best()[-count:][::-1]

    def _best(self) -> list[Candidate]:
        """Return the candidates no other beats, simplest first."""
        kept: list[Candidate] = []
        for candidate in sorted(self._seen.values(), key=lambda c: (c.complexity, c.loss)):
            if np.isfinite(candidate.loss) and (not kept or candidate.loss < kept[-1].loss):
                kept.append(candidate)
        return kept

    def _keep(self, candidate: Candidate) -> None:
        self._seen[candidate.expression] = candidate
        if np.isfinite(candidate.loss):
            if self.would_help(candidate.complexity, candidate.loss):
                self._front.append((candidate.complexity, candidate.loss))
            self._check_exact(candidate)

    def offer_if_promising(self, expression: sympy.Expr, loss: float) -> None:
        """Refit and offer an expression whose loss on some rows would bring it onto the front."""
        from fepysr_dyn.search.least_squares import offer_refitted

        if self.would_help(complexity(expression), 0.5 * loss):
            offer_refitted(self, expression, max_steps=30)

    def refine_front(self, max_steps: int = 40, most: int = _REFINED) -> None:
        """Refit all constants, inner ones included, of what is on the front and was not refitted before."""
        from fepysr_dyn.search.least_squares import offer_refitted

        for candidate in self._best()[-most:][::-1]:
            if self.must_stop():
                return
            if candidate.expression not in self._refined:
                self._refined.add(candidate.expression)
                offer_refitted(self, candidate.expression, max_steps=max_steps)

    def _check_exact(self, candidate: Candidate) -> None:
        if candidate.loss > self.resolution**2:
            return
        if self.exact is not None and candidate.complexity >= self.exact.complexity:
            return
        if self._fits_every_row(candidate) and self._is_no_series(candidate):
            self.exact = candidate

    def _is_no_series(self, candidate: Candidate) -> bool:
        """Return whether a formula is short, right to the last digits, or right where it was not fitted."""
        return (
            candidate.complexity <= MAX_EXACT_COMPLEXITY
            or candidate.loss <= _LAST_DIGITS
            or foretells(candidate.expression, self.problem, self.resolution)
        )

    def _fits_every_row(self, candidate: Candidate) -> bool:
        """Return whether the small rows are fitted as well: a few large ones decide the loss alone."""
        problem = self.problem
        residual = problem.measure(tree_values(candidate.expression, self._columns)) - problem.target
        factors = balance(problem)
        size = float(np.sqrt(np.mean((problem.target * factors) ** 2)))
        allowed = 1e3 * RESOLUTION * (size or 1.0)
        if self.resolution > RESOLUTION:
            allowed += 3.0 * (problem.noise or 0.0)
        return float(np.sqrt(np.mean((residual * factors) ** 2))) <= allowed

    def front(self) -> ParetoFront:
        """Return the front of everything offered."""
        stopped = "stopped early by its budget" if self._stopped else ""
        message = "; ".join(note for note in (*self.notes, stopped) if note)
        message = f"{self.engine}: {message}" if message else ""
        scored = [evaluate_candidate(shortest(c.expression), self.problem, self.engine) for c in self._best()]
        return ParetoFront.of(scored, complete=not self._stopped, message=message)
