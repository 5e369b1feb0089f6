"""Kinetic engine: rate laws from noisy rates, and only what the columns allow."""

from dataclasses import replace

import numpy as np
import pytest
import sympy

from fepysr_dyn.expressions import parse, same_structure
from fepysr_dyn.search.kinetic import KineticEngine, without_small_negatives
from fepysr_dyn.search.problem import Budget, RegressionProblem
from fepysr_dyn.search.rate_laws import Part, RateTerm, mass_action, saturating_parts
from fepysr_dyn.search.selection import choose

BOX = {"s": (0.0, 2.0), "e": (0.0, 2.0), "z": (0.0, 2.0)}


def noisy_problem(law, seed, share=0.03):
    random = np.random.default_rng(seed)
    columns = {name: random.uniform(0.02, 2.0, 400) for name in BOX}
    rate = sympy.lambdify(list(BOX), parse(law))(*columns.values())
    noise = share * float(np.std(rate))
    target = rate + noise * random.normal(size=len(rate))
    # Room for laws a term longer than those that are looked for, and no more: searches end by themselves.
    return RegressionProblem(columns, target, noise=noise, budget=Budget(seconds=60.0), max_complexity=24)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "law",
    [
        "0.4*s - 1.2*e*z",
        "1.5*s/(0.3 + s) - 0.7*e",
        "2*s**2/(0.25 + s**2) - 0.5*z",
        "0.9/(0.2 + e**4) - 0.8*z",
        "2.0*s*e/(0.4 + s) - 0.6*z",
    ],
)
def test_laws_of_kinetics_are_found_under_noise(law, seed):
    problem = noisy_problem(law, seed)
    front = KineticEngine().search(problem)
    assert same_structure(choose(front, problem).candidate.expression, parse(law), BOX)


def test_two_signals_at_once():
    law = parse("3*s**2/((0.3 + s**2)*(0.2 + e)) - 0.5*z")
    problem = noisy_problem(str(law), 1, share=0.01)
    assert any(same_structure(c.expression, law, BOX) for c in KineticEngine().search(problem))


@pytest.mark.parametrize("seed", range(5))
def test_terms_that_others_were_bent_to_replace_are_exchanged_for_them(seed):
    law = "0.3 + 2*s**2/(s**2 + 0.5) - 1.5*s/(s + e + 0.8)"
    problem = replace(noisy_problem(law, seed, share=0.02), max_complexity=32)
    assert any(same_structure(c.expression, parse(law), BOX) for c in KineticEngine().search(problem))


def test_a_saturation_beyond_the_data_is_a_line():
    problem = noisy_problem("0.8*s - 0.3*e", 4)
    chosen = choose(KineticEngine().search(problem), problem).unsnapped.expression
    assert same_structure(chosen, parse("0.8*s - 0.3*e"), BOX)
    part = Part("saturation", "s", 2, "", 1e4)
    assert RateTerm(("e",), (part,)).limit({"s": np.ones(3), "e": np.ones(3)}) == RateTerm(("e", "s", "s"))
    assert part.limit({"s": np.full(3, 100.0)}) is None


def test_what_changes_its_sign_opens_gates_and_does_not_saturate():
    columns = {"x": np.linspace(-1, 1, 9), "y": np.linspace(0, 1, 9), "zero": np.zeros(9)}
    columns["few"] = np.repeat([-1.0, 0.0, 1.0], 3)
    parts = saturating_parts(columns)
    assert {part.column for part in parts if part.kind != "gate"} == {"y"}
    assert {part.column for part in parts if part.kind == "gate"} == {"x"}
    assert [term.factors for term in mass_action(["x", "y"])[:3]] == [(), ("x",), ("y",)]


def test_noise_below_zero_is_cut_and_what_is_negative_is_not():
    problem = RegressionProblem(
        {"a": np.array([-0.01, 0.5, 1.0]), "b": np.array([-0.5, 0.5, 1.0])}, np.array([0.0, 1.0, 2.0])
    )
    columns = without_small_negatives(problem).columns
    assert columns["a"][0] == 0.0
    assert columns["b"][0] == -0.5


def test_a_budget_ends_the_search_with_what_was_found():
    problem = replace(noisy_problem("1.5*s/(0.3 + s) - 0.7*e", 0), budget=Budget(evaluations=40))
    front = KineticEngine().search(problem)
    assert len(front)
    assert not front.complete


