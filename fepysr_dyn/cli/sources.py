"""Data files, or a model that is simulated to stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fepysr_dyn.cli.options import read_data

if TYPE_CHECKING:
    from fepysr_dyn.system import OdeSystem
    from fepysr_dyn.trajectories import Trajectories


@dataclass(frozen=True)
class Source:
    """Trajectories, and the system behind them where it is known."""

    runs: Trajectories
    truth: OdeSystem | None = None


def read_source(
    sources: list[str],
    inputs: list[str],
    states: list[str],
    *,
    noise: float = 0.0,
    seed: int = 0,
    **data_options: Any,
) -> Source:
    """Read data files as the data options say, or simulate the model that the only source names."""
    from fepysr_dyn.errors import OptionError
    from fepysr_dyn.simulation import simulate

    truth = model_among(sources)
    if truth is not None:
        return Source(simulate(truth, noise=noise, seed=seed), truth)
    if noise:
        raise OptionError("--noise is for models, which are simulated; data have their own noise")
    return Source(read_data([Path(source) for source in sources], inputs, states, **data_options))


def system_from(source: str) -> OdeSystem:
    """Read a model, or the system of a saved discovery."""
    from fepysr_dyn.errors import ModelError
    from fepysr_dyn.model_files import load_model
    from fepysr_dyn.plain_files import inside

    folder = Path(source)
    if folder.is_dir():
        if not (folder / "system.toml").is_file():
            raise ModelError(f"{folder}: expected the folder of a discovery with system.toml, found none")
        return load_model(inside(folder, "system.toml"))
    return load_model(source)


def model_among(sources: list[str]) -> OdeSystem | None:
    """Return the model if the only source names one: a model file, or a name without an ending."""
    from fepysr_dyn.model_files import MODEL_SUFFIXES, load_model

    if len(sources) == 1 and Path(sources[0]).suffix.lower() in (*MODEL_SUFFIXES, ""):
        return load_model(sources[0])
    return None
