"""Baselines by name, imported when asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial

from fepysr_dyn.baselines.base import Baseline
from fepysr_dyn.errors import OptionError, did_you_mean

#: name -> (module below fepysr_dyn.baselines, function that makes it, its arguments)
BASELINES: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "sindy-poly1": ("polynomial", "make_polynomial", (1,)),
    "sindy-poly2": ("polynomial", "make_polynomial", (2,)),
    "sindy-poly3": ("polynomial", "make_polynomial", (3,)),
    "sindy-fourier": ("fourier", "make_fourier", ()),
    "sindy-exp": ("exponential", "make_exponential", ()),
    "sindy-weak": ("weak", "make_weak", ()),
    "sindy-ensemble": ("ensemble", "make_ensemble", ()),
    "sindy-pi": ("implicit", "make_implicit", ()),
}


def make_baseline(name: str) -> Baseline:
    """Return a baseline with its stated grid.

    Examples
    --------
    >>> make_baseline("sindy-poly2").name
    'sindy-poly2'
    """
    if name not in BASELINES:
        hint = did_you_mean(name, BASELINES) or f"; choose among {', '.join(BASELINES)}"
        raise OptionError(f"unknown baseline '{name}'{hint}")
    module, attribute, arguments = BASELINES[name]
    make: Callable[..., Baseline] = getattr(
        importlib.import_module(f"fepysr_dyn.baselines.{module}"), attribute
    )
    return partial(make, *arguments)()
