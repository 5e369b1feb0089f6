"""Inputs over time, and the times at which they are not smooth.

A step belongs to what follows it: at its time the input already has the new value (left-closed). Whoever
integrates or differentiates splits at `breakpoints` and never looks across one.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fepysr_dyn.errors import ModelError, did_you_mean

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

Array = NDArray[np.float64]

#: Samples a stretch needs for a cubic spline.
_SPLINE_SAMPLES = 4


class Stimulus(Protocol):
    """An input as a function of time."""

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times at which the input jumps or bends, ascending."""
        ...

    def __call__(self, times: ArrayLike) -> Array:
        """Return the values at the given times, the new value at a step."""
        ...

    def piece(self, start: float, stop: float) -> Callable[[float], float]:
        """Return a fast function for ``start <= t <= stop`` with no breakpoint inside.

        At `stop` it gives the limit from the left, which is what an integrator needs there.
        """
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the table that stands for this stimulus in a model file."""
        ...


@dataclass(frozen=True)
class Constant:
    """The same value at all times."""

    value: float

    def __post_init__(self) -> None:
        _require_finite("value", [self.value])

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """None."""
        return ()

    def __call__(self, times: ArrayLike) -> Array:
        """Return the constant once per time."""
        return np.full(np.shape(times), self.value)

    def piece(self, start: float, stop: float) -> Callable[[float], float]:
        """Return the constant function."""
        value = self.value
        return lambda t: value

    def to_dict(self) -> dict[str, Any]:
        """Return the model-file form."""
        return {"kind": "constant", "value": self.value}


@dataclass(frozen=True)
class Steps:
    """Piecewise constant: ``values[i]`` from ``times[i]`` on; the first value also before the first time.

    Examples
    --------
    >>> Steps((0.0, 20.0), (0.05, 0.5))([0.0, 19.99, 20.0])
    array([0.05, 0.05, 0.5 ])
    """

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        _require_knots(self.times, self.values)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """All step times but the first, where the series only begins."""
        changed = np.flatnonzero(np.diff(self.values)) + 1
        return tuple(self.times[i] for i in changed)

    def __call__(self, times: ArrayLike) -> Array:
        """Return the level at each time, the new one at a step."""
        index = np.searchsorted(self.times, np.asarray(times, dtype=float), side="right") - 1
        return np.asarray(self.values, dtype=float)[np.maximum(index, 0)]

    def piece(self, start: float, stop: float) -> Callable[[float], float]:
        """Return the constant level of this piece."""
        level = float(self([(start + stop) / 2])[0])
        return lambda t: level

    def to_dict(self) -> dict[str, Any]:
        """Return the model-file form."""
        return {"kind": "steps", "times": list(self.times), "values": list(self.values)}


@dataclass(frozen=True)
class Ramps:
    """Piecewise linear through the given points, constant before the first and after the last."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        _require_knots(self.times, self.values)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """All knots: the slope changes there."""
        return self.times

    def __call__(self, times: ArrayLike) -> Array:
        """Return the interpolated values."""
        return np.asarray(np.interp(np.asarray(times, dtype=float), self.times, self.values))

    def piece(self, start: float, stop: float) -> Callable[[float], float]:
        """Return the straight line of this piece."""
        first, last = (float(value) for value in self([start, stop]))
        slope = (last - first) / (stop - start) if stop > start else 0.0
        return lambda t: first + slope * (t - start)

    def to_dict(self) -> dict[str, Any]:
        """Return the model-file form."""
        return {"kind": "ramps", "times": list(self.times), "values": list(self.values)}


@dataclass(frozen=True)
class Sampled:
    """A measured series: linear or cubic between samples, a jump where `jumps` says so.

    Parameters
    ----------
    times, values : tuple of float
        The samples.
    jumps : tuple of float
        Times of samples at which the series steps to a new level: the value before is held until then.
    degree : {1, 3}
        Of the interpolation. Cubic splines follow a smooth series much more closely; they do not look across
        a jump, and stretches of fewer than four samples stay linear.

    Examples
    --------
    >>> times = np.linspace(0, 6, 61)
    >>> line, cubic = (Sampled(tuple(times), tuple(np.sin(times)), degree=degree) for degree in (1, 3))
    >>> abs(line(1.55) - np.sin(1.55)) < 1e-6, abs(cubic(1.55) - np.sin(1.55)) < 1e-6
    (np.False_, np.True_)
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    jumps: tuple[float, ...] = ()
    degree: float = 1

    def __post_init__(self) -> None:
        _require_knots(self.times, self.values)
        if not isinstance(self.jumps, tuple):
            raise ModelError(f"expected a list for jumps of a sampled stimulus, found {self.jumps}")
        unknown = sorted(set(self.jumps) - set(self.times))
        if unknown:
            raise ModelError(f"jumps of a sampled stimulus must be times of samples, got {unknown[0]}")
        if self.degree not in (1, 3):
            raise ModelError(f"the degree of a sampled stimulus must be 1 or 3, got {self.degree}")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The jumps; the small bends at samples are taken as smooth."""
        return tuple(sorted(self.jumps))

    def __call__(self, times: ArrayLike) -> Array:
        """Return the interpolated values, held level before a jump."""
        t = np.asarray(times, dtype=float)
        knots, values = np.asarray(self.times), np.asarray(self.values)
        result: Array = np.asarray(np.interp(t, knots, values))
        if self.jumps:
            after = np.searchsorted(knots, self.jumps)
            index = np.searchsorted(knots, t, side="right")
            before_jump = np.isin(index, after[after > 0]) & (t < knots[np.minimum(index, len(knots) - 1)])
            result = np.where(before_jump, values[np.maximum(index - 1, 0)], result)
        for spline in self._splines:
            inside = (t >= spline.x[0]) & (t <= spline.x[-1])
            result = np.where(inside, spline(np.where(inside, t, spline.x[0])), result)
        return result

    def piece(self, start: float, stop: float) -> Callable[[float], float]:
        """Return the interpolation of the samples of this piece."""
        for spline in self._splines:
            if spline.x[0] <= (start + stop) / 2 <= spline.x[-1]:
                return partial(_along_spline, spline.x.tolist(), spline.c.T.tolist())
        inside = [i for i, t in enumerate(self.times) if start < t < stop]
        first, last = (float(value) for value in self([start, stop]))
        if stop in self.jumps:
            last = self.values[inside[-1]] if inside else first
        knots = [start, *(self.times[i] for i in inside), stop]
        values = [first, *(self.values[i] for i in inside), last]
        return partial(_between, knots, values)

    def to_dict(self) -> dict[str, Any]:
        """Return the model-file form."""
        table: dict[str, Any] = {"kind": "sampled", "times": list(self.times), "values": list(self.values)}
        if self.jumps:
            table["jumps"] = list(self.jumps)
        if self.degree != 1:
            table["degree"] = self.degree
        return table

    @cached_property
    def _splines(self) -> list[CubicSpline]:
        """One spline for every stretch between jumps that is long enough for one."""
        if self.degree == 1:
            return []
        from scipy.interpolate import CubicSpline

        knots, values = np.asarray(self.times), np.asarray(self.values)
        starts = [0, *np.searchsorted(knots, sorted(self.jumps)).tolist(), len(knots)]
        stretches = [
            slice(*ends) for ends in itertools.pairwise(starts) if ends[1] - ends[0] >= _SPLINE_SAMPLES
        ]
        return [CubicSpline(knots[stretch], values[stretch]) for stretch in stretches]


def _along_spline(knots: Sequence[float], coefficients: Sequence[Sequence[float]], t: float) -> float:
    """Return a cubic spline at one time, held level beyond its ends."""
    t = min(max(t, knots[0]), knots[-1])
    index = min(bisect_right(knots, t), len(knots) - 1) - 1
    cubic, square, slope, value = coefficients[index]
    d = t - knots[index]
    return ((cubic * d + square) * d + slope) * d + value


def _between(knots: Sequence[float], values: Sequence[float], t: float) -> float:
    """Interpolate linearly at one time: a solver asks often, and numpy takes long for a single number."""
    right = bisect_right(knots, t)
    if right == 0 or right == len(knots):
        return values[min(right, len(knots) - 1)]
    before, after = knots[right - 1], knots[right]
    share = (t - before) / (after - before)
    return values[right - 1] + share * (values[right] - values[right - 1])


@dataclass(frozen=True)
class Sine:
    """``offset + amplitude * sin(2π t / period + phase)``, the usual periodic drive."""

    amplitude: float
    period: float
    offset: float = 0.0
    phase: float = 0.0

    def __post_init__(self) -> None:
        _require_finite("amplitude, period, offset, phase", [*vars(self).values()])
        if self.period <= 0:
            raise ModelError(f"the period of a sine stimulus must be positive, got {self.period}")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """None."""
        return ()

    def __call__(self, times: ArrayLike) -> Array:
        """Return the sine at each time."""
        angle = 2 * np.pi * np.asarray(times, dtype=float) / self.period + self.phase
        return np.asarray(self.offset + self.amplitude * np.sin(angle))

    def piece(self, start: float, stop: float) -> Callable[[float], float]:
        """Return the sine for plain floats."""
        omega = 2 * math.pi / self.period
        return lambda t: self.offset + self.amplitude * math.sin(omega * t + self.phase)

    def to_dict(self) -> dict[str, Any]:
        """Return the model-file form."""
        return {"kind": "sine", **vars(self)}


KINDS: dict[str, Any] = {
    "constant": Constant,
    "steps": Steps,
    "ramps": Ramps,
    "sampled": Sampled,
    "sine": Sine,
}


def stimulus_from(value: object) -> Stimulus:
    """Read a stimulus from a number or from the table of a model file.

    Raises
    ------
    ModelError
        If the table is not one of the known kinds with the fields of that kind.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return stimulus_from({"kind": "constant", "value": value})
    if not isinstance(value, Mapping):
        raise ModelError(f"expected a number or a stimulus table, found {value!r}")
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        hint = did_you_mean(str(kind), KINDS)
        raise ModelError(f"expected kind to be one of {', '.join(KINDS)}, found {kind!r}{hint}")
    fields = {key: _field(key, entry) for key, entry in value.items() if key != "kind"}
    allowed = KINDS[kind].__dataclass_fields__
    for key in fields:
        if key not in allowed:
            raise ModelError(f"a stimulus of kind '{kind}' has no field '{key}'{did_you_mean(key, allowed)}")
    try:
        stimulus: Stimulus = KINDS[kind](**fields)
    except TypeError:
        missing = [key for key in allowed if key not in fields]
        raise ModelError(f"a stimulus of kind '{kind}' needs the fields {missing}") from None
    return stimulus


