"""How many of the first features of stage 1 are valid: both presets, and the lists the paper prints."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.benchmarks.problems import BenchmarkProblem, load_problems
from fepysr_dyn.expressions import parse

if TYPE_CHECKING:
    from fepysr_dyn.benchmarks.units import Line, Unit

TASK = "fepysr_dyn.benchmarks.stage1_quality:quality_unit"
#: The list the paper prints, judged by the same rule of validity.
PUBLISHED = "published"
PRESETS_MEASURED = ("paper", "default")
#: The case study, whose first rate is a function of this difference.
TYSON = "tyson-X1"
_WANTED = ("S - X2", "exp(S - X2)", "exp(X2 - S)")
_OPERATORS = ("square", "sin", "cos", "exp", "add", "sub", "mul")


def quality_unit(unit: Unit) -> Line:
    """Return the number of valid features among the first 4 and 10, or the rank of the one that matters."""
    (problem,) = load_problems(unit.problem)
    start = time.perf_counter()
    if unit.problem == TYSON:
        result = difference_rank(problem, unit.seed)
    else:
        four, ten = (
            published_valid(problem)
            if unit.setting["preset"] == PUBLISHED
            else preset_valid(problem, unit.setting["preset"], unit.seed)
        )
        result = {"valid4": four, "valid10": ten}
    return {**result, "seconds": round(time.perf_counter() - start, 3)}


def published_valid(problem: BenchmarkProblem) -> tuple[int, int]:
    """Return the valid features among the first 4 and 10 that the paper lists."""
    from fepysr_dyn.features.validity import valid_flags

    listed = tuple(parse(text, problem.variables) for text, *_ in problem.paper["features"])
    flags = valid_flags(listed, problem.expression)
    return sum(flags[:4]), sum(flags[:10])


def preset_valid(problem: BenchmarkProblem, preset: str, seed: int) -> tuple[int, int]:
    """Return the valid features among the first 4 and 10 of a preset."""
    from fepysr_dyn.features import extract_features
    from fepysr_dyn.features.validity import valid_flags

    columns, target = problem.sample(seed)
    X = np.column_stack([columns[name] for name in problem.variables])
    library = extract_features(X, target, names=problem.variables, preset=preset, seed=seed)
    flags = valid_flags(library.expressions[:10], problem.expression)
    return sum(flags[:4]), sum(flags)


def difference_rank(problem: BenchmarkProblem, seed: int) -> Line:
    """Return the rank of S − X2 or its exponential among the first ten features, None if it is not there."""
    from fepysr_dyn.features import PRESETS, extract_features
    from fepysr_dyn.features.extraction import primitive

    columns, target = problem.sample(seed)
    X = np.column_stack([columns[name] for name in problem.variables])
    config = replace(PRESETS["default"], operators=_OPERATORS)
    library = extract_features(X, target, names=problem.variables, config=config, seed=seed)
    wanted = {primitive(parse(text)) for text in _WANTED}
    ranks = [rank for rank, feature in enumerate(library.expressions[:10], 1) if feature in wanted]
    return {"rank": ranks[0] if ranks else None, "names": list(library.names[:10])}
