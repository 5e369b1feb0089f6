"""Measurements of your own: a CSV file with a time column, states, and an input that is switched."""

from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import fepysr_dyn as fd

# A file as a plate reader might write it: a protein under an inducer that is switched on at 4 h.
time = np.arange(0.0, 12.0, 0.1)
inducer = np.where(time < 4, 0.1, 1.0)
start = 0.2 / 0.5 * (1 - np.exp(-0.5 * 4))
protein = np.where(
    time < 4,
    0.2 / 0.5 * (1 - np.exp(-0.5 * time)),
    4.0 + (start - 4.0) * np.exp(-0.5 * (time - 4)),
)
table = Path(mkdtemp()) / "plate.csv"
rows = [f"{t:.1f},{p:.12f},{u}" for t, p, u in zip(time, protein, inducer, strict=True)]
table.write_text("\n".join(["time,protein,inducer", *rows]) + "\n")

runs = fd.read_trajectories(table, inputs=["inducer"])
print("switched at", runs[0].attrs["breakpoints"])

slopes = fd.estimate_derivatives(runs)
for choice in slopes.choices:
    print(choice)

found = fd.discover(runs, config=fd.DiscoveryConfig(engine="sparse", features=False))
print(found)
for warning in found.warnings:
    print("warning:", warning)
