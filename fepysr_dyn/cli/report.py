"""``fepysr-dyn report``: the HTML report of a saved discovery, made again."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fepysr_dyn.cli.options import Json, Seed, number_option, read_data
from fepysr_dyn.cli.output import (
    json_text,
    noting_warnings,
    print_json,
    print_text,
    print_warnings,
    searching,
)
from fepysr_dyn.errors import DataError

if TYPE_CHECKING:
    from fepysr_dyn.discovery import Discovery

EXAMPLES = (
    "fepysr-dyn report found",
    "fepysr-dyn report found -o supplement.html",
    "fepysr-dyn report found --compare --time-limit 60 --held-out other.csv",
)
REPORT = "report.html"
COMPARISON = "comparison.json"
#: A comparison has at most this many bytes.
_LARGEST = 50_000_000


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of a discovery.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="The report; DIR/report.html if not given."),
    ] = None,
    held_out: Annotated[
        list[Path],
        typer.Option(
            "--held-out",
            metavar="FILE",
            help="Data that took no part in the discovery (CSV or NetCDF), shown apart; repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006 (typer copies defaults)
    compare: Annotated[
        bool, typer.Option("--compare", help="Also run PySINDy's methods on the same data.")
    ] = False,
    baselines: Annotated[
        list[str],
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="With --compare: a baseline; repeatable. All that can run if not given.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            show_default=False,
            help="With --compare: for each method.",
            parser=number_option,
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Write the report of a saved discovery: one HTML file that needs no network.

    A comparison is kept in the folder as comparison.json and is in every later report.
    """
    from fepysr_dyn.discovery import load_result
    from fepysr_dyn.plain_files import inside
    from fepysr_dyn.report.page import write_report
    from fepysr_dyn.trajectories.writing import check_writable

    found = load_result(folder)
    path = inside(folder, REPORT) if out is None else out
    check_writable(path)
    with noting_warnings() as notes:
        names = list(found.system.inputs), list(found.system.states)
        unseen = read_data(held_out, *names) if held_out else None
    if compare:
        _compare(found, folder, baselines, time_limit, seed)
    comparison, complaints = _comparison(found, folder)
    notes += complaints
    write_report(found, path, comparison=comparison, held_out=unseen)
    print_warnings(notes)
    if json:
        print_json({"report": str(path), "validated": found.validation.reproduced, "warnings": notes})
    else:
        print_text(f"written: {path}")


def _compare(
    found: Discovery, folder: Path, baselines: list[str], time_limit: float | None, seed: int
) -> None:
    """Run the baselines on the data of the result, and keep what they say beside it."""
    from fepysr_dyn.comparison import compare
    from fepysr_dyn.interruption import interruptible
    from fepysr_dyn.plain_files import inside

    if found.data is None:
        raise DataError(f"{folder}: the data were not kept with this result: nothing to compare on")
    with interruptible() as cancelled, searching() as progress:
        result = compare(
            found.data,
            truth=found.truth,
            ours=found,
            baselines=baselines or None,
            seed=seed,
            time_limit=time_limit,
            progress=progress,
            cancelled=cancelled,
        )
    document = {**result.to_dict(), "data_sha256": found.provenance.get("data_sha256")}
    try:
        inside(folder, COMPARISON).write_text(json_text(document) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{folder / COMPARISON}: cannot be written: {error.strerror}") from None


def _comparison(found: Discovery, folder: Path) -> tuple[Mapping[str, Any] | None, list[str]]:
    """Return the comparison kept with a result, and what is wrong with it."""
    from fepysr_dyn.plain_files import inside

    path = inside(folder, COMPARISON)
    if not path.is_file():
        return None, []
    try:
        if path.stat().st_size > _LARGEST:
            raise DataError(f"{path}: expected at most {_LARGEST} bytes")
        document = json_module.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: expected the JSON document of a comparison") from None
    if not isinstance(document, dict):
        raise DataError(f"{path}: expected the JSON document of a comparison")
    data = found.provenance.get("data_sha256")
    if document.get("data_sha256", data) != data:
        return None, [f"{path}: made on other data, left out; --compare makes it again"]
    if _is_of_another_result(document, found):
        return None, [f"{path}: made with other equations, left out; --compare makes it again"]
    return document, []


def _is_of_another_result(document: Mapping[str, Any], found: Discovery) -> bool:
    """Return whether our own row is not this result, though nothing was held out from it."""
    from fepysr_dyn.comparison import OURS

    rows = document.get("methods")
    if document.get("held_out") != "none" or not isinstance(rows, list):
        return False
    ours = [row.get("equations") for row in rows if isinstance(row, dict) and row.get("name") == OURS]
    return any(equations != found.equations() for equations in ours)
