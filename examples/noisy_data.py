"""Noisy data: derivatives and integrals (the weak form) are both tried, and the better one is kept."""

import fepysr_dyn as fd

system = fd.load_model("lotka_volterra")
runs = fd.simulate(system, noise=0.02, seed=1)

config = fd.DiscoveryConfig(operators=("+", "-", "*"), features=False, evaluations=100_000)
found = fd.discover(runs, config=config, truth=system)
print(found)
for state, form in found.forms.items():
    print(f"d{state}/dt: found with the {form} form, confidence {found.confidence[state]:.0%}")
for constant in found.constants:
    print(f"d{constant.state}/dt: {constant.value:.4g} ± {constant.standard_error:.2g}")
print("structure is right:", {s: score.same_structure for s, score in found.validation.structure.items()})
