"""Trajectories: experiments with named states and inputs; the only place where outside data is checked."""

from __future__ import annotations

from fepysr_dyn.trajectories.reading import read_trajectories
from fepysr_dyn.trajectories.types import Trajectories, make_experiment, segments, with_role

__all__ = ["Trajectories", "make_experiment", "read_trajectories", "segments", "with_role"]
