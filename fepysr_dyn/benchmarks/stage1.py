"""Benchmarks of stage 1: ``python -m fepysr_dyn.benchmarks.stage1 speed|quality|noise|tyson``.

Each prints its table with the load of the machine before and after, because timings and nothing else depend
on it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence


def say(text: str = "") -> None:
    """Print a line at once, so that a long benchmark can be watched."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def load() -> str:
    """Return the load of the machine and its cores as text."""
    averages = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"load {averages} on {os.cpu_count()} cores"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one benchmark."""
    from fepysr_dyn.benchmarks import stage1_noise, stage1_quality, stage1_speed, stage1_tyson

    benchmarks: dict[str, Callable[[list[int]], None]] = {
        "speed": stage1_speed.report,
        "quality": stage1_quality.report,
        "noise": stage1_noise.report,
        "tyson": stage1_tyson.report,
    }
    parser = argparse.ArgumentParser(prog="python -m fepysr_dyn.benchmarks.stage1", description=__doc__)
    parser.add_argument("benchmark", choices=benchmarks)
    parser.add_argument("--seeds", type=int, default=None, metavar="N", help="number of seeds")
    options = parser.parse_args(arguments)
    count = options.seeds or {"quality": 3, "noise": 1, "tyson": 20, "speed": 1}[options.benchmark]
    say(load())
    benchmarks[options.benchmark](list(range(1, count + 1)))
    say(load())


if __name__ == "__main__":
    main()
