"""Valid features among the best 4 and 10 on the Recover equations: both presets, the paper's own lists."""

from __future__ import annotations

import time
from statistics import mean

import numpy as np

from fepysr_dyn.benchmarks.problems import BenchmarkProblem, load_problems
from fepysr_dyn.benchmarks.stage1 import say
from fepysr_dyn.expressions import parse
from fepysr_dyn.features import extract_features
from fepysr_dyn.features.validity import valid_flags


def report(seeds: list[int]) -> None:
    """Print valid features per equation, means per seed and over all."""
    problems = load_problems("recover")
    say(f"{len(problems)} equations, seeds {seeds}; the same rule of validity for every list")
    say(f"{'problem':<13}{'published':>12}{'paper preset':>15}{'default':>15}   (valid of 4 / of 10)")
    found: dict[str, list[tuple[int, int]]] = {"published": [], "paper": [], "default": []}
    seconds = {"paper": 0.0, "default": 0.0}
    for problem in problems:
        found["published"].append(published_valid(problem))
        for preset in ("paper", "default"):
            start = time.perf_counter()
            found[preset] += [preset_valid(problem, preset, seed) for seed in seeds]
            seconds[preset] += time.perf_counter() - start
        cells = [found["published"][-1:], found["paper"][-len(seeds) :], found["default"][-len(seeds) :]]
        texts = [f"{mean(a for a, _ in cell):.1f} / {mean(b for _, b in cell):.1f}" for cell in cells]
        say(f"{problem.id:<13}{texts[0]:>12}{texts[1]:>15}{texts[2]:>15}")
    for name, pairs in found.items():
        took = f", {seconds[name] / len(pairs):.1f} s a problem" if name in seconds else ""
        first, last = mean(a for a, _ in pairs), mean(b for _, b in pairs)
        say(f"{name:<10} top 4: {first:.3f}   top 10: {last:.3f}{took}")
    for preset in ("paper", "default"):
        for index, seed in enumerate(seeds):
            pairs = found[preset][index :: len(seeds)]
            say(f"{preset} seed {seed}: {mean(a for a, _ in pairs):.3f} / {mean(b for _, b in pairs):.3f}")


def published_valid(problem: BenchmarkProblem) -> tuple[int, int]:
    """Return the valid features among the first 4 and 10 that the paper lists."""
    listed = tuple(parse(text, problem.variables) for text, *_ in problem.paper["features"])
    flags = valid_flags(listed, problem.expression)
    return sum(flags[:4]), sum(flags[:10])


def preset_valid(problem: BenchmarkProblem, preset: str, seed: int) -> tuple[int, int]:
    """Return the valid features among the first 4 and 10 of a preset."""
    columns, target = problem.sample(seed)
    X = np.column_stack([columns[name] for name in problem.variables])
    library = extract_features(X, target, names=problem.variables, preset=preset, seed=seed)
    flags = valid_flags(library.expressions[:10], problem.expression)
    return sum(flags[:4]), sum(flags)
