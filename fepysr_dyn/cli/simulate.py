"""``fepysr-dyn simulate``: a model to trajectories, as exact or as noisy as asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fepysr_dyn.cli.files import Files
from fepysr_dyn.cli.options import (
    Json,
    OutTable,
    Plot,
    Seed,
    assignments_from,
    count_option,
    model_completion,
    number_option,
)
from fepysr_dyn.cli.output import complain, print_json, print_table, working
from fepysr_dyn.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from fepysr_dyn.system import OdeSystem
    from fepysr_dyn.trajectories import Trajectories

NUMBER: dict[str, Any] = {"parser": number_option, "metavar": "NUMBER"}
EXAMPLES = (
    "fepysr-dyn simulate tyson_two_protein -o tyson.csv",
    "fepysr-dyn simulate lorenz --noise 0.05 --seed 1 --samples 500 --plot lorenz.png",
    "fepysr-dyn simulate van_der_pol --set mu=3 --initial x=1 --json",
)


def simulate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A built-in model or a model file.", autocompletion=model_completion
        ),
    ],
    out: OutTable = None,
    noise: Annotated[float, typer.Option(help="Noise level α.", **NUMBER)] = 0.0,
    noise_kind: Annotated[
        str, typer.Option(help="gaussian: α × RMS; multiplicative: α × value; relative-floor: both.")
    ] = "gaussian",
    missing: Annotated[float, typer.Option(help="Share of the samples that are lost.", **NUMBER)] = 0.0,
    irregular: Annotated[float, typer.Option(help="Irregular sampling, from 0 to below 1.", **NUMBER)] = 0.0,
    samples: Annotated[
        int | None,
        typer.Option(
            help="Samples of each experiment.", show_default=False, parser=count_option, metavar="N"
        ),
    ] = None,
    duration: Annotated[
        float | None, typer.Option(help="Length of each experiment.", show_default=False, **NUMBER)
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another value of a parameter; repeatable."),
    ] = None,
    initial: Annotated[
        list[str] | None,
        typer.Option("--initial", metavar="NAME=VALUE", help="Another initial value; repeatable."),
    ] = None,
    seed: Seed = 0,
    rates: Annotated[bool, typer.Option("--rates", help="Also give the exact derivatives.")] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds for one experiment.", **NUMBER)] = 60.0,
    plot: Plot = None,
    json: Json = False,
) -> int:
    """Simulate a model under its protocol.

    With --json the series are part of the document unless they are written with -o.
    """
    from fepysr_dyn.integration import SolverOptions
    from fepysr_dyn.measurement import Measurement
    from fepysr_dyn.model_files import load_model
    from fepysr_dyn.report.figures import trajectories_figure
    from fepysr_dyn.simulation import resampled
    from fepysr_dyn.simulation import simulate as run_simulation

    files = Files(out, plot)
    system = load_model(model)
    system = system.with_parameters(**assignments_from(parameters or [], "--set"))
    system = _with_initial(system, assignments_from(initial or [], "--initial"))
    system = resampled(system, samples=samples, duration=duration)
    measurement = Measurement(noise=noise, kind=noise_kind, missing=missing, irregular=irregular)
    options = SolverOptions(time_limit=time_limit)
    with working(f"simulating {system.name}"):
        runs = run_simulation(
            system, seed=seed, rates=rates, measurement=measurement, options=options, throw=False
        )
        files.write(runs)
        files.draw(lambda: trajectories_figure(runs, title=system.title or system.name))
    incomplete = [run for run in runs if run.attrs.get("outcome") != "complete"]
    if json:
        print_json(_document(system, runs, seed, out))
    else:
        _show(runs)
        files.report()
    for run in incomplete:
        complain(f"{system.name}, experiment '{run.attrs['name']}': {run.attrs['message']}")
    return 1 if incomplete else 0


def _with_initial(system: OdeSystem, values: dict[str, float]) -> OdeSystem:
    """Return the system with other initial values, in every experiment of its protocol."""
    for name in values:
        if name not in system.states:
            raise ModelError(f"no state '{name}'{did_you_mean(name, system.states)}")
    plans = tuple(replace(plan, initial={**plan.initial, **values}) for plan in system.protocol.experiments)
    return replace(
        system,
        initial={**system.initial, **values},
        protocol=replace(system.protocol, experiments=plans),
    )


def _document(system: OdeSystem, runs: Trajectories, seed: int, out: Path | None) -> dict[str, Any]:
    document = {"model": system.name, "seed": seed, "states": runs.states, "inputs": runs.inputs}
    experiments = []
    for run in runs:
        about = {
            "name": run.attrs["name"],
            "outcome": run.attrs["outcome"],
            "message": run.attrs["message"],
            "samples": run.sizes["time"],
            "breakpoints": run.attrs["breakpoints"],
        }
        if out is None:
            about["data"] = {"time": run["time"], **dict(run.data_vars)}
        experiments.append(about)
    written = {} if out is None else {"out": str(out)}
    return {**document, **written, "experiments": experiments}


def _show(runs: Trajectories) -> None:
    rows = []
    for run in runs:
        for state in runs.states:
            values = run[state]
            present = int(values.notnull().sum())
            row = (present, float(run["time"][-1]), float(values.min()), float(values.max()))
            rows.append((run.attrs["name"], state, *row))
    print_table("", ("experiment", "state", "samples", "until", "min", "max"), rows)
