"""Recovery tables: problem × seed, one JSON line each, resumable.

``python -m fepysr_dyn.benchmarks.recovery --suite recover --runs 3 --cap 60 --workers 2 --out recover.jsonl``

A line that is already in the file is not computed again, so a long table can be filled in several sittings.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from fepysr_dyn.benchmarks.problems import BenchmarkProblem, load_problems
from fepysr_dyn.benchmarks.tables import print_tables
from fepysr_dyn.expressions import equivalent, same_structure, to_text

#: Relative difference up to which two functions are equal: a series may follow the truth to five digits.
_RECOVERED = 1e-7


@dataclass(frozen=True)
class Job:
    """One fit: what decides its answer, and so the key of its line."""

    problem: str
    seed: int
    engine: str
    features: bool
    noise: float
    cap: float


def run_job(job: Job, threads: int = 1) -> dict[str, Any]:
    """Fit one problem and decide whether the truth was recovered."""
    from fepysr_dyn.regressor import FePySR

    (problem,) = load_problems(job.problem)
    columns, clean = problem.sample(job.seed)
    target = clean
    if job.noise:
        random = np.random.default_rng([job.seed, 1])
        target = clean + job.noise * np.sqrt(np.mean(clean**2)) * random.normal(size=len(clean))
    model = FePySR(
        engine=job.engine,
        features="fmn" if job.features else None,
        time_limit=job.cap,
        seed=job.seed,
        workers=threads,
    )
    import pandas as pd

    started, worked = time.monotonic(), time.process_time()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(pd.DataFrame(columns), target)
    seconds, cpu = time.monotonic() - started, time.process_time() - worked
    prediction = model.predict(pd.DataFrame(columns))
    return {
        **asdict(job),
        "recovered": recovered(model.expression_, problem, noisy=job.noise > 0),
        "expression": to_text(model.expression_),
        "complexity": model.choice_.candidate.complexity,
        "loss": model.choice_.candidate.loss,
        "mse": float(np.mean((prediction - clean) ** 2)),
        "front_mse": model.front_.best.loss * float(np.var(target)),
        "exact": model.choice_.exact,
        "found_by": model.choice_.candidate.engine,
        "interrupted": model.interrupted_,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "on_front": on_front(model, problem, noisy=job.noise > 0),
    }


def recovered(found: sympy.Expr, problem: BenchmarkProblem, *, noisy: bool = False) -> bool:
    """Decide recovery: equal as a function on a box wider than the data; with noise, equal in structure."""
    if not problem.expressible:
        return False
    if equivalent(found, problem.expression, problem.box, rtol=_RECOVERED):
        return True
    return noisy and same_structure(_all_floats(found), problem.expression, problem.box)


def on_front(model: Any, problem: BenchmarkProblem, *, noisy: bool) -> bool:
    """Return whether the truth is anywhere on the front: then the search found it, whatever was chosen."""
    return any(recovered(candidate.expression, problem, noisy=noisy) for candidate in model.front_)


def _all_floats(expression: sympy.Expr) -> sympy.Expr:
    """Make every number but signs and exponents a float: with noise, simple values are estimates as well."""
    if expression.is_Rational and abs(expression) != 1:
        return sympy.Float(float(expression))
    if not expression.args:
        return expression
    if expression.is_Pow:
        return expression.func(_all_floats(expression.base), expression.exp)
    return expression.func(*(_all_floats(argument) for argument in expression.args))


def read_lines(path: Path | None) -> list[dict[str, Any]]:
    """Return the finished lines of a file; a line cut off by a crash is ignored."""
    if path is None or not path.exists():
        return []
    lines = []
    for text in path.read_text(encoding="utf-8").splitlines():
        try:
            lines.append(json.loads(text))
        except ValueError:
            continue
    return lines


def pending(jobs: Sequence[Job], lines: Sequence[dict[str, Any]]) -> list[Job]:
    """Return the jobs that have no line yet."""
    keys = {json.dumps([line.get(name) for name in Job.__dataclass_fields__]) for line in lines}
    return [job for job in jobs if json.dumps(list(asdict(job).values())) not in keys]


def run_jobs(jobs: Sequence[Job], workers: int, threads: int) -> Iterator[dict[str, Any]]:
    """Yield lines as they are done, from fresh processes where there are several workers."""
    if workers == 1:
        for job in jobs:
            yield _guarded(job, threads)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_one_thread) as pool:
        for future in as_completed([pool.submit(_guarded, job, threads) for job in jobs]):
            yield future.result()


def _guarded(job: Job, threads: int) -> dict[str, Any]:
    """Run a job; a crash is a line of its own and does not end the table."""
    try:
        return run_job(job, threads)
    except Exception as error:
        return {
            **asdict(job),
            "recovered": False,
            "error": f"{type(error).__name__}: {error}",
            "seconds": 0.0,
        }


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m fepysr_dyn.benchmarks.recovery", description=__doc__)
    parser.add_argument("--suite", default="recover", help="suite or problem, several with commas")
    parser.add_argument("--runs", type=int, default=1, help="seeds per problem")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--cap", type=float, default=60.0, help="seconds per fit")
    parser.add_argument("--workers", type=int, default=1, help="fits at a time")
    parser.add_argument("--threads", type=int, default=1, help="workers of one fit")
    parser.add_argument("--engine", default="portfolio", help="engine, several with commas")
    parser.add_argument("--no-features", action="store_true", help="leave stage 1 out")
    parser.add_argument("--ablation", action="store_true", help="with and without stage 1")
    parser.add_argument("--noise", type=float, default=0.0, help="α times the RMS of the target")
    parser.add_argument(
        "--cpu-time", action="store_true", help="the cap counts CPU seconds: for a busy machine"
    )
    parser.add_argument("--out", type=Path, help="JSON lines; read first, then appended to")
    options = parser.parse_args(arguments)
    if options.cpu_time:
        if options.workers > 1 or options.threads > 1:
            parser.error("--cpu-time needs one worker and one thread")
        time.monotonic = time.process_time
    problems = [problem for suite in options.suite.split(",") for problem in load_problems(suite)]
    stages = (True, False) if options.ablation else (not options.no_features,)
    seeds = range(options.first_seed, options.first_seed + options.runs)
    jobs = [
        Job(problem.id, seed, engine, features, options.noise, options.cap)
        for engine in options.engine.split(",")
        for features in stages
        for problem in problems
        for seed in seeds
    ]
    lines = read_lines(options.out)
    for line in run_jobs(pending(jobs, lines), options.workers, options.threads):
        lines.append(line)
        if options.out is not None:
            with options.out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")
        mark = "✓" if line["recovered"] else "·"
        text = line.get("expression", line.get("error", ""))
        sys.stderr.write(f"{mark} {line['problem']} {line['seed']} {line['seconds']:.1f} s  {text[:90]}\n")
        sys.stderr.flush()
    asked = {json.dumps(list(asdict(job).values())) for job in jobs}
    own = [line for line in lines if json.dumps([line[name] for name in Job.__dataclass_fields__]) in asked]
    print_tables(own)
    return 0


if __name__ == "__main__":
    sys.exit(main())