@pytest.mark.parametrize("seed", range(3))
def test_what_saturates_in_the_rest_of_a_total(seed):
    law = "1.5*e*(2.02 - s)/(2.1 - s) - 0.7*s"
    problem = noisy_problem(law, seed, share=0.01)
    assert any(same_structure(c.expression, parse(law), BOX) for c in KineticEngine().search(problem))


def test_limits_of_exhaustion_and_competition():
    columns = {"s": np.array([0.5, 2.0]), "e": np.array([0.1, 0.7])}
    near, far = Part("exhaustion", "s", 1, "", 2.5), Part("exhaustion", "s", 1, "", 9.0)
    assert near.limit(columns) is None
    assert far.limit(columns) == ()
    assert not near.has_pole(columns)
    assert Part("exhaustion", "s", 1, "", 1.9).has_pole(columns)
    assert str(near.expression(sympy.Float(2.5))) == "1/(2.5 - s)"
    assert Part("competition", "s", 1, "e", 0.3).limit(columns) is None
    assert Part("competition", "s", 1, "e", 50.0).limit(columns) == ("s",)


def found_in(columns, law, **options):
    random = np.random.default_rng(5)
    rate = sympy.lambdify(list(columns), law)(*columns.values())
    noise = 0.02 * float(np.std(rate))
    target = rate + noise * random.normal(size=len(rate))
    problem = RegressionProblem(
        columns, target, noise=noise, budget=Budget(seconds=60.0), max_complexity=32, **options
    )
    box = {name: (float(np.min(values)), float(np.max(values))) for name, values in columns.items()}
    return any(same_structure(c.expression, law, box) for c in KineticEngine().search(problem))


def test_a_gate_of_what_changes_its_sign():
    random = np.random.default_rng(3)
    columns = {"v": random.uniform(-70.0, 40.0, 400), "w": random.uniform(0.0, 0.6, 400)}
    assert found_in(columns, parse("0.2/(1.0 + exp(-0.1*v - 1.5)) - 0.5*w"))


def test_exhaustion_of_a_total_by_two_forms():
    random = np.random.default_rng(3)
    columns = {name: random.uniform(0.02, 1.0, 400) for name in ("a", "b", "c")}
    assert found_in(columns, parse("2.0*c*(2.3 - a - b)/(0.4 + 2.3 - a - b) - 0.5*a"))


def test_two_factors_beside_a_saturation():
    random = np.random.default_rng(3)
    columns = {name: random.uniform(0.02, 2.0, 400) for name in ("s", "e", "z")}
    assert found_in(columns, parse("0.7 - 1.5*s*e/(0.4 + e**4)"))


def test_features_are_terms_of_their_own():
    random = np.random.default_rng(3)
    columns = {name: random.uniform(0.02, 2.0, 400) for name in ("s", "e", "z")}
    feature = parse("sin(3.0*s)*exp(e)")
    law = parse("0.7*sin(3.0*s)*exp(e) - 1.2*z")
    assert found_in(columns, law, features=(feature,))
    assert not found_in(columns, law)


@pytest.mark.parametrize("rival", ["", "e"])
@pytest.mark.parametrize("kind", ["saturation", "inhibition", "exhaustion", "competition", "gate"])
def test_parts_are_what_they_are_written_as_and_know_their_slopes(kind, rival):
    columns = {"s": np.linspace(0.1, 2.0, 7), "e": np.linspace(1.0, 0.3, 7)}
    exponent = 1 if kind in ("exhaustion", "competition") else 2
    part = Part(kind, "s", exponent, "" if kind == "gate" else rival, 4.0, span=1.9)
    other = columns[part.rival] if part.rival else None
    value, slope = part.values(part.power(columns), other, part.level)
    written = sympy.lambdify(["s", "e"], part.expression(sympy.Float(4.0)))
    np.testing.assert_allclose(value, written(**columns), rtol=1e-12)
    above, below = (part.values(part.power(columns), other, 4.0 + step)[0] for step in (1e-5, -1e-5))
    np.testing.assert_allclose(slope, (above - below) / 2e-5, rtol=1e-7)


def test_features_that_cannot_be_evaluated_are_left_out():
    random = np.random.default_rng(3)
    columns = {name: random.uniform(0.02, 2.0, 400) for name in ("s", "e")}
    unusable = (sympy.Heaviside(sympy.Symbol("s") - 1), parse("log(-s)"))
    assert found_in(columns, parse("0.4*s - 1.2*e"), features=unusable)
