"""The verdict on a discovery in one sentence: validated or not, how sure, what stays open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fepysr_dyn.expressions import complexity
from fepysr_dyn.report.numbers import listed, r2_text
from fepysr_dyn.validation import R2_THRESHOLD

if TYPE_CHECKING:
    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.validation import RunScore


@dataclass(frozen=True)
class Verdict:
    """What a reader should know first."""

    validated: bool
    headline: str
    sentence: str


def verdict(found: Discovery, held_out: Sequence[RunScore] = ()) -> Verdict:
    """Judge a discovery by its re-integration, its confidence and what the data leave open."""
    training = found.validation.runs
    validated = all(run.reproduced for run in (*training, *held_out))
    parts = [_reproduction(training, "experiment")]
    if held_out:
        parts.append(_reproduction(held_out, "held-out experiment"))
    parts += [_confidence(found), *_structure(found), _undecided(found)]
    if not found.complete:
        parts.append("the search was cut short, so more time may find more")
    return Verdict(
        validated, "Validated" if validated else "Not validated", _sentence([part for part in parts if part])
    )


def _reproduction(runs: Sequence[RunScore], what: str) -> str:
    good = sum(run.reproduced for run in runs)
    worst = min(run.worst_r2 for run in runs)
    if len(runs) == 1:
        which = f"the {what}"
    elif good == len(runs):
        which = f"both {what}s" if good == 2 else f"all {good} {what}s"
    else:
        which = f"{good or 'none'} of {len(runs)} {what}s"
    if good == len(runs):
        return f"integrated again, the equations reproduce {which} (smallest R² {r2_text(worst)})"
    verb = "do not reproduce" if len(runs) == 1 else "reproduce only" if good else "reproduce"
    early = [run for run in runs if str(run.outcome) != "complete"]
    why = (
        f"the integration of {len(early)} ended early"
        if early
        else f"smallest R² {r2_text(worst)}, more than {R2_THRESHOLD} is needed"
    )
    return f"integrated again, the equations {verb} {which} ({why})"


def _confidence(found: Discovery) -> str:
    if not found.confidence:
        return ""
    state, least = min(found.confidence.items(), key=lambda item: item[1])
    if len(found.confidence) == 1 or least == 1.0:
        each = "the structure was" if len(found.confidence) == 1 else "every structure was"
        return f"{each} chosen again in {100 * least:.0f} % of the resamples"
    share = f"{100 * least:.0f} % of the resamples or more"
    return f"structures were chosen again in {share} (least for d{state}/dt)"


def _structure(found: Discovery) -> list[str]:
    scores = found.validation.structure
    if not scores:
        return []
    right = sum(score.recovered for score in scores.values())
    if right == len(scores):
        return ["the equation equals the true one" if right == 1 else "all equations equal the true ones"]
    same = sum(score.same_structure for score in scores.values())
    count = len(scores)
    if same == count:
        return [
            "the equation has the true structure" if count == 1 else "all equations have the true structure"
        ]
    if count == 1:
        return ["the equation differs from the true one"]
    text = f"{right or 'none'} of {count} equations {'equals' if right == 1 else 'equal'} the true one"
    return [text + (f" and {same} have the true structure" if same > right else "")]


def _undecided(found: Discovery) -> str:
    open_states = [state for state, others in found.alternatives.items() if others]
    parts = []
    if found.warnings:
        count = len(found.warnings)
        parts.append(
            f"{count} {'warning says' if count == 1 else 'warnings say'} what the data cannot decide"
        )
    if open_states:
        rates = listed([f"d{state}/dt" for state in open_states])
        longer = all(
            other.complexity > complexity(found.system.rates[state])
            for state in open_states
            for other in found.alternatives[state]
        )
        parts.append(f"{'longer' if longer else 'other'} formulas fit {rates} as well")
    return "; ".join(parts) or "nothing in the data speaks for another structure"


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + "."
