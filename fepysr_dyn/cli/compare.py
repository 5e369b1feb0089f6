"""``fepysr-dyn compare``: our result and every baseline side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fepysr_dyn.cli.files import Files
from fepysr_dyn.cli.options import (
    Breakpoints,
    Decimal,
    Delimiter,
    Experiment,
    Inputs,
    Json,
    Noise,
    Plot,
    Seed,
    Sources,
    States,
    Time,
    TimeLimit,
)
from fepysr_dyn.cli.output import (
    noting_warnings,
    number,
    print_json,
    print_table,
    print_text,
    print_warnings,
    searching,
)
from fepysr_dyn.cli.sources import read_source

if TYPE_CHECKING:
    from fepysr_dyn.comparison import Comparison, Entry
    from fepysr_dyn.validation import Validation

EXAMPLES = (
    "fepysr-dyn compare lotka_volterra",
    "fepysr-dyn compare measurements.csv --input S --time-limit 60 --plot methods.png",
    "fepysr-dyn compare measurements.csv --no-ours --baseline sindy-poly2 --baseline sindy-weak --json",
)
NOTHING_REPRODUCES = 1
_HELD_OUT = {
    "experiment": "the last experiment, which no method has seen",
    "window": "the last quarter of the time, which no method has seen",
}


def compare(
    sources: Sources,
    inputs: Inputs = [],  # noqa: B006 (typer copies defaults)
    states: States = [],  # noqa: B006
    time: Time = "time",
    experiment: Experiment = "experiment",
    breakpoints: Breakpoints = "auto",
    delimiter: Delimiter = ",",
    decimal: Decimal = ".",
    noise: Noise = 0.0,
    ours: Annotated[bool, typer.Option("--ours/--no-ours", help="Also discover equations ourselves.")] = True,
    baselines: Annotated[
        list[str],
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="A baseline; repeatable. All that can run if not given.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    time_limit: TimeLimit = None,
    plot: Plot = None,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Find equations with every method and validate all of them alike.

    Generalization is measured on the last experiment, or on the last quarter of a single one, which is kept
    out of every fit. Exit code 1: no method reproduces the data.
    """
    from fepysr_dyn.comparison import compare as run_comparison
    from fepysr_dyn.interruption import interruptible
    from fepysr_dyn.report.comparison import comparison_figure

    files = Files(None, plot)
    with noting_warnings() as notes:
        source = read_source(
            sources,
            inputs,
            states,
            noise=noise,
            seed=seed,
            time=time,
            experiment=experiment,
            breakpoints=breakpoints,
            delimiter=delimiter,
            decimal=decimal,
        )
        with interruptible() as cancelled, searching() as progress:
            result = run_comparison(
                source.runs,
                truth=source.truth,
                ours=ours,
                baselines=baselines or None,
                seed=seed,
                time_limit=time_limit,
                progress=progress,
                cancelled=cancelled,
            )
    files.draw(lambda: comparison_figure(result))
    print_warnings(notes)
    if json:
        print_json({**result.to_dict(), "warnings": notes})
    else:
        show(result)
        files.report()
    scores = [entry.reconstruction for entry in result.entries]
    return 0 if any(score is not None and score.reproduced for score in scores) else NOTHING_REPRODUCES


def show(result: Comparison) -> None:
    """Print equations and scores of all methods for people."""
    from fepysr_dyn.discovery.display import rounded_text

    for entry in result.entries:
        print_text()
        settings = ", ".join(f"{key} {value}" for key, value in entry.settings.items())
        print_text(f"{entry.name}" + (f" ({settings})" if settings else ""))
        if entry.system is None:
            print_text("  no answer")
        else:
            for state, rate in entry.system.rates.items():
                print_text(f"  d{state}/dt = {rounded_text(rate, 4)}")
        if entry.message:
            print_text(f"  {entry.message}")
    print_text()
    columns = ["method", "reconstruction R²", "NRMSE", "generalization R²", "NRMSE", "seconds"]
    rows = [
        [entry.name, *_cells(entry.reconstruction), *_cells(entry.generalization), f"{entry.seconds:.1f}"]
        for entry in result.entries
    ]
    if any(entry.reconstruction is not None and entry.reconstruction.structure for entry in result.entries):
        columns.insert(5, "equations right")
        for row, entry in zip(rows, result.entries, strict=True):
            row.insert(5, _structure(entry))
    print_table("Smallest R² and largest NRMSE over states and experiments", columns, rows)
    if result.held_out_kind in _HELD_OUT:
        print_text(f"Generalization: {_HELD_OUT[result.held_out_kind]}.")


def _cells(scores: Validation | None) -> tuple[str, str]:
    """Return R² and NRMSE, or how the integration ended."""
    from fepysr_dyn.comparison import outcome_of

    if scores is None:
        return "", ""
    ended = outcome_of(scores)
    return (ended, "") if ended != "complete" else (number(scores.worst_r2), f"{scores.worst_nrmse:.2g}")


def _structure(entry: Entry) -> str:
    if entry.reconstruction is None:
        return ""
    scores = entry.reconstruction.structure.values()
    same = sum(score.same_structure for score in scores)
    exact = sum(score.recovered for score in scores)
    return f"{exact} of {len(scores)}" + (f" ({same} in structure)" if same > exact else "")
