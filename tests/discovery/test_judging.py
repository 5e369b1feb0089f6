"""Systems are told apart by how long they and the data are, whichever of them was judged first."""

from dataclasses import replace

import pytest

import fepysr_dyn as fd
from fepysr_dyn.discovery.judging import SystemJudge
from fepysr_dyn.expressions import parse
from fepysr_dyn.model_files import system_from_toml

PREDATORS = system_from_toml("""
[states.x]
initial = 1.0
rate = "0.7*x - 0.5*x*y"
[states.y]
initial = 0.6
rate = "0.4*x*y - 0.8*y"
[protocol]
duration = 30
samples = 300
""")
#: Without a term, with one too many, and with predators that do not eat.
SYSTEMS = (
    PREDATORS,
    replace(PREDATORS, rates={**PREDATORS.rates, "x": parse("0.7*x - 0.5*y")}),
    replace(PREDATORS, rates={**PREDATORS.rates, "x": parse("0.7*x - 0.5*x*y + 0.01*y")}),
    replace(PREDATORS, rates={**PREDATORS.rates, "y": parse("0.1 - 0.1*y")}),
)


def new_judge(seed):
    runs = fd.simulate(PREDATORS, noise=0.02, seed=seed)
    return SystemJudge(runs, list(fd.estimate_derivatives(runs)), ())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 2, 0), (1, 3, 0, 2)])
def test_the_truth_is_shortest_in_any_order(seed, order):
    judge = new_judge(seed)
    scores = {position: judge.score(SYSTEMS[position]) for position in order}
    assert min(scores, key=lambda position: scores[position]) == 0
    assert judge.ranking(PREDATORS)[0] == PREDATORS


def test_a_system_that_is_given_up_early_stays_far_behind():
    alone, after = new_judge(0), new_judge(0)
    truth = after.score(PREDATORS)
    for wrong in (SYSTEMS[1], SYSTEMS[3]):
        assert after.score(wrong) > truth + 60.0
        assert alone.score(wrong) > truth + 60.0


def test_a_system_near_the_best_is_judged_as_if_it_were_alone():
    alone, after = new_judge(1), new_judge(1)
    after.score(PREDATORS)
    near = SYSTEMS[2]
    # Alone it is the best so far, and judged by what is left out: never shorter than by what was fitted.
    assert after.score(near) <= alone.score(near)
    assert after.score(near) == pytest.approx(alone.score(near), abs=5.0)


def test_states_that_stay_where_they_are_can_be_judged():
    still = replace(PREDATORS, rates={"x": parse("0.1 - 0.05*x"), "y": parse("0.2 - 0.1*y")})
    resting = fd.simulate(
        system_from_toml("""
[states.x]
initial = 2.0
rate = "0"
[states.y]
initial = 2.0
rate = "0"
[protocol]
duration = 30
samples = 300
""")
    )
    judge = SystemJudge(resting, list(resting), ())
    lonely = replace(still, rates={"x": parse("0"), "y": parse("0")})
    assert judge.score(lonely) < judge.score(still)
    assert judge.score(replace(still, rates={"x": parse("0"), "y": parse("0.1*y")})) > judge.score(lonely)
