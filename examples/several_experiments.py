"""Several experiments with different stimuli: what one dose leaves open, six doses decide."""

import numpy as np

import fepysr_dyn as fd
from fepysr_dyn.expressions import parse
from fepysr_dyn.stimulus import Steps
from fepysr_dyn.system import ExperimentPlan, OdeSystem, Protocol

# A receptor whose production saturates with the ligand L and which decays; the ligand is given at t = 2.
doses = np.array([0.1, 0.3, 0.8, 1.5, 3.0, 6.0])
experiments = tuple(
    ExperimentPlan(f"dose {dose:g}", {"R": 0.1}, {"L": Steps((0.0, 2.0), (0.0, dose))}) for dose in doses
)
receptor = OdeSystem(
    name="receptor",
    rates={"R": parse("1.2*L/(0.7 + L) - 0.4*R")},
    initial={"R": 0.1},
    inputs={"L": Steps((0.0,), (0.0,))},
    protocol=Protocol(duration=12.0, samples=120, experiments=experiments),
)
runs = fd.simulate(receptor)

config = fd.DiscoveryConfig(operators=("+", "-", "*", "/"), features=False)
for title, data in {"one dose": runs[:1], "six doses": runs}.items():
    found = fd.discover(data, config=config)
    print(f"{title}: {found}")
    for warning in found.warnings:
        print("  warning:", warning)
