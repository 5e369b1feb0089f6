"""The log of a run: what was done when, and what was chosen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from fepysr_dyn.discovery.codec import read_expression
from fepysr_dyn.discovery.display import rounded_text
from fepysr_dyn.discovery.units import Unit
from fepysr_dyn.plain_files import inside
from fepysr_dyn.search.problem import Progress

FILE = "log.txt"
#: Seconds between two lines about the progress of one unit.
_EVERY = 10.0


class Journal:
    """Lines with time stamps, added to a file; a log that cannot be written stops nothing.

    Parameters
    ----------
    folder : path, optional
        Where to; nowhere if not given.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._path = None if folder is None else inside(Path(folder), FILE)
        self._last: dict[str, float] = {}

    def write(self, text: str) -> None:
        """Add a line."""
        if self._path is None:
            return
        stamp = datetime.now().astimezone().isoformat(timespec="seconds")
        with contextlib.suppress(OSError), self._path.open("a", encoding="utf-8") as stream:
            stream.write(f"{stamp} {' '.join(text.split())}\n")

    def progress(self, title: str, report: Progress) -> None:
        """Add a line about a running unit now and then."""
        now = time.monotonic()
        if self._path is not None and now - self._last.get(title, 0.0) >= _EVERY:
            self._last[title] = now
            loss = f", loss {report.best_loss:.3g}"
            self.write(f"{title}: {report.fraction:.0%}, {report.engine}: {report.message}{loss}")

    def finished(self, unit: Unit, document: Mapping[str, Any], seconds: float, remark: str = "") -> None:
        """Add what a unit found and chose."""
        if self._path is None:
            return
        how = remark or f"done in {seconds:.1f} s"
        self.write(f"{unit.title}: {how}")
        for line in _choices(unit, document):
            self.write(f"{unit.title}: {line}")


def _choices(unit: Unit, document: Mapping[str, Any]) -> list[str]:
    kind = unit.name[0]
    if kind == "derivatives":
        return [
            f"{c['experiment']}, {c['state']}: {c['method']} ({c['settings']}); {c['reason']}"
            for c in document["choices"]
        ]
    if kind == "search":
        choice, front = document["choice"], document["front"]
        lines = [
            f"chose {_formula(choice['candidate']['expression'])} of {len(front['candidates'])} candidates: "
            f"{choice['reason']}"
        ]
        if front["message"]:
            lines.append(front["message"])
        if not document["complete"]:
            lines.append("cut short by its time limit: another run may find something else")
        return lines
    if kind == "system":
        rates = [f"d{state}/dt = {_formula(rate)}" for state, rate in document["rates"].items()]
        return [*rates, *filter(None, [document["message"]])]
    return [
        f"smallest R² {document['worst_r2']}, largest NRMSE {document['worst_nrmse']}",
        *document["notes"],
    ]


def _formula(document: Any) -> str:
    return rounded_text(read_expression(document))
