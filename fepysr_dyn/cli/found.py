"""A discovery as people read it: what was found, what was tried, or what there is after Ctrl-C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fepysr_dyn.cli.output import number, print_table, print_text

if TYPE_CHECKING:
    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.search.front import Candidate, ParetoFront
    from fepysr_dyn.validation import Validation


def show_discovery(found: Discovery) -> None:
    """Print equations, confidence and validation; the best attempts where nothing was validated."""
    from fepysr_dyn.discovery.display import rounded_text

    print_text()
    for state, rate in found.system.rates.items():
        print_text(f"d{state}/dt = {rounded_text(rate)}")
    print_text()
    show_validation(found.validation)
    confidence = ", ".join(f"{state} {share:.0%}" for state, share in found.confidence.items())
    print_text(f"Confidence (structure chosen again under resampling): {confidence}")
    if not found.complete:
        print_text("The search was cut short; more time may find more.")
    if not found.validation.reproduced:
        _show_attempts(found)


def show_validation(scores: Validation) -> None:
    """Print the scores of every run, what was checked, and the structure where the truth is known."""
    rows = []
    for run in scores.runs:
        diverged = "" if run.diverged_at is None else number(run.diverged_at)
        for state, r2 in run.r2.items():
            rows.append((run.experiment, state, r2, run.nrmse[state], str(run.outcome), diverged))
    columns = ("experiment", "state", "R²", "NRMSE", "outcome", "diverged at")
    print_table("Integrated again", columns, rows)
    for run in scores.runs:
        if run.message:
            print_text(f"{run.experiment}: {run.message}")
        if run.horizon is not None and run.lyapunov_time is not None:
            print_text(
                f"{run.experiment}: chaotic, with a Lyapunov time of about {run.lyapunov_time:.3g}; compared "
                f"over that time, up to t = {number(run.horizon)}"
            )
    for note in scores.notes:
        print_text(note)
    for state, score in scores.structure.items():
        verdict = "equals" if score.recovered else "differs from"
        shares = f"precision {score.precision:.0%}, recall {score.recall:.0%}"
        same = ", same structure" if score.same_structure and not score.recovered else ""
        off = "" if score.constants_error is None else f", constants within {score.constants_error:.2g}"
        print_text(f"d{state}/dt {verdict} the true equation ({shares} of the terms{same}{off})")


def _show_attempts(found: Discovery) -> None:
    from fepysr_dyn.discovery.attempts import advice, best_attempts, reasons

    print_text()
    print_text("Not validated: the equations do not reproduce the data.")
    for line in reasons(found):
        print_text(f"  {line}")
    print_text()
    _print_candidates("Best attempts", {state: best_attempts(front) for state, front in found.fronts.items()})
    print_text("What to try:")
    for line in advice(found):
        print_text(f"  {line}")


def show_interrupted(fronts: Mapping[str, ParetoFront]) -> None:
    """Print the fronts that there were when the user interrupted the search."""
    from fepysr_dyn.discovery.attempts import best_attempts

    if not any(len(front) for front in fronts.values()):
        print_text("Interrupted before anything was found.")
        return
    _print_candidates(
        "Found so far", {state: best_attempts(front, 8) for state, front in fronts.items() if len(front)}
    )
    for state, front in fronts.items():
        print_text(f"{state}: {'finished' if front.complete else 'not finished'}")


def interrupted_document(fronts: Mapping[str, ParetoFront]) -> dict[str, Any]:
    """Return the JSON document of a search that was interrupted."""
    from fepysr_dyn.discovery.files import candidate_document

    return {
        "interrupted": True,
        "states": {
            state: {
                "front": [candidate_document(candidate) for candidate in front],
                "complete": front.complete,
            }
            for state, front in fronts.items()
        },
    }


def _print_candidates(title: str, candidates: Mapping[str, tuple[Candidate, ...]]) -> None:
    from fepysr_dyn.discovery.display import rounded_text

    rows = [
        (state, candidate.complexity, candidate.loss, candidate.engine, rounded_text(candidate.expression))
        for state, own in candidates.items()
        for candidate in own
    ]
    print_table(title, ("state", "nodes", "loss", "engine", "formula"), rows)
