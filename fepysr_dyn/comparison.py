"""Our result and every baseline side by side: the same data, the same validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.baselines import BASELINES, GridPoint, Split, make_baseline, split_off
from fepysr_dyn.baselines.splitting import split_inside, starts_of
from fepysr_dyn.errors import DataError, MissingDependencyError, OptionError, SearchInterrupted
from fepysr_dyn.expressions import to_text
from fepysr_dyn.integration import SolverOptions
from fepysr_dyn.system import OdeSystem
from fepysr_dyn.validation import Validation, validate

if TYPE_CHECKING:
    import threading

    import pandas as pd

    from fepysr_dyn.baselines import Baseline
    from fepysr_dyn.discovery import Discovery
    from fepysr_dyn.search.problem import ProgressCallback
    from fepysr_dyn.trajectories import Trajectories

Array = NDArray[np.float64]

OURS = "fepysr-dyn"
#: Seconds for each method unless told.
TIME_LIMIT = 60.0
#: Seconds for the integration of one experiment by one method.
SECONDS_PER_RUN = 10.0


@dataclass(frozen=True)
class Entry:
    """One method: what it found, and how that does.

    Parameters
    ----------
    system : OdeSystem or None
        None if the method has no answer; `message` then says why.
    reconstruction : Validation or None
        On the experiments it was fitted on; with structural scores where the truth is known.
    generalization : Validation or None
        On what was held out; None if nothing was.
    grid : tuple of GridPoint
        Every setting a baseline was chosen from.
    """

    name: str
    system: OdeSystem | None
    reconstruction: Validation | None = None
    generalization: Validation | None = None
    seconds: float = 0.0
    message: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[GridPoint, ...] = ()
    complete: bool = True

    def equations(self) -> dict[str, str]:
        """Return the right-hand sides as text, none if there is no answer."""
        return {} if self.system is None else {s: to_text(rate) for s, rate in self.system.rates.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return what a JSON document holds of this method."""
        return {
            "name": self.name,
            "equations": self.equations(),
            "reconstruction": self.reconstruction and self.reconstruction.to_dict(),
            "generalization": self.generalization and self.generalization.to_dict(),
            "seconds": self.seconds,
            "message": self.message,
            "complete": self.complete,
            "settings": dict(self.settings),
            "grid": [point.to_dict() for point in self.grid],
        }


