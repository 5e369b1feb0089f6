"""Terms of other equations: what flows between states, and nothing that every search has anyway."""

from fepysr_dyn.discovery.fluxes import fluxes_of_others
from fepysr_dyn.expressions import parse

RATES = {
    "a": parse("-2.0*a/(0.5 + a) + 0.3*b"),
    "b": parse("2.0*a/(0.5 + a) - 0.3*b - 0.1*b*c"),
    "c": parse("0.4 - c + 0.7*exp(-b)"),
}


def test_saturating_terms_come_once_and_without_their_coefficient():
    assert fluxes_of_others("c", RATES) == (parse("a/(0.5 + a)"),)


def test_terms_of_the_own_equation_do_not_come():
    assert set(fluxes_of_others("b", RATES)) == {parse("a/(0.5 + a)"), parse("exp(-b)")}
    assert parse("exp(-b)") not in fluxes_of_others("c", RATES)


def test_terms_come_in_the_order_of_the_equations():
    assert fluxes_of_others("b", RATES) == (parse("a/(0.5 + a)"), parse("exp(-b)"))


def test_mass_action_alone_has_nothing_to_offer():
    assert fluxes_of_others("a", {"a": parse("-a*b"), "b": parse("a*b - 2.0*b**2 + 1.0")}) == ()
