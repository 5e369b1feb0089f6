"""Of the systems that fit, the one that follows whole experiments is chosen."""

import numpy as np

import fepysr_dyn as fd
from fepysr_dyn.discovery.faithfulness import most_faithful
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.refinement import Refinement

TIMES = np.linspace(0.0, 3.0, 61)
RUNS = fd.read_trajectories([{"time": TIMES, "x": np.exp(-TIMES)}])
START = (np.array([1.0]),)


def finalist(rate, misfit, window=61):
    system = system_from_toml(f'name = "s"\n[states.x]\ninitial = 1\nrate = "{rate}"')
    return system, Refinement(system, (), START, window=window, misfit=misfit)


def test_a_pole_that_a_fit_leapt_over_is_noticed():
    leaping, honest = finalist("x**2", 1e-4), finalist("-x - 0.001*x**3 + 0.001*x**2", 1e-4)
    assert most_faithful([leaping, honest], RUNS) == honest


def test_of_two_that_follow_alike_the_shorter_is_chosen():
    long, short = finalist("-x - 0.001*x**3 + 0.001*x**2", 1e-4), finalist("-x", 1.001e-4)
    assert most_faithful([long, short], RUNS) == short


def test_one_that_follows_stretches_only_does_not_win_by_its_misfit():
    stretches, whole = finalist("-0.9*x", 1e-6, window=16), finalist("-x", 3e-6)
    assert most_faithful([stretches, whole], RUNS) == whole
