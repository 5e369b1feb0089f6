"""Options that mean the same in every command."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fepysr_dyn.errors import OptionError

if TYPE_CHECKING:
    from fepysr_dyn.trajectories import Trajectories

DATA = "Data"


def number_option(text: str) -> float:
    """Read a number; unlike typer's own, the complaint says what was found."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"expected a number, found '{text}'") from None


def count_option(text: str) -> int:
    """Read a whole number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"expected a whole number, found '{text}'") from None


def seed_option(text: str) -> int:
    """Read a seed."""
    if not str(text).isdecimal():
        raise typer.BadParameter(f"expected a whole number of at least 0, found '{text}'")
    return int(text)


def model_completion(incomplete: str) -> list[str]:
    """Return the built-in models that begin as typed; where none does, the shell completes files."""
    from fepysr_dyn.model_files import model_names

    return [name for name in model_names() if name.startswith(incomplete)]


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Seed = Annotated[
    int, typer.Option("--seed", help="Decides everything random.", parser=seed_option, metavar="N")
]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA_OR_MODEL...",
        help="CSV or NetCDF files, or the name or file of a model, which is simulated first.",
        show_default=False,
        autocompletion=model_completion,
    ),
]
Noise = Annotated[
    float,
    typer.Option(
        "--noise",
        help="Noise level α when a model is simulated.",
        parser=number_option,
        metavar="NUMBER",
        rich_help_panel=DATA,
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="The search engine: portfolio, sparse, rational, parametric, evolution, pysr or operon.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        help="For the search, in a comparison for each method; it only cuts short.",
        parser=number_option,
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="Searches at the same time; as many as there are cores and states if not given.",
        parser=count_option,
        show_default=False,
    ),
]
OutFolder = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", metavar="DIR", help="Folder for the result and its report.", show_default=False
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw a figure (.png, .svg or .pdf).", show_default=False),
]
OutTable = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="FILE",
        help="Write the series (.csv, or .nc for everything).",
        show_default=False,
    ),
]
DataFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...", help="CSV or NetCDF files; several make several experiments.", show_default=False
    ),
]
Inputs = Annotated[
    list[str],
    typer.Option(
        "--input", metavar="NAME", help="A column that is an input; repeatable.", rich_help_panel=DATA
    ),
]
States = Annotated[
    list[str],
    typer.Option(
        "--state",
        metavar="NAME",
        help="A column that is a state; repeatable. All other columns if not given.",
        rich_help_panel=DATA,
    ),
]
Time = Annotated[
    str, typer.Option("--time", metavar="NAME", help="The column of times.", rich_help_panel=DATA)
]
Experiment = Annotated[
    str,
    typer.Option(
        "--experiment", metavar="NAME", help="The column that tells experiments apart.", rich_help_panel=DATA
    ),
]
Breakpoints = Annotated[
    str,
    typer.Option(
        "--breakpoints",
        metavar="TIMES",
        help="Times at which inputs jump or bend, as 20,40; none; or auto: from the file, or detected.",
        rich_help_panel=DATA,
    ),
]
Delimiter = Annotated[
    str, typer.Option("--delimiter", metavar="SIGN", help="What separates CSV fields.", rich_help_panel=DATA)
]
Decimal = Annotated[
    str,
    typer.Option("--decimal", metavar="SIGN", help="The decimal sign in CSV files.", rich_help_panel=DATA),
]


def number_from(text: str, what: str) -> float:
    """Read a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise OptionError(f"{what}: expected a finite number, found '{text}'")
    return value


def assignments_from(pairs: list[str], option: str) -> dict[str, float]:
    """Read NAME=VALUE pairs."""
    values: dict[str, float] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        name = name.strip()
        if not sign or not name:
            raise OptionError(f"{option}: expected NAME=VALUE, found '{pair}'")
        if name in values:
            raise OptionError(f"{option}: '{name}' is given twice")
        values[name] = number_from(text, f"{option} {name}")
    return values


def parse_breakpoints(text: str) -> list[float] | None:
    """Read the option ``--breakpoints``."""
    if text == "auto":
        return None
    if text == "none":
        return []
    return [number_from(part.strip(), "--breakpoints") for part in text.split(",")]


def read_data(
    files: list[Path],
    inputs: list[str],
    states: list[str],
    *,
    time: str = "time",
    experiment: str = "experiment",
    breakpoints: str = "auto",
    delimiter: str = ",",
    decimal: str = ".",
) -> Trajectories:
    """Read data files as the data options say."""
    from fepysr_dyn.trajectories import read_trajectories

    return read_trajectories(
        list(files),
        inputs=inputs,
        states=states or None,
        time=time,
        experiment=experiment,
        breakpoints=parse_breakpoints(breakpoints),
        delimiter="\t" if delimiter == "\\t" else delimiter,
        decimal=decimal,
    )
