"""Gaussian processes in state-space form: linear time, hyperparameters from the data, local smoothness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.derivatives.base import Array, Estimate, Series
from fepysr_dyn.derivatives.fallback import with_fallback
from fepysr_dyn.errors import OptionError

if TYPE_CHECKING:
    from fepysr_dyn.derivatives.chains import Chain, WienerModel

MAX_SMOOTHNESS = 5
# Two sides of a breakpoint that differ by more than this many standard errors are not one continuous state.
_TORN = 4.5
_ROUGH = 3.0


@dataclass(frozen=True)
class GaussianProcess:
    """Integrated Wiener processes whose diffusion follows the signal, mixed over their smoothness.

    The value is continuous across a breakpoint unless the data say otherwise, the derivatives start afresh
    there: a jump of the derivative stays sharp, yet the value at the breakpoint is known from both sides.

    Parameters
    ----------
    smoothness : tuple of int
        How often each process is integrated. Several are mixed by how well they predict left-out samples.
    local : bool
        Let the diffusion vary over time; otherwise each process is a smoothing spline.
    roughness : float
        Standard deviation by which the logarithm of the diffusion moves per smoothing scale.

    Notes
    -----
    The noise is taken as white with one variance per state and experiment.
    """

    smoothness: tuple[int, ...] = (1, 2, 3, 4)
    local: bool = True
    roughness: float = 2.0

    def __post_init__(self) -> None:
        wrong = [q for q in self.smoothness if not 1 <= q <= MAX_SMOOTHNESS]
        if wrong or not self.smoothness:
            found = list(self.smoothness)
            raise OptionError(f"expected smoothness from 1 to {MAX_SMOOTHNESS}, found {found}")
        if not self.roughness > 0:
            raise OptionError(f"expected a positive roughness, found {self.roughness}")

    @property
    def name(self) -> str:
        """The registered name."""
        return "gaussian_process"

    def estimate(self, series: Series) -> Estimate:
        """Smooth the series, each process with its own hyperparameters, and mix."""
        return with_fallback(series, _least(min(self.smoothness)), self._smooth)

    def _smooth(self, series: Series) -> Estimate:
        from fepysr_dyn.derivatives.chains import make_chain

        chain = make_chain(untie(series))
        most = max(int(np.sum(np.isfinite(series.values[piece]))) for piece in series.pieces)
        fits = [_fit(chain, q, self) for q in self.smoothness if _least(q) <= most]
        weights = _weights(fits)
        values, values_se = _mix([fit.answer[:2] for fit in fits], weights)
        rates, rates_se = _mix([fit.answer[2:] for fit in fits], weights)
        best = fits[int(np.argmax(weights))]
        shares = ", ".join(
            f"{fit.model.q} times ({weight:.0%})"
            for fit, weight in zip(fits, weights, strict=True)
            if weight > 0.005
        )
        settings = f"Wiener process integrated {shares}, smoothing over {best.model.scale:.3g} time units"
        noise = chain.unit * best.model.noise**0.5
        reason = f"mixed by their predictions of left-out samples; noise of standard deviation {noise:.2g}"
        return Estimate(values, values_se, rates, rates_se, self.name, settings, reason)


@dataclass(frozen=True)
class _Fit:
    model: WienerModel
    answer: tuple[Array, Array, Array, Array]
    score: float


def _least(q: int) -> int:
    """Return how many samples it takes to tell noise from a process integrated q times."""
    return 2 * q + 3


def _weights(fits: list[_Fit]) -> Array:
    """Return the shares of the mixture.

    Half the score counts: it is a little optimistic, as the left-out samples had a say in the
    hyperparameters. A process integrated once, whose derivative is rough, must earn its place.
    """
    scores = np.array([0.5 * fit.score - (_ROUGH if fit.model.q == 1 else 0.0) for fit in fits])
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def _fit(chain: Chain, q: int, options: GaussianProcess) -> _Fit:
    from fepysr_dyn.derivatives.chains import few_samples_factor, smooth
    from fepysr_dyn.derivatives.hyperparameters import homogeneous_model, local_model

    model = homogeneous_model(chain, q)
    if options.local:
        model = local_model(chain, model, roughness=options.roughness)
    answer = smooth(chain, model)
    score = left_out_score(chain, model, answer[0], answer[1])
    own = chain.samples >= 0
    values, values_se, rates, rates_se = (part[own] for part in answer)
    wider = few_samples_factor(chain, q)
    return _Fit(model, (values, wider * values_se, rates, wider * rates_se), score)


def left_out_score(chain: Chain, model: WienerModel, values: Array, values_se: Array) -> float:
    """Return the log density of each sample given all others, summed over the samples."""
    seen = chain.seen
    residual = chain.observed[seen] - (values[seen] - chain.offset) / chain.unit
    # A sample's own share in its smoothed value; what is left of one divides the residual.
    left = 1.0 - np.minimum((values_se[seen] / chain.unit) ** 2 / model.noise, 1.0 - 1e-9)
    return float(np.sum(0.5 * np.log(left / model.noise) - 0.5 * residual**2 / (left * model.noise)))


def _mix(parts: list[tuple[Array, Array]], weights: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of a mixture."""
    centre = sum(weight * mean for weight, (mean, _) in zip(weights, parts, strict=True))
    square = sum(
        weight * (deviation**2 + (mean - centre) ** 2)
        for weight, (mean, deviation) in zip(weights, parts, strict=True)
    )
    return np.asarray(centre), np.sqrt(np.asarray(square))


def untie(series: Series) -> Series:
    """Drop the joints at which the state itself jumps, by the standard errors of both sides."""
    from fepysr_dyn.derivatives.chains import make_chain, smooth
    from fepysr_dyn.derivatives.hyperparameters import homogeneous_model

    joints = np.array(series.joints)
    if not np.any(np.isfinite(joints)):
        return series
    chain = make_chain(series, linked=False)
    values, values_se, _, _ = smooth(chain, homogeneous_model(chain, 2))
    (nodes,) = np.nonzero(chain.samples < 0)
    left, right = nodes[::2], nodes[1::2]
    gap = np.abs(values[left] - values[right])
    torn = gap > _TORN * np.hypot(values_se[left], values_se[right])
    tied = np.flatnonzero(np.isfinite(joints))
    joints[tied[torn]] = np.nan
    return replace(series, joints=tuple(joints.tolist()))
