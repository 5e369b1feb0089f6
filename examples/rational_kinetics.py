"""Rational kinetics: Michaelis-Menten turnover under a stepped influx that is known beforehand."""

import fepysr_dyn as fd

system = fd.load_model("michaelis_menten")
runs = fd.simulate(system)

# The influx j is pumped in and known; only the enzyme's part is searched, over the substrate alone.
influx = fd.EquationPrior(known="j", columns=("S",))
config = fd.DiscoveryConfig(engine="rational", features=False, priors={"S": influx})
found = fd.discover(runs, config=config, truth=system)
print(found)
print("equal to the truth:", found.validation.structure["S"].recovered)
print(found.fronts["S"].to_pandas()[["complexity", "loss", "expression"]].to_string(index=False))
