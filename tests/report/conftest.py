"""Small real discoveries for the reports, made once, and a browser to open them in."""

import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.model_files import system_from_toml

GROWTH = system_from_toml("""
name = "growth"
[states.x]
initial = 0.5
rate = "0.8*x - 0.1*x**2"
[protocol]
duration = 12
samples = 120
""")


def discovered(system, *, samples=None, experiments=None, noise=0.0, **options):
    """Return a discovery by the cheapest engine, from fewer samples than usual."""
    protocol = system.protocol
    protocol = replace(
        protocol, samples=samples or protocol.samples, experiments=protocol.experiments[:experiments]
    )
    system = replace(system, protocol=protocol)
    quick = {"engine": "sparse", "features": False, "operators": ("+", "-", "*")}
    quick |= {"max_rows": 150, "max_complexity": 20, "resamples": 3, "seconds_per_state": 600.0}
    config = fd.DiscoveryConfig(**{**quick, **options})
    with np.errstate(all="ignore"):
        return fd.discover(fd.simulate(system, noise=noise, seed=1), config=config, truth=system)


@pytest.fixture(scope="session")
def growth():
    """One state, noisy: constants have errors."""
    return discovered(GROWTH, noise=0.02)


@pytest.fixture(scope="session")
def tyson():
    """Two states under a stimulus: reproduced by polynomials, which are not the true equations."""
    return discovered(fd.load_model("tyson_two_protein"), samples=300)


@pytest.fixture(scope="session")
def lorenz():
    """Three chaotic states, found exactly."""
    return discovered(fd.load_model("lorenz"), experiments=1)


@pytest.fixture(scope="session")
def glycolysis():
    """Seven states; the quotient in three of them is given, so that sums are enough to find the rest."""
    quotient = "100*S1*S6/(1 + (S6/0.52)**4)"
    factors = {"S1": -1, "S2": 2, "S6": -2}
    known = {state: fd.EquationPrior(known=f"{factor}*{quotient}") for state, factor in factors.items()}
    return discovered(
        fd.load_model("yeast_glycolysis"), experiments=1, priors=known, max_rows=300, max_complexity=30
    )


@pytest.fixture(scope="session", params=["growth", "tyson", "lorenz", "glycolysis"])
def found(request):
    """Every discovery in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; without one, tests are skipped, or fail where one was promised."""
    path = Path(__file__).with_name("browser.py")
    spec = importlib.util.spec_from_file_location("fepysr_dyn_test_browser", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = module.find_chromium()
    if program is None:
        reason = "no Chromium here: install Debian's package chromium to test reports in a browser"
        if os.environ.get("FEPYSR_DYN_NEEDS_CHROMIUM"):
            pytest.fail(reason)
        pytest.skip(reason)
    with module.Browser(program) as opened:
        yield opened
