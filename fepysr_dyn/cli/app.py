"""The application: its commands, and how every way of ending becomes an exit code and at most one line."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, NoReturn

import typer

from fepysr_dyn import __version__
from fepysr_dyn.cli import (
    bench,
    compare,
    derive,
    discover,
    export,
    features,
    fit,
    models,
    report,
    simulate,
    validate,
)
from fepysr_dyn.cli.output import complain
from fepysr_dyn.errors import FepysrDynError

WRONG_CALL = 2
INTERRUPTED = 130

app = typer.Typer(
    name="fepysr-dyn",
    help="Find the differential equations behind time series.",
    epilog="Exit codes: 0 done, 1 it ran and the answer is no, 2 the input or the call is wrong.",
    pretty_exceptions_enable=False,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _add(name: str, function: Callable[..., int | None], examples: Sequence[str]) -> None:
    """Add a command, with examples below its options."""
    app.command(name, epilog="\n\n".join(("Examples:", *examples)))(function)


_add("models", models.models, models.EXAMPLES)
_add("simulate", simulate.simulate, simulate.EXAMPLES)
_add("derive", derive.derive, derive.EXAMPLES)
_add("features", features.features, features.EXAMPLES)
_add("fit", fit.fit, fit.EXAMPLES)
_add("discover", discover.discover, discover.EXAMPLES)
_add("validate", validate.validate, validate.EXAMPLES)
_add("compare", compare.compare, compare.EXAMPLES)
_add("export", export.export, export.EXAMPLES)
_add("report", report.report, report.EXAMPLES)
_add("bench", bench.bench, bench.EXAMPLES)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"fepysr-dyn {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _without_command(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a letter gets its code instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    if not sys.warnoptions:
        # Remarks of libraries are not for users; our own are printed by the commands.
        warnings.simplefilter("ignore")
    try:
        code = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has left. Nothing may be flushed into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    if code == INTERRUPTED:
        # Who pressed Ctrl-C does not wait for libraries and their threads to tidy up.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    try:
        # What was typed goes along as the context's object: results say how they were made.
        typed = list(sys.argv[1:] if arguments is None else arguments)
        code = app(args=arguments, prog_name="fepysr-dyn", standalone_mode=False, obj=typed)
    except FepysrDynError as error:
        complain(str(error))
        return WRONG_CALL
    except typer.TyperException as error:
        complain(f"{error.format_message()} (see --help)")
        return WRONG_CALL
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except MemoryError:
        complain("there is not enough memory for this")
        return WRONG_CALL
    if code == INTERRUPTED:
        complain("interrupted")
    return int(code or 0)
