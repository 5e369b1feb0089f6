"""``fepysr-dyn discover``: measurements, or a reference system, to differential equations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fepysr_dyn.cli.options import (
    Breakpoints,
    Decimal,
    Delimiter,
    Experiment,
    Inputs,
    Json,
    Seed,
    States,
    Time,
    read_data,
)
from fepysr_dyn.cli.output import (
    noting_warnings,
    print_json,
    print_table,
    print_text,
    print_warnings,
    searching,
    typed_command,
)
from fepysr_dyn.cli.report import REPORT

if TYPE_CHECKING:
    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.system import OdeSystem
    from fepysr_dyn.trajectories import Trajectories

EXAMPLES = (
    "fepysr-dyn discover tyson_two_protein",
    "fepysr-dyn discover measurements.csv --input S -o found",
    "fepysr-dyn discover model.toml --noise 0.01 --seed 3 --json",
)
NOT_VALIDATED = 1


def discover(
    context: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA_OR_MODEL...",
            help="CSV or NetCDF files, or the name or TOML file of a model, which is simulated first.",
            show_default=False,
        ),
    ],
    inputs: Inputs = [],  # noqa: B006 (typer copies defaults)
    states: States = [],  # noqa: B006
    time: Time = "time",
    experiment: Experiment = "experiment",
    breakpoints: Breakpoints = "auto",
    delimiter: Delimiter = ",",
    decimal: Decimal = ".",
    noise: Annotated[float, typer.Option(help="Noise level α when a model is simulated.")] = 0.0,
    engine: Annotated[str, typer.Option(help="The search engine.")] = "portfolio",
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", show_default=False, help="For the search."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="DIR", help="Folder for the result and its report.", show_default=False
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Find the differential equations behind time series.

    Derivatives are estimated, a right-hand side is searched for each state, constants are refitted where
    there is noise, and the system is integrated again and compared. Exit code 1: nothing reproduces the
    data; the best attempt is shown.
    """
    from fepysr_dyn.discovery import DiscoveryConfig
    from fepysr_dyn.discovery import discover as run_discovery
    from fepysr_dyn.discovery.files import prepared_folder, save_result, to_document
    from fepysr_dyn.interruption import interruptible
    from fepysr_dyn.report.page import write_report
    from fepysr_dyn.search.registry import make_engine

    make_engine(engine)
    if out is not None:
        prepared_folder(out)
    with noting_warnings() as notes:
        truth = _model(sources)
        if truth is not None:
            runs = _simulated(truth, noise, seed)
        else:
            runs = read_data(
                [Path(source) for source in sources],
                inputs,
                states,
                time=time,
                experiment=experiment,
                breakpoints=breakpoints,
                delimiter=delimiter,
                decimal=decimal,
            )
        with interruptible() as cancelled, searching() as progress:
            found = run_discovery(
                runs,
                config=DiscoveryConfig(engine=engine),
                seed=seed,
                time_limit=time_limit,
                progress=progress,
                cancelled=cancelled,
                truth=truth,
            )
    found = replace(found, provenance={**found.provenance, "command": typed_command(context)})
    if out is not None:
        save_result(found, out)
        write_report(found, out / REPORT)
    print_warnings([*notes, *found.warnings])
    if json:
        print_json(to_document(found))
    else:
        show(found)
    return 0 if found.validation.reproduced else NOT_VALIDATED


def show(found: Discovery) -> None:
    """Print equations, confidence and validation for people."""
    from fepysr_dyn.discovery.display import rounded_text

    print_text()
    for state, rate in found.system.rates.items():
        print_text(f"d{state}/dt = {rounded_text(rate)}")
    print_text()
    rows = []
    for run in found.validation.runs:
        for state in found.system.states:
            rows.append((run.experiment, state, run.r2[state], run.nrmse[state], str(run.outcome)))
    print_table("Integrated again", ("experiment", "state", "R²", "NRMSE", "outcome"), rows)
    confidence = ", ".join(f"{state} {share:.0%}" for state, share in found.confidence.items())
    print_text(f"Confidence (structure chosen again under resampling): {confidence}")
    for state, score in found.validation.structure.items():
        print_text(f"d{state}/dt {'equals' if score.recovered else 'differs from'} the true equation")
    if not found.complete:
        print_text("The search was cut short; more time may find more.")
    if not found.validation.reproduced:
        print_text(f"Not validated: smallest R² {found.validation.worst_r2:.3g}, more than 0.9 is needed.")


def _model(sources: list[str]) -> OdeSystem | None:
    """Return the model if the only source names one."""
    from fepysr_dyn.model_files import load_model

    if len(sources) == 1 and (Path(sources[0]).suffix == ".toml" or not Path(sources[0]).suffix):
        return load_model(sources[0])
    return None


def _simulated(system: OdeSystem, noise: float, seed: int) -> Trajectories:
    from fepysr_dyn.simulation import simulate

    return simulate(system, noise=noise, seed=seed)
