"""An independent simulator for what is exported."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def peer():
    """Return a function that simulates SBML text with libroadrunner: a column for each state."""
    roadrunner = pytest.importorskip("roadrunner")
    roadrunner.Logger.disableLogging()

    def simulate(text, times, states, values=None):
        model = roadrunner.RoadRunner(text)
        for name, value in (values or {}).items():
            model[name] = value
        for name, value in (
            ("relative_tolerance", 1e-14),
            ("absolute_tolerance", 1e-15),
            ("maximum_num_steps", 1_000_000),
            ("maximum_time_step", 4 * float(times[1] - times[0])),
        ):
            model.integrator.setValue(name, value)
        table = model.simulate(0, float(times[-1]), len(times), ["time", *states])
        return np.array(table)[:, 1:]

    return simulate


@pytest.fixture(scope="session")
def deviation():
    """Return a function that gives the largest difference of two runs, relative to the size of each state."""

    def of(run, table, states):
        size = [np.max(np.abs(run[state].values)) for state in states]
        gaps = [np.max(np.abs(table[:, i] - run[state].values)) for i, state in enumerate(states)]
        return max(gap / scale for gap, scale in zip(gaps, size, strict=True))

    return of
