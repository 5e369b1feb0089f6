"""``fepysr-dyn export``: a model or a found system in the formats of other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fepysr_dyn.cli.options import Json, model_completion
from fepysr_dyn.cli.output import noting_warnings, print_json, print_text, print_warnings
from fepysr_dyn.cli.sources import system_from
from fepysr_dyn.errors import OptionError

if TYPE_CHECKING:
    from fepysr_dyn.system import OdeSystem

EXAMPLES = (
    "fepysr-dyn export found --to sbml -o found.xml",
    "fepysr-dyn export tyson_two_protein --to latex",
    "fepysr-dyn export model.xml --to python -o model.py",
    "fepysr-dyn export found --to petab --data measurements.csv -o problem",
)


def export(
    source: Annotated[
        str,
        typer.Argument(
            metavar="MODEL_OR_RESULT",
            help="A built-in model, a model file (TOML, SBML, Antimony), or the folder of a discovery.",
            show_default=False,
            autocompletion=model_completion,
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="sbml, antimony, latex, python or petab; from the ending of -o if not given.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="PATH",
            help="The file to write, or for petab the folder; printed if not given.",
            show_default=False,
        ),
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option(
            "--experiment",
            metavar="NAME",
            help="The experiment of the protocol whose initial values and inputs are taken.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        list[Path],
        typer.Option(
            "--data",
            metavar="FILE",
            help="Measurements for petab (CSV or NetCDF); repeatable. Simulated if not given.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 (typer copies defaults)
    json: Json = False,
) -> None:
    """Write a model, or the system of a discovery, in another format."""
    from fepysr_dyn.exchange import exported
    from fepysr_dyn.trajectories.writing import check_writable, not_written

    kind = _format(to, out)
    if kind == "petab":
        _export_petab(source, out, data, experiment, json=json)
        return
    if data:
        raise OptionError("--data is for --to petab alone")
    if out is not None:
        check_writable(out)
    system = system_from(source)
    text = exported(system, kind, experiment)
    if out is not None:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise not_written(out, error) from None
    _report(system, kind, out, None if out is not None else text, json=json)


def _format(to: str | None, out: Path | None) -> str:
    from fepysr_dyn.exchange import FORMATS, format_named, format_of

    if to is not None:
        return format_named(to)
    found = None if out is None else format_of(out)
    if found is None:
        raise OptionError(f"say the format with --to: one of {', '.join(FORMATS)}")
    return found


def _export_petab(
    source: str, out: Path | None, data: list[Path], experiment: str | None, *, json: bool
) -> None:
    from fepysr_dyn.exchange import write_petab
    from fepysr_dyn.trajectories import read_trajectories

    if out is None:
        raise OptionError("a PEtab problem is a folder: say where it goes with -o")
    if out.exists() and not out.is_dir():
        raise OptionError(f"{out}: expected a folder or a new name, found a file")
    if experiment is not None:
        raise OptionError("--experiment is not for --to petab, which holds all experiments")
    system = system_from(source)
    with noting_warnings() as notes:
        runs = None
        if data:
            runs = read_trajectories(list(data), inputs=list(system.inputs), states=list(system.states))
        path = write_petab(system, out, runs)
    print_warnings(notes)
    _report(system, "petab", path, None, json=json)


def _report(system: OdeSystem, kind: str, out: Path | None, text: str | None, *, json: bool) -> None:
    if json:
        written = {"text": text} if out is None else {"out": str(out)}
        print_json({"model": system.name, "format": kind, **written})
    elif text is not None:
        sys.stdout.write(text)
    else:
        print_text(f"written: {out}")