@dataclass(frozen=True)
class Comparison:
    """All methods on the same data.

    Parameters
    ----------
    held_out_kind : str
        What generalization is measured on: "given" data, an "experiment" or a time "window" split off the
        data, or "none".
    """

    entries: tuple[Entry, ...]
    training: Trajectories
    held_out: Trajectories | None
    held_out_kind: str
    seed: int = 0

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per method: scores, structure and time."""
        import pandas as pd

        return pd.DataFrame([_row(entry) for entry in self.entries])

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "held_out": self.held_out_kind,
            "training_experiments": [str(run.attrs["name"]) for run in self.training],
            "held_out_experiments": [str(run.attrs["name"]) for run in self.held_out or ()],
            "seed": self.seed,
            "methods": [entry.to_dict() for entry in self.entries],
        }


def compare(
    trajectories: Trajectories,
    *,
    held_out: Trajectories | None = None,
    truth: OdeSystem | None = None,
    ours: Discovery | bool = True,
    baselines: Sequence[str] | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    cancelled: threading.Event | None = None,
) -> Comparison:
    """Discover equations, let every baseline do the same, and validate all of them alike.

    Parameters
    ----------
    trajectories : Trajectories
        What the methods are fitted on.
    held_out : Trajectories, optional
        What generalization is measured on. If not given, the last experiment is kept out of every fit, or
        the last quarter of a single one; nothing is if `ours` is a discovery, which has seen it all.
    truth : OdeSystem, optional
        Also score the structure.
    ours : Discovery or bool
        A discovery made before, True to make one, False for the baselines alone.
    baselines : sequence of str, optional
        Names; all that can run here if not given.
    time_limit : float, optional
        Seconds for each method.
    """
    from fepysr_dyn.search.problem import Runtime

    if time_limit is not None and not time_limit > 0:
        raise OptionError(f"time_limit must be a positive number of seconds, got {time_limit}")
    chosen = _make_baselines(baselines)
    runtime = Runtime(progress=progress, cancelled=cancelled)
    runtime.report("derivatives", 0.0, "smoothing the data")
    split = _held_out(trajectories, held_out, whole=not isinstance(ours, bool))
    judge = _Judge.prepare(split.training, split.held_out, truth)
    entries = []
    if ours is not False:
        entries.append(judge.ours(ours, seed, time_limit, _share(progress, 0.0, 0.5), cancelled))
    for index, (name, baseline) in enumerate(chosen.items()):
        if cancelled is not None and cancelled.is_set():
            break
        runtime.report(name, 0.5 + 0.5 * index / len(chosen), "fitting its grid")
        if isinstance(baseline, str):
            entries.append(Entry(name, None, message=baseline))
        else:
            entries.append(judge.baseline(baseline, seed, time_limit or TIME_LIMIT))
    runtime.report("done", 1.0, "done")
    return Comparison(tuple(entries), split.training, split.held_out, split.kind, seed)


@dataclass(frozen=True)
class _Parts:
    training: Trajectories
    held_out: Trajectories | None
    kind: str


@dataclass(frozen=True)
class _Judge:
    """The data all methods share, and the states that all integrations start from."""

    training: Trajectories
    held_out: Trajectories | None
    truth: OdeSystem | None
    starts: tuple[Array, ...] | None
    held_out_starts: tuple[Array, ...] | None
    inner: Split | None

    @classmethod
    def prepare(
        cls, training: Trajectories, held_out: Trajectories | None, truth: OdeSystem | None
    ) -> _Judge:
        """Smooth the data: a noisy first sample is no fair start for anybody."""
        from fepysr_dyn.derivatives import estimate_derivatives

        smoothed = estimate_derivatives(training)
        later = None if held_out is None else starts_of(estimate_derivatives(held_out))
        try:
            inner = split_inside(training, smoothed)
        except DataError:
            # Too short to keep any of it out: each baseline says so in its answer.
            inner = None
        return cls(training, held_out, truth, starts_of(smoothed), later, inner)

    def ours(
        self,
        given: Discovery | bool,
        seed: int,
        time_limit: float | None,
        progress: ProgressCallback | None,
        cancelled: threading.Event | None,
    ) -> Entry:
        """Return our own discovery, made now if it was not given."""
        from fepysr_dyn.discovery import discover

        if isinstance(given, bool):
            try:
                found = discover(
                    self.training, seed=seed, time_limit=time_limit, progress=progress, cancelled=cancelled
                )
            except SearchInterrupted as interruption:
                return Entry(OURS, None, message=str(interruption), complete=False)
        else:
            found = given
        message = "" if found.complete else "the search was cut short"
        return self._entry(
            OURS, found.system, seconds=found.seconds, message=message, complete=found.complete
        )

    def baseline(self, baseline: Baseline, seed: int, time_limit: float) -> Entry:
        """Run a baseline and validate its answer."""
        result = baseline.fit(self.training, split=self.inner, seed=seed, time_limit=time_limit)
        return self._entry(
            result.name,
            result.system,
            seconds=result.seconds,
            message=result.message,
            settings=result.settings,
            grid=result.grid,
            complete=result.complete,
        )

    def _entry(self, name: str, system: OdeSystem | None, **about: Any) -> Entry:
        if system is None:
            return Entry(name, None, **about)
        options = SolverOptions(rtol=1e-9, atol=1e-11, time_limit=SECONDS_PER_RUN)
        reconstruction = validate(
            system, self.training, truth=self.truth, initial=self.starts, options=options
        )
        generalization = None
        if self.held_out is not None:
            generalization = validate(system, self.held_out, initial=self.held_out_starts, options=options)
        return Entry(name, system, reconstruction, generalization, **about)


def _held_out(trajectories: Trajectories, held_out: Trajectories | None, *, whole: bool) -> _Parts:
    if held_out is not None:
        for kind, expected, found in (
            ("states", trajectories.states, held_out.states),
            ("inputs", trajectories.inputs, held_out.inputs),
        ):
            if set(expected) != set(found):
                raise DataError(f"expected held-out data with the {kind} {expected}, found {found}")
        return _Parts(trajectories, held_out, "given")
    if whole:
        return _Parts(trajectories, None, "none")
    try:
        split = split_off(trajectories)
    except DataError:
        return _Parts(trajectories, None, "none")
    return _Parts(split.training, split.held_out, split.kind)


def _make_baselines(names: Sequence[str] | None) -> dict[str, Baseline | str]:
    """Return the baselines asked for; with none named, all, and for one that cannot run the reason."""
    if names is not None:
        return {name: make_baseline(name) for name in dict.fromkeys(names)}
    made: dict[str, Baseline | str] = {}
    for name in BASELINES:
        try:
            made[name] = make_baseline(name)
        except MissingDependencyError as error:
            made[name] = str(error)
    return made


def _share(progress: ProgressCallback | None, begin: float, width: float) -> ProgressCallback | None:
    """Pass progress on as part of the whole."""
    if progress is None:
        return None
    from dataclasses import replace

    pass_on: Callable[..., None] = progress
    return lambda report: pass_on(replace(report, fraction=begin + width * report.fraction))


def _row(entry: Entry) -> dict[str, Any]:
    row: dict[str, Any] = {"method": entry.name}
    for label, scores in (
        ("reconstruction", entry.reconstruction),
        ("generalization", entry.generalization),
    ):
        row[f"{label}_r2"] = -np.inf if scores is None else scores.worst_r2
        row[f"{label}_nrmse"] = np.inf if scores is None else scores.worst_nrmse
        row[f"{label}_outcome"] = "" if scores is None else outcome_of(scores)
    structure = {} if entry.reconstruction is None else entry.reconstruction.structure
    row["recovered"] = sum(score.recovered for score in structure.values()) if structure else None
    row["same_structure"] = sum(score.same_structure for score in structure.values()) if structure else None
    return {**row, "seconds": entry.seconds, "message": entry.message}


def outcome_of(scores: Validation) -> str:
    """Return how the worst integration ended."""
    return str(min(scores.runs, key=lambda run: run.worst_r2).outcome)
