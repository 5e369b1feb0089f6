"""``fepysr-dyn features``: what a column of a table is likely to be made of (stage 1 alone)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fepysr_dyn.cli.files import Files
from fepysr_dyn.cli.options import Json, Plot, Seed, count_option
from fepysr_dyn.cli.output import console, print_json, print_table, print_text
from fepysr_dyn.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fepysr_dyn.features import FeatureLibrary, FmnConfig

EXAMPLES = (
    "fepysr-dyn features data.csv --target y",
    "fepysr-dyn features data.csv --target y --preset paper --top 4 --plot features.png",
    "fepysr-dyn features data.csv --target y --operators 'square,exp,+,-,*,/' --json",
)
_BAR = 30


def features(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV file with a header, numbers only.")],
    target: Annotated[str, typer.Option("--target", metavar="NAME", help="The column to explain.")],
    top: Annotated[
        int | None, typer.Option(help="How many features to show.", parser=count_option, metavar="N")
    ] = None,
    preset: Annotated[str, typer.Option(help="default or paper.")] = "default",
    operators: Annotated[
        str | None, typer.Option(metavar="LIST", help="Kinds of units, as 'square,sin,exp,+,-,*,/'.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Independent trainings.", parser=count_option, metavar="N")
    ] = None,
    seed: Seed = 0,
    delimiter: Annotated[str, typer.Option(metavar="SIGN", help="What separates CSV fields.")] = ",",
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Rank the features a column of a table is likely to be made of.

    Trains the feature mapping network and prints its features with their occurrences, the best first.
    """
    files = Files(plot=plot)
    config = _config(preset, operators, runs)
    if top is not None and top < 1:
        raise OptionError(f"--top: expected at least 1, found {top}")
    from fepysr_dyn.cli.table_file import read_table

    table, values = read_table(data, target, delimiter="\t" if delimiter == "\\t" else delimiter)
    from fepysr_dyn.features.extract import extract_features

    with _progress_bar() as progress:
        library = extract_features(
            table.to_numpy(),
            values.to_numpy(),
            names=list(table.columns),
            config=config,
            seed=seed,
            progress=progress,
        ).top(top)
    if plot is not None:
        files.draw(lambda: _figure(library, target))
    if json:
        print_json(_document(library, target, preset, seed))
    else:
        _show(library)
        files.report()


def _config(preset: str, operators: str | None, runs: int | None) -> FmnConfig:
    from fepysr_dyn.features.config import resolve_config

    changes: dict[str, Any] = {}
    if operators is not None:
        changes["operators"] = tuple(operators.replace(",", " ").split())
    if runs is not None:
        changes["runs"] = runs
    return resolve_config(preset, None, **changes)


def _document(library: FeatureLibrary, target: str, preset: str, seed: int) -> dict[str, Any]:
    table = library.to_pandas()
    return {
        "target": target,
        "variables": list(library.variables),
        "preset": preset,
        "seed": seed,
        "runs": library.report.runs,
        "dropped_runs": list(library.report.dropped),
        "unit_outputs": library.report.unit_outputs,
        "features": table.drop(columns="variants").to_dict(orient="records"),
    }


def _show(library: FeatureLibrary) -> None:
    largest = max(library.scores, default=1.0) or 1.0
    rows = [
        (rank, name, count, float(f"{score:.3g}"), "█" * max(1, round(_BAR * score / largest)))
        for rank, (name, count, score) in enumerate(
            zip(library.names, library.counts, library.scores, strict=True), start=1
        )
    ]
    print_table("", ("rank", "feature", "count", "score", ""), rows)
    print_text(str(library.report))


def _figure(library: FeatureLibrary, target: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 1 + 0.35 * len(library)), layout="constrained")
    axes = figure.subplots()
    names = library.names[::-1]
    bars = axes.barh(range(len(names)), library.scores[::-1], color="#4477aa")
    axes.bar_label(bars, [f" {count}" for count in library.counts[::-1]], fontsize=8)
    axes.set_yticks(range(len(names)), [name if len(name) < 40 else name[:39] + "…" for name in names])
    axes.set_xlabel("score (number: occurrences in the units of all runs)")
    axes.set_title(f"features of {target}")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


@contextmanager
def _progress_bar() -> Iterator[Callable[[float, str], None] | None]:
    """Yield a callback that moves a bar on a terminal, or None where nobody looks on."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=1.0)
        yield lambda fraction, message: bar.update(task, completed=fraction, description=message)
