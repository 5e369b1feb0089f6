"""The coordinator: islands advance in epochs and exchange individuals in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.errors import ExpressionError
from fepysr_dyn.expressions import complexity
from fepysr_dyn.search.evolution.config import EvolutionConfig
from fepysr_dyn.search.front import Candidate, ParetoFront, evaluate_candidate
from fepysr_dyn.search.problem import RegressionProblem, Runtime

if TYPE_CHECKING:
    import sympy

    from fepysr_dyn.search.evolution.archive import Island
    from fepysr_dyn.search.evolution.inputs import Task

#: Evaluations between two looks at the clock, for 500 rows.
_CHUNK = 2_000
#: Seconds between two looks at whether the user cancelled while others work.
_PATIENCE = 0.2
#: A stated error below this share of the target's scale limits the resolution; a larger one is noise, and a
#: formula that reaches it may just be long.
_TINY_NOISE = 1e-5
#: Stated errors are themselves estimates.
_NOISE_SLACK = 1.5


@dataclass(frozen=True)
class EvolutionEngine:
    """Genetic search over expression trees.

    Parameters
    ----------
    config : EvolutionConfig
        How the population is kept and changed.
    seeds : sequence of sympy expressions
        Formulas from elsewhere that the first population contains; those that need an operator that is
        not allowed are left out.

    Examples
    --------
    >>> EvolutionEngine(EvolutionConfig(islands=2)).name
    'evolution'
    """

    config: EvolutionConfig = field(default_factory=EvolutionConfig)
    seeds: Sequence[sympy.Expr] = ()

    @property
    def name(self) -> str:
        """Short name shown in fronts and reports."""
        return "evolution"

    def search(self, problem: RegressionProblem, runtime: Runtime | None = None) -> ParetoFront:
        """Return the best expressions found, each with constants refitted in float64."""
        runtime = runtime or Runtime()
        deadline = min(runtime.deadline, time.monotonic() + problem.budget.seconds)
        return _Search(self, problem, replace(runtime, deadline=deadline)).run()


@dataclass
class _Search:
    """One search: the state between epochs."""

    engine: EvolutionEngine
    problem: RegressionProblem
    runtime: Runtime

    def __post_init__(self) -> None:
        """Prepare data and islands."""
        from fepysr_dyn.search.evolution.archive import make_island
        from fepysr_dyn.search.evolution.inputs import make_task

        config = self.engine.config
        self.task: Task = make_task(self.problem, config)
        sources = np.random.SeedSequence(self.problem.seed).spawn(config.islands + 1)
        self.random = np.random.default_rng(sources[-1])
        self.islands: list[Island] = [
            make_island(
                config.population,
                self.problem.max_complexity,
                self.task.nodes,
                int(source.generate_state(1, np.uint64)[0]),
                (i, config.islands),
            )
            for i, source in enumerate(sources[:-1])
        ]
        self.resolution = _resolution(self.problem, config)
        self.settings = np.array(
            [
                config.tournament,
                config.archive_share,
                config.parsimony,
                self.resolution,
                config.skeleton_share,
                config.pair_share,
                self._frames(),
            ]
        )
        self.spent = 0.0

    def _frames(self) -> float:
        """Return how many frames of whole formulas are tried first: for a quarter of the budget at most."""
        from fepysr_dyn.search.evolution.lookup import lookup_cost, pair_cost
        from fepysr_dyn.search.evolution.proposing import WISHES

        if len(self.task.library.lengths) == 0:
            return 0.0
        rows = self.task.search.X.shape[1]
        cost = lookup_cost(self.task.library, rows) + pair_cost(self.task.library, rows)
        return min(float(WISHES), 0.25 * self.problem.budget.evaluations / cost)

    def run(self) -> ParetoFront:
        """Evolve until the budget is used, the answer is exact, or someone asks to stop."""
        self._plant()
        budget = float(self.problem.budget.evaluations)
        reason = "evaluation budget used"
        with ExitStack() as stack:
            executor = self._executor(stack)
            while self.spent < budget:
                if self.runtime.must_stop():
                    break
                share = min(float(self.engine.config.epoch), (budget - self.spent) / len(self.islands))
                self._advance(executor, max(share, 1.0))
                best = min(float(island.losses.min()) for island in self.islands)
                self.runtime.report("evolution", min(self.spent / budget, 1.0), "evolving", best)
                if best < self.resolution:
                    reason = "exact at numerical resolution"
                    break
                self._migrate()
        stopped = self.spent < budget and reason.startswith("evaluation")
        if stopped:
            reason = "stopped by the time limit or by the user"
        return ParetoFront.of(self._candidates(), complete=not stopped, message=f"evolution: {reason}")

    def _executor(self, stack: ExitStack) -> Executor | None:
        if self.runtime.executor is not None:
            return self.runtime.executor
        if self.runtime.workers > 1:
            return stack.enter_context(ThreadPoolExecutor(self.runtime.workers))
        return None

    def _advance(self, executor: Executor | None, share: float) -> None:
        """Advance all islands by one epoch, wherever there are workers."""
        # Another process or machine has a clock of its own, and cannot be asked whether the user cancelled.
        left = self.runtime.deadline - time.monotonic()
        own = executor is None or executor is not self.runtime.executor
        arguments = (self.task, self.settings, share, left, self.runtime.must_stop if own else None)
        if executor is None:
            results = [advance_island(island, *arguments) for island in self.islands]
        else:
            futures = [executor.submit(advance_island, island, *arguments) for island in self.islands]
            if not self._finished(futures):
                return
            results = [future.result() for future in futures]
        self.islands = [island for island, _ in results]
        self.spent += sum(spent for _, spent in results)

    def _finished(self, futures: Sequence[Future[tuple[Island, float]]]) -> bool:
        """Wait for an epoch; one that the user cancels is given up, and the islands stay as they were."""
        while wait(futures, timeout=_PATIENCE).not_done:
            if self.runtime.cancelled is not None and self.runtime.cancelled.is_set():
                for future in futures:
                    future.cancel()
                return False
        return True

    def _plant(self) -> None:
        """Put the seeds and whole polynomials into every island."""
        from fepysr_dyn.search.evolution.encoding import encode
        from fepysr_dyn.search.evolution.planting import plant, polynomials

        programs = []
        for seed in (*self.engine.seeds, *polynomials(self.problem.names)):
            try:
                programs.append(encode(seed, self.task.inputs, self.problem.operators))
            except ExpressionError:
                continue
        if programs:
            for island in self.islands:
                plant(island, programs, self.task, self.resolution)

    def _migrate(self) -> None:
        """Give a few individuals of each archive to the next island."""
        from fepysr_dyn.search.evolution.archive import archive, oldest, store

        count = len(self.islands)
        if count == 1:
            return
        for i, source in enumerate(self.islands):
            target = self.islands[(i + 1) % count]
            occupied = source.occupied[: source.filled[0]]
            if not len(occupied):
                continue
            ranked = occupied[np.argsort(source.losses[occupied], kind="stable")]
            best = ranked[: max(1, len(ranked) // 10)]
            chosen = self.random.choice(best, size=min(3, len(best)), replace=False)
            for place in chosen:
                program = (source.codes[place], source.values[place])
                length, loss = int(source.lengths[place]), float(source.losses[place])
                cost = int(source.costs[place])
                store(target, oldest(target), program, length, loss, cost)
                niche = int(place - source.population) % _niches()
                archive(target, program, length, loss, cost, niche)

    def _candidates(self) -> list[Candidate]:
        """Refit the best of every complexity on all rows and write them as formulas."""
        from fepysr_dyn.search.evolution.encoding import Program
        from fepysr_dyn.search.evolution.finish import Finisher, tidied

        finisher = Finisher(
            self.task.full, self.task.rules, self.task.inputs, self.task.nodes, self.resolution
        )
        best: dict[int, tuple[float, Program]] = {}
        for island in self.islands:
            for place in island.occupied[: island.filled[0]]:
                cost, loss = int(island.costs[place]), float(island.losses[place])
                if cost not in best or loss < best[cost][0]:
                    length = int(island.lengths[place])
                    codes, values = island.codes[place, :length], island.values[place, :length]
                    best[cost] = (loss, Program(codes.copy(), values.copy()))
        found: list[Candidate] = []
        lowest = np.inf
        for cost in sorted(best):
            loss, program = best[cost]
            if not loss < lowest:
                continue
            lowest = loss
            program, loss = finisher.refit(program)
            if loss < self.resolution:
                program, loss = finisher.prune(program, loss)
            expressions = list(finisher.expressions(program))
            if loss < self.resolution:
                expressions += [tidied(expression) for expression in expressions]
            for expression in expressions:
                if complexity(expression) <= self.problem.max_complexity:
                    found.append(evaluate_candidate(expression, self.problem, "evolution"))
        return found


def _resolution(problem: RegressionProblem, config: EvolutionConfig) -> float:
    """Return the loss at which a formula is exact: at float64's resolution, or at the target's own."""
    stated = (problem.noise or 0.0) / problem.scale
    return (
        max(config.resolution, (_NOISE_SLACK * stated) ** 2) if stated <= _TINY_NOISE else config.resolution
    )


def _niches() -> int:
    from fepysr_dyn.search.evolution.archive import NICHES

    return NICHES


def advance_island(
    island: Island,
    task: Task,
    settings: np.ndarray[tuple[int], np.dtype[np.float64]],
    share: float,
    seconds: float,
    stop: Callable[[], bool] | None,
) -> tuple[Island, float]:
    """Advance one island by a number of evaluations; a pure function but for the time limit."""
    from fepysr_dyn.search.evolution.compiled import compile_kernels
    from fepysr_dyn.search.evolution.evolve import evolve
    from fepysr_dyn.search.evolution.workspace import make_workspace

    deadline = time.monotonic() + seconds
    work = make_workspace(task.search, task.nodes)
    kernels = compile_kernels(island, task, work)
    work_per_row = 1.0 + task.search.measurement.shape[0] / 50.0
    chunk = max(5.0, _CHUNK * 500.0 / max(task.search.X.shape[1] * work_per_row, 50))
    spent = 0.0
    while spent < share:
        if time.monotonic() > deadline or (stop is not None and stop()):
            break
        spent += evolve(
            kernels, island, task.search, work, task.rules, task.library, settings, min(chunk, share - spent)
        )
        if island.losses.min() < settings[3]:
            break
    return island, spent
