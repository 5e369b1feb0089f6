"""Where a result came from: versions, seed, configuration, hash of the data."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

import fepysr_dyn

if TYPE_CHECKING:
    from fepysr_dyn.derivatives import Derivatives
    from fepysr_dyn.discovery.config import DiscoveryConfig
    from fepysr_dyn.trajectories import Trajectories

_PACKAGES = ("numpy", "scipy", "sympy", "symengine", "xarray", "scikit-learn", "torch", "numba")


def provenance_of(
    trajectories: Trajectories, config: DiscoveryConfig, seed: int, derivatives: Derivatives
) -> dict[str, Any]:
    """Return all that is needed to repeat a discovery."""
    return {
        "versions": {
            "fepysr-dyn": fepysr_dyn.__version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in _PACKAGES},
        },
        "seed": seed,
        "config": asdict(config),
        "data_sha256": data_hash(trajectories),
        "derivatives": [str(choice) for choice in derivatives.choices],
    }


def data_hash(trajectories: Trajectories) -> str:
    """Return a hash of names, times, values and breakpoints of all experiments."""
    digest = hashlib.sha256()
    for run in trajectories:
        digest.update(str(run.attrs["name"]).encode())
        digest.update(np.asarray(run.attrs["breakpoints"], dtype="<f8").tobytes())
        digest.update(run["time"].to_numpy().astype("<f8").tobytes())
        for name in sorted((*trajectories.states, *trajectories.inputs)):
            digest.update(name.encode())
            digest.update(run[name].to_numpy().astype("<f8").tobytes())
    return digest.hexdigest()
