"""Units that a test lets run in real processes: good ones, and every way of going wrong."""

import os
import sys
import time


def add(unit):
    """Return a sum, slowly if asked, and note in a file that it was computed."""
    time.sleep(unit.setting.get("sleep", 0.0))
    journal = unit.setting.get("journal")
    if journal:
        with open(journal, "a") as stream:
            stream.write(f"{unit.problem} {unit.seed}\n")
    print("noise on the standard output")  # noqa: T201
    return {"sum": unit.setting.get("a", 0) + unit.seed, "pid": os.getpid()}


def misbehave(unit):
    """Go wrong in the way the problem's name says."""
    kind = unit.problem
    if kind == "exit":
        sys.stderr.write("about to leave\n")
        sys.stderr.flush()
        os._exit(3)
    if kind == "abort":
        os.abort()
    if kind == "raise":
        raise ValueError("not\nthis way")
    if kind == "hang":
        time.sleep(600)
    if kind == "eat":
        kept = []
        while True:
            kept.append(bytearray(b"x" * 20_000_000))
            time.sleep(0.01)
    if kind == "burst":
        return {"size": len(bytearray(50_000_000_000))}
    return add(unit)


def clocks(unit):
    """Sleep, and tell what the clock of a cap says about it."""
    start = time.monotonic()
    time.sleep(0.5)
    return {"passed": time.monotonic() - start, "threads": os.environ["OMP_NUM_THREADS"]}
