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

    def is_over(self) -> bool:
        """Return whether all of the time is over."""
        return self._runtime.must_stop()

    def runtime(self, share: float, position: int, parts: Collection[object]) -> Runtime:
        """Return a runtime that ends when such a part of what is left until a share of the time is over."""
        now = time.monotonic()
        end = now + (self._end(share) - now) / (len(parts) - position)
        return replace(self._runtime, deadline=min(max(now, end), self._runtime.deadline), progress=None)

    def _end(self, share: float) -> float:
        return self._began + share * (self._runtime.deadline - self._began)
