"""One small discovery shared by the tests."""

import pytest

import fepysr_dyn as fd
from fepysr_dyn.model_files import system_from_toml

PREDATOR_PREY = system_from_toml("""
name = "predator_prey"
[states.x]
initial = 1.0
rate = "0.7*x - 0.5*x*y + 0.1*u"
[states.y]
initial = 0.6
rate = "0.4*x*y - 0.8*y"
[inputs.u]
stimulus = { kind = "steps", times = [0, 5, 9], values = [0, 1, 0.3] }
[protocol]
duration = 15
samples = 150
[[protocol.experiments]]
name = "first"
[[protocol.experiments]]
name = "second"
initial = { x = 2.0, y = 1.5 }
""")
SPARSE = fd.DiscoveryConfig(
    engine="sparse",
    features=False,
    operators=("+", "-", "*"),
    max_rows=200,
    seconds_per_state=600.0,
    resamples=5,
)


QUICK = fd.DiscoveryConfig(
    engine="sparse",
    features=False,
    operators=("+", "-", "*"),
    max_complexity=15,
    evaluations=3000,
    seconds_per_state=float("inf"),
    max_rows=60,
    resamples=2,
)


@pytest.fixture(scope="session")
def quick():
    """Little work, and no clock that could end it."""
    return QUICK


@pytest.fixture(scope="session")
def system():
    return PREDATOR_PREY


@pytest.fixture(scope="session")
def runs(system):
    return fd.simulate(system)


@pytest.fixture(scope="session")
def found(system, runs):
    return fd.discover(runs, config=SPARSE, truth=system)
