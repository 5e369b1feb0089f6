"""Tyson's two-protein network from samples alone: simulate, discover, predict an unseen stimulus, report."""

from dataclasses import replace

import fepysr_dyn as fd
from fepysr_dyn.stimulus import Steps

system = fd.load_model("tyson_two_protein")
runs = fd.simulate(system)

found = fd.discover(runs, seed=0, truth=system)
print(found)
print("equal to the truth:", {state: score.recovered for state, score in found.validation.structure.items()})

unseen = replace(system, inputs={"S": Steps((0.0, 20.0, 40.0), (0.8, 0.1, 0.35))})
other_runs = fd.simulate(unseen)
prediction = fd.validate(found.system, other_runs)
print(f"NRMSE under a stimulus never seen: {prediction.worst_nrmse:.1e}")

found.save("out/tyson")
fd.write_report(found, "out/tyson/report.html", held_out=other_runs)
