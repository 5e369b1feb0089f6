"""Along a system that roughly follows the trajectories, laws are found that no derivative shows."""

from dataclasses import replace

import pytest

import fepysr_dyn as fd
from fepysr_dyn.discovery import DiscoveryConfig, EquationPrior
from fepysr_dyn.discovery.states import search_along
from fepysr_dyn.expressions import parse, same_structure
from fepysr_dyn.model_files import system_from_toml
from fepysr_dyn.refinement import WindowJudge
from fepysr_dyn.search.problem import Runtime

GROWTH = """
[states.x]
initial = 0.1
rate = "0.85*x*s/(0.05 + s) - d*x"
[states.s]
initial = 2.5
rate = "d*(2.5 - s) - 1.6*x*s/(0.05 + s)"
[inputs.d]
stimulus = { kind = "steps", times = [0, 8, 16], values = [0.3, 0.9, 0.6] }
[protocol]
duration = 24
samples = 480
[[protocol.experiments]]
name = "thin"
[[protocol.experiments]]
name = "dense"
initial = { x = 1.0, s = 0.5 }
"""
LAW = parse("0.85*x*s/(0.05 + s) - d*x")
#: Without the factor that makes it a product.
NEAR = parse("0.8*x - d*x - 0.02/(0.05 + s)")
BOX = {"x": (0.01, 2.0), "s": (0.01, 3.0), "d": (0.1, 1.0)}


def rates(law):
    return {**system_from_toml(GROWTH).explicit_rates(), "x": law}


def regression(seed, law=NEAR):
    truth = system_from_toml(GROWTH)
    runs = fd.simulate(truth, noise=0.01, seed=seed)
    judge = WindowJudge(runs, list(fd.estimate_derivatives(runs)))
    return judge.linearised(replace(truth, rates={**truth.rates, "x": law})).regression("x")


@pytest.mark.parametrize("seed", range(3))
def test_the_true_law_is_among_the_likeliest(seed):
    likely, rest = search_along("x", rates(NEAR), regression(seed), DiscoveryConfig(), Runtime())
    assert any(same_structure(law.expression, LAW, BOX) for law in likely)
    assert not set(likely) & set(rest)


def test_the_true_law_with_a_term_more_is_not_the_likeliest():
    likely, _ = search_along("x", rates(LAW), regression(0, LAW), DiscoveryConfig(), Runtime())
    assert len(likely[0].expression.as_ordered_terms()) <= 2


def test_what_is_known_of_the_equation_stays_and_has_no_relatives():
    config = DiscoveryConfig(priors={"x": EquationPrior(known="-d*x")})
    likely, rest = search_along("x", rates(NEAR), regression(0), config, Runtime())
    assert {law.engine for law in (*likely, *rest)} == {"kinetic"}
    unknown = [law.expression + parse("d*x") for law in likely]
    assert any(same_structure(law, LAW + parse("d*x"), BOX) for law in unknown)


def test_laws_that_contradict_what_is_known_are_not_among_them():
    config = DiscoveryConfig(priors={"x": EquationPrior(columns=("x", "d"))})
    likely, rest = search_along("x", rates(NEAR), regression(0), config, Runtime())
    names = [{symbol.name for symbol in law.expression.free_symbols} for law in (*likely, *rest)]
    assert names
    assert not any("s" in own for own in names)


def test_samples_that_say_nothing_of_a_rate_lead_to_no_laws():
    whole = regression(0)
    silent = replace(
        whole, measurement=whole.measurement[:0], target=whole.target[:0], nuisance=whole.nuisance[:0]
    )
    assert search_along("x", rates(NEAR), silent, DiscoveryConfig(), Runtime()) == ([], [])
