"""``fepysr-dyn bench``: the benchmarks, resumable, on this machine or on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from fepysr_dyn.cli.bench_output import document, show_run, write_files
from fepysr_dyn.cli.options import Json, count_option, number_from, number_option, seed_option
from fepysr_dyn.cli.output import complain, console, print_json, print_table, print_text
from fepysr_dyn.errors import OptionError

if TYPE_CHECKING:
    from fepysr_dyn.benchmarks.runner import Conditions, Run, Watcher
    from fepysr_dyn.benchmarks.suites.base import Plan, Suite

EXAMPLES = (
    "fepysr-dyn bench --list",
    "fepysr-dyn bench recover --runs 3 --cap 60 --workers 2 --table recover.md",
    "fepysr-dyn bench standard --only 'Nguyen-*' --cap 10",
    "fepysr-dyn bench odes --scheduler tcp://127.0.0.1:8786",
    "fepysr-dyn bench odes --noise 0.01 --where side=pysindy",
    "fepysr-dyn bench recover --out recover.jsonl --show --figures figures",
)
SOME_FAILED = 1
INTERRUPTED = 130
#: A second of the processor can take this many on the clock before a unit counts as hung.
_BUSY = 8.0
_RUNNING, _OUTPUT = "Running", "Output"


def bench(
    suite: Annotated[
        str | None, typer.Argument(metavar="[SUITE]", help="A suite; see --list.", show_default=False)
    ] = None,
    list_suites: Annotated[bool, typer.Option("--list", help="List the suites.")] = False,
    runs: Annotated[
        int | None,
        typer.Option(help="Seeds per problem.", parser=count_option, metavar="N", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="The first seed.", parser=seed_option, metavar="N")] = 0,
    only: Annotated[
        list[str],
        typer.Option(help="Problems, as Nguyen-1,Jin-*; repeatable.", metavar="NAMES", show_default=False),
    ] = [],  # noqa: B006 (typer copies defaults)
    where: Annotated[
        list[str],
        typer.Option(
            help="Units with this setting only, as side=pysindy; repeatable.",
            metavar="NAME=VALUE",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    cap: Annotated[
        float | None,
        typer.Option(help="Seconds per search.", parser=number_option, metavar="SECONDS", show_default=False),
    ] = None,
    noise: Annotated[
        str | None, typer.Option(help="Noise levels α, as 0,0.02,0.1.", metavar="LEVELS", show_default=False)
    ] = None,
    cpu_time: Annotated[
        bool, typer.Option("--cpu-time", help="The cap counts seconds of the processor: for a busy machine.")
    ] = False,
    workers: Annotated[
        int,
        typer.Option(help="Units at a time.", parser=count_option, metavar="N", rich_help_panel=_RUNNING),
    ] = 1,
    threads: Annotated[
        int,
        typer.Option(help="Cores per unit.", parser=count_option, metavar="N", rich_help_panel=_RUNNING),
    ] = 1,
    memory: Annotated[
        float,
        typer.Option(help="Memory per unit.", parser=number_option, metavar="MB", rich_help_panel=_RUNNING),
    ] = 4000.0,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="A Dask scheduler, as tcp://host:8786.", show_default=False, rich_help_panel=_RUNNING
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat what failed.", rich_help_panel=_RUNNING)
    ] = False,
    compare_workers: Annotated[
        bool,
        typer.Option(
            "--compare-workers",
            help="Time the units with 1 worker and with --workers (2 at least).",
            rich_help_panel=_RUNNING,
        ),
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Compute nothing, show what is there.", rich_help_panel=_OUTPUT)
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Finished units, a JSON line each; read first. SUITE.jsonl unless given.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    table: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="Write the tables (.md, .csv or .json); repeatable.",
            show_default=False,
            rich_help_panel=_OUTPUT,
        ),
    ] = [],  # noqa: B006
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Draw the figures.", show_default=False, rich_help_panel=_OUTPUT),
    ] = None,
    json: Json = False,
) -> int:
    """Run a benchmark and print our figures beside the paper's.

    Every finished unit is a line of a file, so a run that was interrupted, by Ctrl-C or otherwise, goes on
    with the same command and repeats nothing. Exit code 1: some units failed.
    """
    if list_suites or suite is None:
        return _list(json)
    from fepysr_dyn.benchmarks.limits import Limits
    from fepysr_dyn.benchmarks.runner import Conditions
    from fepysr_dyn.benchmarks.suites.base import Plan
    from fepysr_dyn.benchmarks.suites.registry import load_suite
    from fepysr_dyn.benchmarks.table import check_kind

    chosen = load_suite(suite)
    for path in table:
        check_kind(path)
    plan = Plan(
        runs=_positive(chosen.runs if runs is None else runs, "--runs"),
        seed=seed,
        cap=_cap(cap, chosen),
        only=tuple(name.strip() for part in only for name in part.split(",") if name.strip()),
        noise=_levels(noise, chosen),
        clock="cpu" if cpu_time else "wall",
        threads=_positive(threads, "--threads"),
        where=tuple(_setting(text) for text in where),
    )
    if cpu_time and threads > 1:
        raise OptionError("--cpu-time: expected one thread per unit, found --threads " + str(threads))
    wall = chosen.seconds(plan) * (_BUSY if cpu_time else 1.0)
    conditions = Conditions(Limits(wall, _positive(memory, "--memory")), plan.clock, plan.threads)
    if compare_workers:
        return _compare_workers(chosen, plan, conditions, max(2, workers), json)
    out = out or Path(f"{chosen.name}.jsonl")
    run = (
        _shown(chosen, plan, out)
        if show
        else _run(chosen, plan, conditions, out, _positive(workers, "--workers"), scheduler, retry_failed)
    )
    tables = chosen.tables(run.lines) if run.lines else []
    written = write_files(chosen, run, tables, table, figures)
    if json:
        print_json(document(chosen, run, tables, out))
    else:
        show_run(run, tables, [*([] if show else [out]), *written])
    if not run.complete and not show:
        return INTERRUPTED
    return SOME_FAILED if any("error" in line for line in run.lines) else 0


def _run(
    suite: Suite,
    plan: Plan,
    conditions: Conditions,
    out: Path,
    workers: int,
    scheduler: str | None,
    retry_failed: bool,
) -> Run:
    from fepysr_dyn.benchmarks.records import RecordFile
    from fepysr_dyn.benchmarks.runner import cluster_executor, local_executor, run_units

    units = suite.planned(plan)
    with RecordFile(out) as records:
        if records.set_aside:
            complain(f"{out}: {records.set_aside} damaged lines were moved to {records.aside}")
        with cluster_executor(scheduler) if scheduler else local_executor(workers) as executor:
            return run_units(
                units,
                suite.task,
                records,
                executor,
                conditions=conditions,
                watcher=_watcher(suite),
                retry_failed=retry_failed,
            )


def _shown(suite: Suite, plan: Plan, out: Path) -> Run:
    from fepysr_dyn.benchmarks.records import read_lines
    from fepysr_dyn.benchmarks.runner import Run
    from fepysr_dyn.benchmarks.units import lines_of

    found = [line for _, line in lines_of(suite.planned(plan), read_lines(out))]
    lines = tuple(line for line in found if line is not None)
    return Run(lines, complete=len(lines) == len(found))


def _compare_workers(suite: Suite, plan: Plan, conditions: Conditions, workers: int, json: bool) -> int:
    """Time the same units with one worker and with several, in one run, nothing kept."""
    from fepysr_dyn.benchmarks.scaling import compare_workers

    result = compare_workers(suite.planned(plan), suite.task, conditions, workers, _watcher(suite))
    if result is None:
        return INTERRUPTED
    if json:
        print_json({"suite": suite.name, **vars(result), "ratio": result.ratio})
    else:
        print_text(result.text())
    return 0


def _watcher(suite: Suite) -> Watcher:
    from fepysr_dyn.benchmarks.display import BarDisplay, PlainDisplay

    if sys.stderr.isatty():
        return BarDisplay(suite.headline, console(stderr=True))
    return PlainDisplay(suite.headline)


def _list(json: bool) -> int:
    from fepysr_dyn.benchmarks.suites.registry import SUITES, load_suite

    suites = [load_suite(name) for name in SUITES]
    if json:
        print_json([{"name": s.name, "title": s.title, "runs": s.runs, "cap": s.cap} for s in suites])
    else:
        rows = [(s.name, s.title, s.runs, "" if s.cap is None else f"{s.cap:g} s") for s in suites]
        print_table("", ("suite", "what", "runs", "cap"), rows)
    return 0


def _cap(seconds: float | None, suite: Suite) -> float:
    if seconds is None:
        return suite.cap or 0.0
    if suite.cap is None:
        raise OptionError(f"--cap: the suite '{suite.name}' searches nothing, so there is nothing to cap")
    return _positive(seconds, "--cap")


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name and equals and value):
        raise OptionError(f"--where: expected NAME=VALUE, as side=pysindy, found '{text}'")
    return name, value


def _levels(text: str | None, suite: Suite) -> tuple[float, ...]:
    if text is None:
        return suite.noise
    if not suite.noise:
        raise OptionError(f"--noise: the suite '{suite.name}' has no noise levels")
    levels = tuple(number_from(part.strip(), "--noise") for part in text.split(","))
    if min(levels) < 0:
        raise OptionError(f"--noise: expected levels of at least 0, found {min(levels):g}")
    return levels


Number = TypeVar("Number", int, float)


def _positive(value: Number, option: str) -> Number:
    if not 0 < value < float("inf"):
        raise OptionError(f"{option}: expected a positive number, found {value:g}")
    return value
