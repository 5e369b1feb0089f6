"""Whether the features of the two-protein model's first rate show how its inputs enter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fepysr_dyn.benchmarks.stage1 import say
from fepysr_dyn.expressions import parse
from fepysr_dyn.features import PRESETS, extract_features
from fepysr_dyn.features.extraction import primitive

OPERATORS = ("square", "sin", "cos", "exp", "add", "sub", "mul")
WANTED = ("S - X2", "exp(S - X2)", "exp(X2 - S)")
VARIABLES = ("S", "X1", "X2")


def report(seeds: list[int]) -> None:
    """Print the rank of S − X2 or its exponential for every seed."""
    from fepysr_dyn import load_model, simulate

    runs = list(simulate(load_model("tyson_two_protein"), rates=True))
    X, target = (
        np.concatenate([np.column_stack([run[name].to_numpy() for name in names]) for run in runs])
        for names in (VARIABLES, ("dX1",))
    )
    config = replace(PRESETS["default"], operators=OPERATORS)
    wanted = {primitive(parse(text)) for text in WANTED}
    hits = 0
    for seed in seeds:
        library = extract_features(X, target[:, 0], names=VARIABLES, config=config, seed=seed)
        ranks = [rank for rank, feature in enumerate(library.expressions[:10], 1) if feature in wanted]
        hits += bool(ranks)
        say(f"seed {seed:>2}: rank {ranks[0] if ranks else '-':>2}   {', '.join(library.names[:10])}")
    say(f"S - X2 or its exponential among the best 10: {hits} of {len(seeds)} seeds")
