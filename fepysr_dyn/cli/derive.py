"""``fepysr-dyn derive``: measurements to smoothed states and derivatives with standard errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fepysr_dyn.cli.files import Files
from fepysr_dyn.cli.options import (
    Breakpoints,
    DataFiles,
    Decimal,
    Delimiter,
    Experiment,
    Inputs,
    Json,
    OutTable,
    Plot,
    States,
    Time,
    read_data,
)
from fepysr_dyn.cli.output import (
    noting_warnings,
    number,
    print_json,
    print_table,
    print_text,
    print_warnings,
    working,
)

if TYPE_CHECKING:
    from fepysr_dyn.derivatives import Derivatives
    from fepysr_dyn.trajectories import Trajectories

EXAMPLES = (
    "fepysr-dyn derive tyson.csv --input S",
    "fepysr-dyn derive tyson.csv --input S -o slopes.nc --plot slopes.png",
    "fepysr-dyn derive tyson.csv --input S --state X1 --breakpoints 20,40 --json",
)


def derive(
    data: DataFiles,
    inputs: Inputs = [],  # noqa: B006 (typer copies defaults)
    states: States = [],  # noqa: B006
    time: Time = "time",
    experiment: Experiment = "experiment",
    breakpoints: Breakpoints = "auto",
    delimiter: Delimiter = ",",
    decimal: Decimal = ".",
    method: Annotated[str, typer.Option(help="The estimator; auto chooses by the data.")] = "auto",
    out: OutTable = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Estimate smoothed states and derivatives with standard errors.

    For each state X the output has X (smoothed), X_se, dX and dX_se. With --json the series are part of the
    document unless they are written with -o.
    """
    from fepysr_dyn.derivatives import estimate_derivatives
    from fepysr_dyn.report.figures import derivatives_figure

    files = Files(out, plot)
    with noting_warnings() as notes, working("reading"):
        runs = read_data(
            data,
            inputs,
            states,
            time=time,
            experiment=experiment,
            breakpoints=breakpoints,
            delimiter=delimiter,
            decimal=decimal,
        )
    with working("estimating derivatives"):
        slopes = estimate_derivatives(runs, method=method)
        files.write(slopes)
        files.draw(lambda: derivatives_figure(runs, slopes))
    print_warnings(notes)
    if json:
        print_json(_document(runs, slopes, notes, out))
    else:
        _show(runs, slopes)
        files.report()


def _document(runs: Trajectories, slopes: Derivatives, notes: list[str], out: Path | None) -> dict[str, Any]:
    experiments = []
    for run, slope in zip(runs, slopes, strict=True):
        name = run.attrs["name"]
        about = {
            "name": name,
            "samples": run.sizes["time"],
            "breakpoints": run.attrs["breakpoints"],
            "breakpoints_from": run.attrs.get("breakpoints_from", "declared"),
            "choices": {
                choice.state: {
                    "method": choice.method,
                    "settings": choice.settings,
                    "reason": choice.reason,
                }
                for choice in slopes.choices
                if choice.experiment == name
            },
        }
        if out is None:
            about["data"] = {"time": slope["time"], **dict(slope.data_vars)}
        experiments.append(about)
    written = {} if out is None else {"out": str(out)}
    return {
        "states": slopes.states,
        "inputs": slopes.inputs,
        "warnings": notes,
        **written,
        "experiments": experiments,
    }


def _show(runs: Trajectories, slopes: Derivatives) -> None:
    rows = []
    by_name = {slope.attrs["name"]: slope for slope in slopes}
    for choice in slopes.choices:
        slope = by_name[choice.experiment]
        error = float(slope[f"d{choice.state}_se"].median())
        size = float((slope[f"d{choice.state}"] ** 2).mean() ** 0.5)
        rows.append((choice.experiment, choice.state, choice.method, size, error))
    print_table("", ("experiment", "state", "method", "rms of rate", "median se"), rows)
    print_text("Why:")
    for choice in slopes.choices:
        print_text(f"  {choice}")
    for run in runs:
        if points := run.attrs["breakpoints"]:
            listed = ", ".join(number(point) for point in points[:10]) + (" …" if len(points) > 10 else "")
            origin = run.attrs.get("breakpoints_from", "declared")
            print_text(f"{run.attrs['name']}: breakpoints at {listed} ({origin})")
