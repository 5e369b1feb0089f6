"""Equations typeset: an align environment, Greek letters, indices, nothing that breaks out of it."""

from dataclasses import replace

import pytest

import fepysr_dyn as fd
from fepysr_dyn.exchange.latex import expression_in_latex, name_in_latex, number_in_latex
from fepysr_dyn.expressions import parse
from fepysr_dyn.stimulus import Ramps


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", "x"),
        ("X1", "X_{1}"),
        ("gamma", r"\gamma"),
        ("gamma12", r"\gamma_{12}"),
        ("sigma_max", r"\sigma_{\mathrm{max}}"),
        ("IPTG", r"\mathrm{IPTG}"),
        ("k_on_2", r"k_{\mathrm{on},2}"),
        ("K_alpha", r"K_{\alpha}"),
        ("Xdot", r"\mathrm{Xdot}"),
        ("crowbar", r"\mathrm{crowbar}"),
        ("_a", r"\mathrm{\_a}"),
        ("_", r"\mathrm{\_}"),
    ],
)
def test_names(name, text):
    assert name_in_latex(name) == text


def test_numbers_are_short():
    assert number_in_latex(1 / 3) == "0.333333"
    assert number_in_latex(-2e-9) == r"-2 \cdot 10^{-9}"
    assert number_in_latex(100.0) == "100"


def test_formulas():
    assert expression_in_latex(parse("gamma1*X1/(K + X1)")) == r"\frac{X_{1} \gamma_{1}}{K + X_{1}}"
    assert expression_in_latex(parse("log(x)")) == r"\ln{\left(x \right)}"


@pytest.mark.parametrize("name", fd.model_names())
def test_every_model_is_balanced(name):
    text = fd.to_latex(fd.load_model(name))
    assert text.count(r"\begin{align*}") == text.count(r"\end{align*}") == 1
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")
    assert text.count(r"\frac{\mathrm{d}") == len(fd.load_model(name).states)


def test_inputs_are_cases():
    system = replace(fd.load_model("michaelis_menten"), inputs={"j": Ramps((0.0, 2.0), (1.0, 3.0))})
    expected = r"j(t) &= \begin{cases} 1 & t < 0 \\ 1 + 1\,(t) & t < 2 \\ 3 & \text{otherwise} \end{cases}"
    assert expected in fd.to_latex(system)


def test_a_title_cannot_leave_its_comment():
    system = replace(fd.load_model("lorenz"), title="a\n\\input{/etc/passwd}\r\\write18{ls}\u2028b")
    first, second, *_ = fd.to_latex(system).splitlines()
    assert first.startswith("% a ")
    assert second == r"\begin{align*}"
    assert "\\input" not in first
