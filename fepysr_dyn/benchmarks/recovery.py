"""One fit of a benchmark equation, and whether it recovered the truth."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from fepysr_dyn.benchmarks.problems import BenchmarkProblem, load_problems
from fepysr_dyn.benchmarks.units import Line, Unit
from fepysr_dyn.expressions import parse, same_structure, to_text
from fepysr_dyn.structure import equal_beyond

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fepysr_dyn.regressor import FePySR
    from fepysr_dyn.search.problem import Progress

    Array = NDArray[np.float64]

TASK = "fepysr_dyn.benchmarks.recovery:fit_unit"
#: More than fits into any cap: the cap decides, as it does in the paper's tables and the peers'.
_EVALUATIONS = 20_000_000
#: Targets are exact, so a formula that differs in the eighth digit is an approximation, however long it took.
_EQUAL = 1e-9


def fit_unit(unit: Unit) -> Line:
    """Fit one problem and decide whether the truth was recovered.

    The setting has ``engine``, ``features`` (whether stage 1 runs), ``noise``, ``cap``, ``threads`` and, if
    that is not left to the defaults, ``top``, the number of features, and ``max_complexity``.
    """
    import pandas as pd

    from fepysr_dyn.regressor import FePySR

    setting = unit.setting
    (problem,) = load_problems(unit.problem)
    columns, clean = problem.sample(unit.seed)
    target = noisy_target(clean, setting["noise"], unit.seed)
    curve = _Curve()
    model = FePySR(
        engine=setting["engine"],
        features=_stage_one(setting),
        evaluations=_EVALUATIONS,
        time_limit=setting["cap"],
        seed=unit.seed,
        workers=setting.get("threads", 1),
        **({"max_complexity": setting["max_complexity"]} if "max_complexity" in setting else {}),
        progress=curve.note,
    )
    table = pd.DataFrame(columns)
    curve.started, worked = time.monotonic(), time.process_time()
    model.fit(table, target)
    seconds, cpu = time.monotonic() - curve.started, time.process_time() - worked
    curve.end(seconds, model.front_.best.loss)
    noisy = setting["noise"] > 0
    return {
        "recovered": recovered(model.expression_, problem, noisy=noisy),
        "expression": to_text(model.expression_),
        "complexity": model.choice_.candidate.complexity,
        "loss": model.choice_.candidate.loss,
        "mse": float(np.mean((model.predict(table) - clean) ** 2)),
        "front_mse": model.front_.best.loss * float(np.var(target)),
        "exact": model.choice_.exact,
        "found_by": model.choice_.candidate.engine,
        "interrupted": model.interrupted_,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "on_front": on_front(model, problem, noisy=noisy),
        **(feature_scores(model, problem) if setting["features"] else {}),
        **({"curve": curve.points} if "top" in setting else {}),
    }


def noisy_target(clean: Array, noise: float, seed: int) -> Array:
    """Return the target with Gaussian noise of `noise` times its RMS."""
    if not noise:
        return clean
    random = np.random.default_rng([seed, 1])
    size = noise * float(np.sqrt(np.mean(clean**2)))
    return np.asarray(clean + size * random.normal(size=len(clean)))


def recovered(found: sympy.Expr, problem: BenchmarkProblem, *, noisy: bool = False) -> bool:
    """Decide recovery: equal as a function on a box wider than the data; with noise, equal in structure."""
    if not problem.expressible:
        return False
    truth = problem.expression
    if equal_beyond(found, truth, problem.box, problem.far_box, rtol=_EQUAL):
        return True
    return noisy and same_structure(_all_floats(found), truth, problem.far_box or problem.box)


def judged_again(line: Line) -> Line:
    """Return a line with its recovery decided anew from its formula: rules change, lines are kept."""
    if "expression" not in line:
        return line
    (problem,) = load_problems(line["problem"])
    noisy = line.get("noise", 0.0) > 0
    return {**line, "recovered": recovered(parse(line["expression"]), problem, noisy=noisy)}


def on_front(model: FePySR, problem: BenchmarkProblem, *, noisy: bool) -> bool:
    """Return whether the truth is anywhere on the front: then the search found it, whatever was chosen."""
    return any(recovered(candidate.expression, problem, noisy=noisy) for candidate in model.front_)


def feature_scores(model: FePySR, problem: BenchmarkProblem) -> Line:
    """Return the paper's metrics of stage 1: valid features among those used and among the best ten."""
    import math

    from fepysr_dyn.features.metrics import score_ranking
    from fepysr_dyn.features.validity import valid_flags

    library = model.feature_library_
    if library is None or not problem.expressible:
        return {}
    best = library.expressions[:10]
    flags = valid_flags(best, problem.expression)
    # Natural logarithm and all unit outputs: the definitions that reproduce the paper's tables.
    scores = score_ranking(library.counts[:10], flags, unit_outputs=library.report.unit_outputs, base=math.e)
    return {
        "features_used": len(model.features_),
        "valid_used": int(sum(valid_flags(model.features_, problem.expression))),
        "valid": scores.valid,
        "efr": scores.efr,
        "dcg1": scores.dcg1,
        "dcg2": scores.dcg2,
        "valid_features": [to_text(one) for one, good in zip(best, flags, strict=True) if good],
    }


@dataclass
class _Curve:
    """The best loss over time."""

    started: float = 0.0
    points: list[tuple[float, float]] = field(default_factory=list)

    def note(self, progress: Progress) -> None:
        """Keep a report that is better than all before."""
        if np.isfinite(progress.best_loss) and (not self.points or progress.best_loss < self.points[-1][1]):
            self._add(time.monotonic() - self.started, progress.best_loss)

    def end(self, seconds: float, loss: float) -> None:
        """Keep the end, which was not reported."""
        self._add(seconds, min([loss, *(best for _, best in self.points[-1:])]))

    def _add(self, seconds: float, loss: float) -> None:
        self.points.append((round(seconds, 3), float(loss)))


def _stage_one(setting: Any) -> Any:
    if not setting["features"]:
        return None
    if "top" not in setting:
        return "fmn"
    from fepysr_dyn.features import PRESETS

    return replace(PRESETS["default"], top=int(setting["top"]))


def _all_floats(expression: sympy.Expr) -> sympy.Expr:
    """Make every number but signs and exponents a float: with noise, simple values are estimates as well."""
    if expression.is_Rational and abs(expression) != 1:
        return sympy.Float(float(expression))
    if not expression.args:
        return expression
    if expression.is_Pow:
        return expression.func(_all_floats(expression.base), expression.exp)
    return expression.func(*(_all_floats(argument) for argument in expression.args))
