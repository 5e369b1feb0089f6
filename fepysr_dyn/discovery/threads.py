"""One thread for linear algebra, so that sums are added up in the same order on every machine."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

_lock = threading.Lock()
_inside = 0
_limits: Any = None


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Let BLAS and OpenMP use one thread inside; also for several threads that are inside at once."""
    global _inside, _limits
    with _lock:
        _inside += 1
        if _inside == 1:
            _limits = use_one_thread()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limits.restore_original_limits()
                _limits = None


def use_one_thread() -> Any:
    """Limit BLAS and OpenMP to one thread; return what undoes it."""
    # Only what is loaded can be limited. torch limits itself where it trains.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    return threadpool_limits(limits=1)
