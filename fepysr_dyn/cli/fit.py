"""``fepysr-dyn fit``: a formula for one column of a table from the others."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fepysr_dyn.cli.files import Files
from fepysr_dyn.cli.options import Json, Plot, Seed, count_option, number_option
from fepysr_dyn.cli.output import complain, console, print_json, print_table, print_text
from fepysr_dyn.errors import DataError, OptionError

if TYPE_CHECKING:
    from fepysr_dyn.regressor import FePySR
    from fepysr_dyn.search.problem import ProgressCallback

EXAMPLES = (
    "fepysr-dyn fit data.csv --target y",
    "fepysr-dyn fit data.csv --target y --time-limit 60 --plot front.png -o result",
    "fepysr-dyn fit data.csv --target y --operators '+,*,/,exp' --no-features --json",
)


def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A CSV file with a header, numbers only.")],
    target: Annotated[str, typer.Option("--target", metavar="NAME", help="The column to explain.")],
    engine: Annotated[
        str, typer.Option(help="portfolio, sparse, rational, parametric, evolution, pysr or operon.")
    ] = "portfolio",
    time_limit: Annotated[
        float | None,
        typer.Option(help="Seconds; then the best so far.", parser=number_option, metavar="SECONDS"),
    ] = None,
    seed: Seed = 0,
    no_features: Annotated[bool, typer.Option("--no-features", help="Leave stage 1 out.")] = False,
    operators: Annotated[
        str | None, typer.Option(metavar="LIST", help="What formulas are made of, as '+,-,*,/,exp,sin'.")
    ] = None,
    max_complexity: Annotated[
        int, typer.Option(help="Largest number of nodes.", parser=count_option, metavar="N")
    ] = 40,
    workers: Annotated[
        int, typer.Option(help="Cores a search may use.", parser=count_option, metavar="N")
    ] = 1,
    delimiter: Annotated[str, typer.Option(metavar="SIGN", help="What separates CSV fields.")] = ",",
    plot: Plot = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="PATH", help="A .json file, or a folder for the fit and its front."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Find a formula for one column of a table.

    Prints the formula, the front of loss against complexity, and what stage 1 proposed. A search that is
    interrupted or out of time answers with the best so far and says so.
    """
    files = Files(plot=plot)
    _check_out(out)
    _check_positive(time_limit, max_complexity, workers)
    from fepysr_dyn.cli.table_file import read_table

    table, values = read_table(data, target, delimiter="\t" if delimiter == "\\t" else delimiter)
    from fepysr_dyn.regressor import FePySR
    from fepysr_dyn.search.problem import DEFAULT_OPERATORS

    allowed = DEFAULT_OPERATORS if operators is None else tuple(_split(operators))
    with _progress_bar() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FePySR(
            engine=engine,
            features=None if no_features else "fmn",
            operators=allowed,
            max_complexity=max_complexity,
            time_limit=time_limit,
            seed=seed,
            workers=workers,
            progress=progress,
        ).fit(table, values)
    _write(model, out)
    if plot is not None:
        from fepysr_dyn.report.front_figure import front_figure

        files.draw(lambda: front_figure(model.front_, model.choice_))
    if json:
        print_json(_document(model, target))
    else:
        _show(model, target)
        files.report()
        if out is not None:
            print_text(f"written: {out}")
    if model.interrupted_ and not model.choice_.exact:
        complain("warning: the search was cut short; this is the best so far")


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.replace(" ", ",").split(",") if part.strip()]


def _check_positive(time_limit: float | None, max_complexity: int, workers: int) -> None:
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise OptionError(f"--time-limit: expected a positive number of seconds, found {time_limit:g}")
    if max_complexity < 1:
        raise OptionError(f"--max-complexity: expected at least 1, found {max_complexity}")
    if workers < 1:
        raise OptionError(f"--workers: expected at least 1, found {workers}")


def _check_out(out: Path | None) -> None:
    """Find out before the work whether the answer can be written after it."""
    if out is None:
        return
    if out.suffix == ".json":
        from fepysr_dyn.trajectories.writing import check_writable

        check_writable(out)
    elif out.exists() and not out.is_dir():
        raise OptionError(f"{out}: expected a folder or a name that ends in .json, found a file")
    else:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(f"{out}: cannot be made: {error.strerror}") from None


def _write(model: FePySR, out: Path | None) -> None:
    if out is None:
        return
    if out.suffix == ".json":
        model.save(out)
        return
    model.save(out / "fit.json")
    try:
        model.front_.to_pandas().to_csv(out / "front.csv", index=False)
    except OSError as error:
        raise DataError(f"{out}: cannot be written: {error.strerror}") from None


def _document(model: FePySR, target: str) -> dict[str, Any]:
    from fepysr_dyn.fit_files import fit_document

    return {"target": target, "latex": model.latex(), **fit_document(model)}


def _show(model: FePySR, target: str) -> None:
    from fepysr_dyn.expressions import to_text

    choice = model.choice_
    rows = [
        ("►" if candidate.expression == model.expression_ else "", candidate.complexity, candidate.loss,
         candidate.engine, to_text(candidate.expression))
        for candidate in model.front_
    ]  # fmt: skip
    print_table("", ("", "nodes", "loss", "engine", "formula"), rows)
    print_text(f"{target} = {to_text(model.expression_)}")
    print_text(choice.reason)
    if choice.unsnapped.expression != model.expression_:
        print_text(f"before its constants were simplified: {to_text(choice.unsnapped.expression)}")
    for other in choice.alternatives[:5]:
        print_text(f"as good: {to_text(other.expression)}")
    if model.features_:
        print_text("features: " + ", ".join(to_text(feature) for feature in model.features_))
    print_text(f"{model.seconds_:.1f} s")


@contextmanager
def _progress_bar() -> Iterator[ProgressCallback | None]:
    """Yield a callback that moves a bar on a terminal, or None where nobody looks on."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)

        def move(report: Any) -> None:
            best = f", best {report.best_loss:.1e}" if report.best_loss < float("inf") else ""
            bar.update(
                task, completed=report.fraction, description=f"{report.engine}: {report.message}{best}"
            )

        yield move
