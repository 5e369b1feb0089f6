"""Plainer formulas: what a rate becomes without a term or a function."""

from fepysr_dyn.discovery.plainer import plainer_rates
from fepysr_dyn.expressions import parse


def test_each_term_is_left_out_once():
    assert set(plainer_rates(parse("0.5*x - 0.1*y + 2"))) == {
        parse("-0.1*y + 2"),
        parse("0.5*x + 2"),
        parse("0.5*x - 0.1*y"),
    }


def test_functions_become_their_arguments():
    assert set(plainer_rates(parse("2*abs(x)"))) == {parse("2*x"), parse("-2*x")}
    assert list(plainer_rates(parse("3*x*y"))) == []
