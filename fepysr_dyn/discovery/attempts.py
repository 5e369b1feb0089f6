"""What to say when nothing reproduces the data: the best attempts, the reason, and what to try."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fepysr_dyn.integration import Outcome
from fepysr_dyn.validation import R2_THRESHOLD, RunScore

if TYPE_CHECKING:
    from fepysr_dyn.discovery.result import Discovery
    from fepysr_dyn.search.front import Candidate, ParetoFront

#: A front whose best loss is above this explains little of the derivative.
_UNEXPLAINED = 0.1


def best_attempts(front: ParetoFront, most: int = 5) -> tuple[Candidate, ...]:
    """Return the candidates of a front that gain most for their length, shortest first."""
    candidates = list(front)
    gains = []
    for before, candidate in zip([None, *candidates], candidates, strict=False):
        if before is None:
            gains.append((math.inf, candidate))
            continue
        drop = math.log(before.loss / candidate.loss) if candidate.loss > 0 else math.inf
        gains.append((drop / (candidate.complexity - before.complexity), candidate))
    # The closest fit is always of interest, whatever its length.
    ranked = [candidates[-1:], *([c] for _, c in sorted(gains, key=lambda pair: -pair[0]))]
    chosen = list(dict.fromkeys(c for group in ranked for c in group))[:most]
    return tuple(sorted(chosen, key=lambda c: c.complexity))


def reasons(found: Discovery) -> tuple[str, ...]:
    """Return one line for each experiment that is not reproduced: how its integration ended."""
    return tuple(_reason(run) for run in found.validation.runs if not run.reproduced)


def _reason(run: RunScore) -> str:
    if run.outcome is not Outcome.COMPLETE:
        how = f"the integration ended early ({run.outcome}): {run.message}"
    else:
        worst = min(run.r2, key=lambda state: run.r2[state])
        how = f"{worst} has an R² of {run.r2[worst]:.3g}, more than {R2_THRESHOLD} is needed"
    left = "" if run.diverged_at is None else f"; it leaves the data at t = {run.diverged_at:.6g}"
    return f"experiment '{run.experiment}': {how}{left}"


def advice(found: Discovery) -> tuple[str, ...]:
    """Return what may help, most likely first; nothing if all is reproduced."""
    if found.validation.reproduced:
        return ()
    lines = []
    if not found.complete:
        lines.append("the search was cut short: allow more time")
    for state, front in found.fronts.items():
        if len(front) and front.best.loss > _UNEXPLAINED:
            lines.append(
                f"no formula explains the derivative of {state} (the best leaves {front.best.loss:.0%} of "
                "its variance): something that drives it may not be measured, or the samples are too far "
                "apart or too noisy"
            )
    if any(run.outcome is not Outcome.COMPLETE for run in found.validation.runs):
        lines.append(
            "the equations run away where there are no data: forbid terms, give bounds or signs, allow fewer "
            "operators, or add experiments from other initial states"
        )
    if found.warnings:
        lines.append("the warnings name experiments that would help")
    settings = found.provenance.get("config", {})
    if settings.get("engine", "portfolio") != "portfolio":
        lines.append("the engine 'portfolio' tries several engines")
    elif not settings.get("features", True):
        lines.append("allow features: stage 1 was left out")
    lines.append("tell what is known: terms, columns or signs of an equation, or operators that may occur")
    return tuple(lines)
