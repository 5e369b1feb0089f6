"""Terms of other equations: what flows between states, and nothing that every search has anyway."""

from fepysr_dyn.discovery.fluxes import fluxes_of_others
from fepysr_dyn.expressions import parse

RATES = {
    "a": parse("-2.0*a/(0.5 + a) + 0.3*b"),
    "b": parse("2.0*a/(0.5 + a) - 0.3*b - 0.1*b*c"),
    "c": parse("0.4 - c"),
}


def test_saturating_terms_come_without_their_coefficient():
    assert parse("a/(0.5 + a)") in fluxes_of_others("c", RATES)


def test_products_are_left_out_and_sums_of_two_are_not():
    fluxes = fluxes_of_others("c", RATES)
    assert not {parse("b"), parse("b*c")} & set(fluxes)
    assert parse("-0.3*b - 0.1*b*c") in fluxes


def test_whole_rates_come_last_and_the_own_one_not_at_all():
    fluxes = fluxes_of_others("a", RATES)
    assert fluxes[-1] == RATES["b"]
    assert RATES["a"] not in fluxes
    assert RATES["c"] in fluxes


def test_a_flux_of_two_equations_comes_once():
    fluxes = fluxes_of_others("c", RATES)
    assert len(fluxes) == len(set(fluxes))
    assert fluxes.count(parse("a/(0.5 + a)")) == 1
