"""The time of one unit of work, divided among its parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace

from fepysr_dyn.search.problem import Runtime


class Clock:
    """Shares of the time until a deadline."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._began = time.monotonic()

    def until(self, share: float, position: int = 0, parts: Collection[object] = (1,)) -> Callable[[], bool]:
        """Return what says whether a part of a share of the time is over."""
        end = self._end(share * (position + 1) / len(parts))
        return lambda: time.monotonic() > end or self._runtime.must_stop()

    def part(self, share: float, last: float) -> Callable[[], bool]:
        """Return what says whether so long a share from now on is over, or the time until the last one."""
        end = self._from_now(share, last)
        return lambda: time.monotonic() > end or self._runtime.must_stop()

    def runtime(self, share: float, parts: Collection[object], last: float) -> Runtime:
        """Return a runtime for one of several parts that together may take so long a share from now on."""
        now = time.monotonic()
        end = now + (self._from_now(share, last) - now) / len(parts)
        return replace(self._runtime, deadline=min(max(now, end), self._runtime.deadline), progress=None)

    def _from_now(self, share: float, last: float) -> float:
        length = self._end(share) - self._began
        return min(time.monotonic() + length, self._end(last))

    def _end(self, share: float) -> float:
        return self._began + share * (self._runtime.deadline - self._began)