def split_at(breakpoints: Sequence[float], start: float, stop: float) -> list[tuple[float, float]]:
    """Return the intervals between the breakpoints that lie strictly inside ``(start, stop)``."""
    inner = sorted({float(point) for point in breakpoints if start < point < stop})
    edges = [start, *inner, stop]
    return list(itertools.pairwise(edges))


def _field(key: str, entry: object) -> float | tuple[float, ...]:
    try:
        if isinstance(entry, int | float) and not isinstance(entry, bool):
            return float(entry)
        if isinstance(entry, list | tuple) and all(
            isinstance(item, int | float) and not isinstance(item, bool) for item in entry
        ):
            return tuple(float(item) for item in entry)
    except OverflowError:
        raise ModelError(
            f"expected finite numbers for '{key}' of a stimulus, found one beyond float64"
        ) from None
    raise ModelError(f"expected '{key}' of a stimulus to be a number or a list of numbers, found {entry!r}")


def _require_finite(name: str, numbers: Sequence[float]) -> None:
    if not all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
        raise ModelError(f"expected finite numbers for {name} of a stimulus, found {list(numbers)}")


def _require_knots(times: Sequence[float], values: Sequence[float]) -> None:
    if not isinstance(times, tuple) or not isinstance(values, tuple) or not times:
        raise ModelError("a stimulus needs lists of times and values with at least one entry each")
    if len(times) != len(values):
        raise ModelError(f"a stimulus needs as many values as times, found {len(values)} and {len(times)}")
    _require_finite("times", times)
    _require_finite("values", values)
    if any(later <= earlier for earlier, later in itertools.pairwise(times)):
        raise ModelError(f"times of a stimulus must increase, found {list(times)}")
