"""From trajectories to derivatives: every state of every experiment through one estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fepysr_dyn.derivatives.base import DerivativeEstimator, Estimate, Series, make_series
from fepysr_dyn.derivatives.registry import make_estimator
from fepysr_dyn.derivatives.result import Choice, Derivatives
from fepysr_dyn.errors import DataError
from fepysr_dyn.trajectories import Trajectories, with_role

if TYPE_CHECKING:
    import xarray as xr

MIN_SAMPLES = 3


def estimate_derivatives(
    trajectories: Trajectories, method: str | DerivativeEstimator = "auto"
) -> Derivatives:
    """Estimate smoothed states, derivatives and standard errors for all experiments.

    Parameters
    ----------
    trajectories : Trajectories
        The measurements; missing values are NaN.
    method : str or DerivativeEstimator
        A registered name (`estimator_names` lists them) or an estimator with settings of your own.

    Raises
    ------
    DataError
        If a state has too few samples for a derivative.
    OptionError
        If there is no estimator of that name.

    Examples
    --------
    >>> import numpy as np
    >>> from fepysr_dyn.trajectories import Trajectories, make_experiment
    >>> t = np.linspace(0.0, 1.0, 21)
    >>> slopes = estimate_derivatives(Trajectories((make_experiment(t, {"x": np.exp(t)}),)))
    >>> bool(np.allclose(slopes[0]["dx"], np.exp(t), atol=1e-8))
    True
    """
    estimator = make_estimator(method)
    experiments, choices = [], []
    for run in trajectories:
        answers = {state: estimator.estimate(series_of(run, state)) for state in with_role(run, "state")}
        experiments.append(_dataset(run, answers))
        for state, answer in answers.items():
            name = answer.method or estimator.name
            choices.append(Choice(str(run.attrs["name"]), state, name, answer.settings, answer.reason))
    return Derivatives(tuple(experiments), tuple(choices))


def series_of(run: xr.Dataset, state: str) -> Series:
    """Return one state of an experiment as a series, checked for what every estimator relies on."""
    name = f"state '{state}' of experiment '{run.attrs['name']}'"
    times, values = run["time"].to_numpy(), run[state].to_numpy()
    if np.any(np.diff(times) <= 0) or not np.all(np.isfinite(times)):
        raise DataError(f"{name}: expected finite, strictly increasing times; sort them and drop duplicates")
    if np.any(np.isinf(values)):
        raise DataError(f"{name}: expected finite values, found an infinite one; mark it as missing (NaN)")
    found = int(np.sum(np.isfinite(values)))
    if found < MIN_SAMPLES:
        raise DataError(f"{name}: expected at least {MIN_SAMPLES} samples for a derivative, found {found}")
    return make_series(times, values, run.attrs.get("breakpoints", ()), name)


def _dataset(run: xr.Dataset, answers: dict[str, Estimate]) -> xr.Dataset:
    import xarray as xr

    variables: dict[str, tuple[str, object, dict[str, str]]] = {}
    for state, answer in answers.items():
        about = {"method": answer.method, "settings": answer.settings, "reason": answer.reason}
        variables[state] = ("time", answer.values, {"role": "state", **about})
        variables[f"{state}_se"] = ("time", answer.values_se, {"role": "state_se"})
        variables[f"d{state}"] = ("time", answer.rates, {"role": "rate", **about})
        variables[f"d{state}_se"] = ("time", answer.rates_se, {"role": "rate_se"})
    for name in with_role(run, "input"):
        variables[name] = ("time", run[name].to_numpy(), {"role": "input"})
    attributes = {"name": run.attrs["name"], "breakpoints": list(run.attrs.get("breakpoints", ()))}
    return xr.Dataset(variables, coords={"time": run["time"].to_numpy()}, attrs=attributes)
