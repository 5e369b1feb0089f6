"""EFR, DCG-1 and DCG-2 of the default preset under noise on the target, in the form of the paper's tables."""

from __future__ import annotations

import math
from statistics import mean

import numpy as np
import sympy

from fepysr_dyn.benchmarks.problems import BenchmarkProblem, load_problems
from fepysr_dyn.benchmarks.stage1 import say
from fepysr_dyn.features import extract_features
from fepysr_dyn.features.extraction import primitive
from fepysr_dyn.features.metrics import RankingScores, score_ranking
from fepysr_dyn.features.validity import valid_flags

ALPHAS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.2)
Outcome = tuple[RankingScores, set[sympy.Expr]]


def report(seeds: list[int]) -> None:
    """Print one table per metric, and what is left of the noise-free valid features."""
    problems = load_problems("sensitivity")
    found: dict[tuple[str, float], list[Outcome]] = {}
    for problem in problems:
        for alpha in ALPHAS:
            found[problem.id, alpha] = [outcome(problem, alpha, seed) for seed in seeds]
        valid = " ".join(f"{mean(s.valid for s, _ in found[problem.id, alpha]):6.2f}" for alpha in ALPHAS)
        say(f"{problem.id:<12} valid of 10: {valid}")
    head = " ".join(f"{alpha:>9}" for alpha in ALPHAS)
    for metric in ("efr", "dcg1", "dcg2", "valid"):
        say(f"\n{metric:<12} {head}")
        for problem in problems:
            cells = [mean(getattr(s, metric) for s, _ in found[problem.id, alpha]) for alpha in ALPHAS]
            say(f"{problem.id:<12} " + " ".join(f"{cell:9.4g}" for cell in cells))
    say(f"\n{'of noise-free':<14} {head}")
    for name, share in (("valid count", _count_share), ("same features", _kept_share)):
        say(f"{name:<14} " + " ".join(f"{share(found, problems, alpha):9.3f}" for alpha in ALPHAS))


def outcome(problem: BenchmarkProblem, alpha: float, seed: int) -> Outcome:
    """Return the scores of the best 10 under noise, and the valid ones among them."""
    columns, target = problem.sample(seed)
    X = np.column_stack([columns[name] for name in problem.variables])
    noise = np.random.default_rng([seed, 7]).normal(size=len(target))
    noisy = target + alpha * math.sqrt(float(np.mean(target**2))) * noise
    library = extract_features(X, noisy, names=problem.variables, seed=seed)
    best = library.expressions[:10]
    flags = valid_flags(best, problem.expression)
    # Natural logarithm and all unit outputs: the definitions that reproduce the paper's tables.
    scores = score_ranking(library.counts[:10], flags, unit_outputs=library.report.unit_outputs, base=math.e)
    return scores, {primitive(feature) for feature, good in zip(best, flags, strict=True) if good}


def _count_share(
    found: dict[tuple[str, float], list[Outcome]], problems: list[BenchmarkProblem], alpha: float
) -> float:
    counts = [sum(s.valid for p in problems for s, _ in found[p.id, level]) for level in (alpha, 0.0)]
    return counts[0] / counts[1]


def _kept_share(
    found: dict[tuple[str, float], list[Outcome]], problems: list[BenchmarkProblem], alpha: float
) -> float:
    pairs = [
        (noisy, clean)
        for p in problems
        for (_, noisy), (_, clean) in zip(found[p.id, alpha], found[p.id, 0.0], strict=True)
    ]
    return sum(len(noisy & clean) for noisy, clean in pairs) / sum(len(clean) for _, clean in pairs)
