"""discover(): straight-line composition of derivatives, search, refinement and validation."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fepysr_dyn
from fepysr_dyn.discovery.adequacy import data_warnings
from fepysr_dyn.discovery.checkpoint import Checkpoint
from fepysr_dyn.discovery.config import DiscoveryConfig
from fepysr_dyn.discovery.documents import read_derivatives, read_search, read_settled
from fepysr_dyn.discovery.files import read_validation
from fepysr_dyn.discovery.forms import SHARES, forms_for
from fepysr_dyn.discovery.journal import Journal
from fepysr_dyn.discovery.provenance import data_hash, provenance_of
from fepysr_dyn.discovery.result import Discovery
from fepysr_dyn.discovery.schedule import Done, Scheduler
from fepysr_dyn.discovery.settling import NAME, SearchKey
from fepysr_dyn.discovery.units import Seeds, Unit, derive_unit, search_unit, settle_unit, validate_unit
from fepysr_dyn.errors import OptionError
from fepysr_dyn.measured_system import measured_system
from fepysr_dyn.model_files import system_to_toml
from fepysr_dyn.search.problem import ProgressCallback, Runtime
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.trajectories import Trajectories

if TYPE_CHECKING:
    import threading

#: Share of a time limit for the searches; the rest is for choosing, refitting and integrating.
_SEARCH_SHARE = 0.85
_LEAST_SHARE = 0.05


def discover(
    trajectories: Trajectories,
    *,
    config: DiscoveryConfig | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    cancelled: threading.Event | None = None,
    truth: OdeSystem | None = None,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
) -> Discovery:
    """Find the differential equations behind trajectories.

    Parameters
    ----------
    trajectories : Trajectories
        Measured or simulated experiments.
    config : DiscoveryConfig, optional
        Effort, operators, and what is known about each equation.
    seed : int
        Decides everything random.
    time_limit : float, optional
        Seconds for the whole search; it only cuts short, and the result says so.
    progress : callable, optional
        Called with a `Progress`.
    cancelled : threading.Event, optional
        Ends the search soon after it is set.
    truth : OdeSystem, optional
        Only scored against, never used in the search.
    executor : concurrent.futures.Executor, optional
        Where the searches for the states run side by side: a `WorkerPool`, another pool of processes, or
        that of dask.distributed (``client.get_executor()``). It does not change the result.
    checkpoint : path, optional
        A folder in which every finished unit of work is kept, with a log. Called again with the same
        folder, what is finished is not done again.

    Raises
    ------
    SearchInterrupted
        If it was cancelled; the error holds the fronts so far.
    OptionError
        If an option makes no sense, or the checkpoint belongs to a run with other data or settings.
    """
    started, begun = time.monotonic(), time.time()
    config = config or DiscoveryConfig()
    config.check(trajectories.states, trajectories.inputs)
    seeds = Seeds(seed)
    if time_limit is not None and not time_limit > 0:
        raise OptionError(f"a time limit must be positive seconds, got {time_limit}")
    journal = Journal(checkpoint)
    keeper = None if checkpoint is None else Checkpoint(checkpoint, _identity(trajectories, config, seed))
    scheduler = Scheduler(Runtime(progress=progress, cancelled=cancelled), executor, keeper, journal)
    if time_limit is not None:
        scheduler.until = begun + _SEARCH_SHARE * time_limit
    journal.write(
        f"fepysr-dyn {fepysr_dyn.__version__}, seed {seed}, states {', '.join(trajectories.states)}"
    )

    (slopes,) = scheduler.run([Unit(("derivatives",), derive_unit, (trajectories,))], 0.0, 0.05)
    config = _limited(config, time_limit, len(trajectories.states), scheduler.slots)
    searches = _search(scheduler, trajectories, slopes, config, seeds)
    if time_limit is not None:
        # What the searches left of the whole, and a little if they left nothing.
        scheduler.until = max(begun + time_limit, time.time() + _LEAST_SHARE * time_limit)
    settled, validation = _settle(scheduler, trajectories, slopes, searches, config, seeds, truth)
    scheduler.runtime.report("done", 1.0, "done")

    derivatives, choice = read_derivatives(slopes.document), read_settled(settled.document)
    own = {state: read_search(searches[state, form].document) for state, form in choice.forms.items()}
    return Discovery(
        system=measured_system(NAME, choice.rates, trajectories),
        fronts={state: search.front for state, search in own.items()},
        alternatives={state: search.choice.alternatives for state, search in own.items()},
        confidence=choice.confidence,
        constants=choice.constants,
        validation=read_validation(validation.document),
        features={state: search.features for state, search in own.items()},
        forms=choice.forms,
        warnings=(*data_warnings(trajectories, derivatives), *filter(None, [choice.message])),
        provenance=provenance_of(trajectories, config, seed, derivatives),
        seconds=time.monotonic() - started + scheduler.reused,
        complete=all(bool(done.document["complete"]) for done in searches.values()),
        data=trajectories,
        truth=truth,
    )


def _identity(trajectories: Trajectories, config: DiscoveryConfig, seed: int) -> dict[str, Any]:
    """Return what decides the result; time limits only cut short, and units note when they did."""
    settings = asdict(config)
    del settings["seconds_per_state"]
    return {
        "version": fepysr_dyn.__version__,
        "data_sha256": data_hash(trajectories),
        "states": list(trajectories.states),
        "inputs": list(trajectories.inputs),
        "seed": seed,
        "config": settings,
    }


def _limited(config: DiscoveryConfig, time_limit: float | None, states: int, slots: int) -> DiscoveryConfig:
    """Return the configuration with the time limit shared among the states."""
    if time_limit is None:
        return config
    share = _SEARCH_SHARE * time_limit / math.ceil(states / slots)
    return replace(config, seconds_per_state=min(config.seconds_per_state, share))


def _search(
    scheduler: Scheduler,
    trajectories: Trajectories,
    slopes: Done,
    config: DiscoveryConfig,
    seeds: Seeds,
) -> dict[SearchKey, Done]:
    derivatives = read_derivatives(slopes.document)
    units: dict[SearchKey, Unit] = {}
    for position, state in enumerate(trajectories.states):
        forms = forms_for(state, trajectories, derivatives, config)
        for form in forms:
            seconds = config.seconds_per_state * (SHARES[form] if len(forms) > 1 else 1.0)
            own = replace(config, seconds_per_state=seconds)
            arguments = ((state, form), trajectories, slopes.document, own, seeds.search(position, form))
            units[state, form] = Unit(("search", state, form), search_unit, arguments, (slopes.key,), seconds)
    return dict(zip(units, scheduler.run(list(units.values()), 0.05, 0.95), strict=True))


def _settle(
    scheduler: Scheduler,
    trajectories: Trajectories,
    slopes: Done,
    searches: Mapping[SearchKey, Done],
    config: DiscoveryConfig,
    seeds: Seeds,
    truth: OdeSystem | None,
) -> tuple[Done, Done]:
    documents = {key: done.document for key, done in searches.items()}
    arguments = (trajectories, slopes.document, documents, config, seeds.system())
    keys = (slopes.key, *(done.key for done in searches.values()))
    # As long as the searches may take, so may the choice among what they found.
    seconds = config.seconds_per_state * len(trajectories.states)
    (settled,) = scheduler.run([Unit(("system",), settle_unit, arguments, keys, seconds)], 0.95, 0.97)
    true_system = None if truth is None else system_to_toml(truth)
    unit = Unit(
        ("validation",),
        validate_unit,
        (trajectories, slopes.document, settled.document, true_system),
        (slopes.key, settled.key, true_system or ""),
    )
    (validation,) = scheduler.run([unit], 0.97, 1.0)
    return settled, validation
