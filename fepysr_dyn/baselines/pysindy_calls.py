"""PySINDy kept quiet and repeatable; it is imported here, when a baseline runs, and nowhere else."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from fepysr_dyn.errors import MissingDependencyError


def load_pysindy() -> Any:
    """Return the module pysindy; importing it takes seconds."""
    with quiet():
        try:
            import pysindy
        except ImportError:
            raise MissingDependencyError(
                "this baseline needs PySINDy, which is not installed; install it with: pip install pysindy"
            ) from None
    return pysindy


def load_implicit_optimizer() -> Any:
    """Return PySINDy's SINDyPI class, which exists only where cvxpy does."""
    optimizer = getattr(load_pysindy(), "SINDyPI", None)
    if optimizer is None:
        raise MissingDependencyError(
            "the baseline 'sindy-pi' needs cvxpy, which is not installed; install the extra with: "
            "pip install 'fepysr-dyn[sindy-pi]'"
        )
    return optimizer


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep warnings and prints of the libraries inside from the user."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed numpy's global generator, which PySINDy draws from, for a while; its own state is put back."""
    state = np.random.get_state()
    np.random.seed(np.random.SeedSequence(seed).generate_state(4))
    try:
        yield
    finally:
        np.random.set_state(state)
