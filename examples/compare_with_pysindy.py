"""The same noisy data through this package and through PySINDy, judged on an experiment neither has seen."""

import fepysr_dyn as fd

system = fd.load_model("lotka_volterra")
runs = fd.simulate(system, noise=0.01, seed=0)

config = fd.DiscoveryConfig(operators=("+", "-", "*"), features=False, evaluations=100_000)
ours = fd.discover(runs[:1], config=config)
comparison = fd.compare(runs[:1], held_out=runs[1:], truth=system, ours=ours, baselines=["sindy-poly2"])
for entry in comparison.entries:
    r2 = (
        "no answer"
        if entry.generalization is None
        else f"R² {entry.generalization.worst_r2:.5f} on the unseen"
    )
    print(f"{entry.name}: {r2}")
    for state, rate in entry.equations().items():
        print(f"  d{state}/dt = {rate}")
