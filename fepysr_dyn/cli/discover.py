"""``fepysr-dyn discover``: measurements, or a reference system, to differential equations."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fepysr_dyn.cli.found import interrupted_document, show_discovery, show_interrupted
from fepysr_dyn.cli.options import (
    Breakpoints,
    Decimal,
    Delimiter,
    Engine,
    Experiment,
    Inputs,
    Json,
    Noise,
    OutFolder,
    Seed,
    Sources,
    States,
    Time,
    TimeLimit,
    Workers,
)
from fepysr_dyn.cli.output import (
    complain,
    noting_warnings,
    print_json,
    print_text,
    print_warnings,
    searching,
    typed_command,
)
from fepysr_dyn.cli.report import REPORT
from fepysr_dyn.cli.sources import Source, read_source
from fepysr_dyn.errors import OptionError, SearchInterrupted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.discovery.run_files import RunSettings

EXAMPLES = (
    "fepysr-dyn discover tyson_two_protein",
    "fepysr-dyn discover measurements.csv --input S -o found",
    "fepysr-dyn discover measurements.csv --input S -o found --resume",
    "fepysr-dyn discover measurements.csv --config run.toml --seed 3 --json",
)
NOT_VALIDATED = 1
INTERRUPTED = 130
#: Seconds after Ctrl-C in which a search may end by itself.
_PATIENCE = 0.8


def discover(
    context: typer.Context,
    sources: Sources,
    inputs: Inputs = [],  # noqa: B006 (typer copies defaults)
    states: States = [],  # noqa: B006
    time: Time = "time",
    experiment: Experiment = "experiment",
    breakpoints: Breakpoints = "auto",
    delimiter: Delimiter = ",",
    decimal: Decimal = ".",
    noise: Noise = 0.0,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            metavar="FILE",
            help="A TOML file with settings and what is known about each equation; options given here come "
            "before it.",
            show_default=False,
        ),
    ] = None,
    engine: Engine = "portfolio",
    time_limit: TimeLimit = None,
    workers: Workers = None,
    out: OutFolder = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a run that was killed, from what is in the folder.")
    ] = False,
    seed: Seed = 0,
    json: Json = False,
) -> int:
    """Find the differential equations behind time series.

    Derivatives are estimated, a right-hand side is searched for each state, constants are refitted where
    there is noise, and the system is integrated again and compared. Exit code 1: nothing reproduces the
    data; the best attempts are shown. Ctrl-C shows what was found so far.
    """
    from fepysr_dyn.discovery.files import prepared_folder, save_result, to_document
    from fepysr_dyn.discovery.run_files import FILE, write_run
    from fepysr_dyn.plain_files import inside
    from fepysr_dyn.report.page import write_report

    settings = _settings(context, config, out if resume else None)
    if workers is not None and workers < 1:
        raise OptionError(f"--workers: expected at least 1, found {workers}")
    if resume and out is None:
        raise OptionError("--resume: expected -o with the folder of the run that is to be continued")
    if out is not None:
        prepared_folder(out)
    try:
        with noting_warnings() as notes:
            source = _read(sources, settings)
            if out is not None and not resume:
                _start_over(out, settings)
            found = _run(source, settings, workers, out)
    except SearchInterrupted as interruption:
        return _interrupted(interruption, out, json=json)
    found = replace(found, provenance={**found.provenance, "command": typed_command(context)})
    if out is not None:
        save_result(found, out)
        write_run(settings, out / FILE)
        write_report(found, inside(out, REPORT))
    print_warnings([*notes, *found.warnings])
    if json:
        print_json(to_document(found))
    else:
        show_discovery(found)
        if out is not None:
            print_text(f"report: {out / REPORT}")
    return 0 if found.validation.reproduced else NOT_VALIDATED


def _settings(context: typer.Context, config: Path | None, resumed: Path | None) -> RunSettings:
    """Return the settings of the file, if there is one, and above them what was typed."""
    from fepysr_dyn.discovery.run_files import FILE, RunSettings, read_run, same_but

    if config is None and resumed is not None and (resumed / FILE).is_file():
        config = resumed / FILE
    settings = RunSettings() if config is None else read_run(config)
    known = {part.name for kind in (settings, settings.config, settings.data) for part in fields(kind)}
    typed = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in context.params.items()
        if name in known - {"config"} and _was_typed(context, name)
    }
    return same_but(settings, **typed)


def _was_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _start_over(out: Path, settings: RunSettings) -> None:
    """Remove what an earlier run kept in the folder, and say with what settings this one runs."""
    from fepysr_dyn.discovery.checkpoint import clear_checkpoint
    from fepysr_dyn.discovery.journal import FILE as LOG
    from fepysr_dyn.discovery.run_files import FILE, write_run

    clear_checkpoint(out)
    (out / LOG).unlink(missing_ok=True)
    write_run(settings, out / FILE)


def _read(sources: list[str], settings: RunSettings) -> Source:
    options = {**vars(settings.data)}
    inputs, states = list(options.pop("inputs")), list(options.pop("states"))
    source = read_source(sources, inputs, states, seed=settings.seed, **options)
    settings.config.check(source.runs.states, source.runs.inputs)
    return source


def _run(source: Source, settings: RunSettings, workers: int | None, out: Path | None) -> Discovery:
    from fepysr_dyn.discovery import discover as run_discovery
    from fepysr_dyn.interruption import interruptible

    with ExitStack() as stack:
        executor = _executor(stack, workers, len(source.runs.states))
        cancelled = stack.enter_context(interruptible(_PATIENCE))
        progress = stack.enter_context(searching())
        return run_discovery(
            source.runs,
            config=settings.config,
            seed=settings.seed,
            time_limit=settings.time_limit,
            progress=progress,
            cancelled=cancelled,
            truth=source.truth,
            executor=executor,
            checkpoint=out,
        )


def _executor(stack: ExitStack, workers: int | None, states: int) -> Executor | None:
    """Return worker processes, or None where one process is enough."""
    from fepysr_dyn.discovery.workers import WorkerPool, cores

    count = min(cores(), states) if workers is None else workers
    return stack.enter_context(WorkerPool(count, processes=states)) if count > 1 else None


def _interrupted(interruption: SearchInterrupted, out: Path | None, *, json: bool) -> int:
    if json:
        print_json(interrupted_document(interruption.fronts))
    else:
        show_interrupted(interruption.fronts)
    if out is not None:
        complain(f"what is finished is kept in {out}; --resume continues from there")
    return INTERRUPTED
