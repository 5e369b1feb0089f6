"""``fepysr-dyn validate``: a system integrated again under the conditions of the data, and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fepysr_dyn.cli.found import show_validation
from fepysr_dyn.cli.options import (
    Breakpoints,
    Decimal,
    Delimiter,
    Experiment,
    Inputs,
    Json,
    Noise,
    Seed,
    Sources,
    States,
    Time,
    model_completion,
)
from fepysr_dyn.cli.output import (
    noting_warnings,
    number,
    print_json,
    print_text,
    print_warnings,
    working,
)
from fepysr_dyn.cli.sources import read_source, system_from

if TYPE_CHECKING:
    from fepysr_dyn.validation import Validation

EXAMPLES = (
    "fepysr-dyn validate found measurements.csv",
    "fepysr-dyn validate model.toml measurements.csv --input S --json",
    "fepysr-dyn validate found tyson_two_protein --noise 0.01",
)
NOT_REPRODUCED = 1


def validate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL_OR_RESULT",
            help="The name or file of a model, or the folder of a discovery.",
            show_default=False,
            autocompletion=model_completion,
        ),
    ],
    sources: Sources,
    inputs: Inputs = [],  # noqa: B006 (typer copies defaults)
    states: States = [],  # noqa: B006
    time: Time = "time",
    experiment: Experiment = "experiment",
    breakpoints: Breakpoints = "auto",
    delimiter: Delimiter = ",",
    decimal: Decimal = ".",
    noise: Noise = 0.0,
    truth: Annotated[
        str | None,
        typer.Option(
            "--truth",
            metavar="MODEL",
            help="Also compare the equations with this model's.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Integrate a model again under every experiment and compare it with the data.

    The model says which columns of the data are states and which are inputs. Exit code 1: some state of some
    experiment has an R² of 0.9 or less.
    """
    from fepysr_dyn.validation import validate as run_validation

    system = system_from(model)
    true_system = None if truth is None else system_from(truth)
    with noting_warnings() as notes, working("reading"):
        source = read_source(
            sources,
            inputs or list(system.inputs),
            states or list(system.states),
            noise=noise,
            seed=seed,
            time=time,
            experiment=experiment,
            breakpoints=breakpoints,
            delimiter=delimiter,
            decimal=decimal,
        )
    with working("integrating"):
        scores = run_validation(system, source.runs, truth=true_system or source.truth)
    print_warnings(notes)
    if json:
        print_json({"model": system.name, **scores.to_dict(), "warnings": notes})
    else:
        show(scores)
    return 0 if scores.reproduced else NOT_REPRODUCED


def show(scores: Validation) -> None:
    """Print the scores for people."""
    show_validation(scores)
    if not scores.reproduced:
        print_text(f"Not reproduced: smallest R² {number(scores.worst_r2)}, more than 0.9 is needed.")
