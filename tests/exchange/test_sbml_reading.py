"""Reaction-based models become the rates that libroadrunner computes; what is no ODE system is refused."""

import numpy as np
import pytest

import fepysr_dyn as fd
from fepysr_dyn.errors import ModelError
from fepysr_dyn.integration import RightHandSide

libsbml = pytest.importorskip("libsbml")

HEAD = (
    '<?xml version="1.0"?><sbml xmlns="http://www.sbml.org/sbml/level3/version2/core" level="3" version="2">'
)
MATH = '<math xmlns="http://www.w3.org/1998/Math/MathML">{}</math>'


def sbml_of(antimony_text):
    antimony = pytest.importorskip("antimony")
    antimony.clearPreviousLoads()
    assert antimony.loadAntimonyString(antimony_text) >= 0, antimony.getLastError()
    return antimony.getSBMLString(antimony.getMainModuleName())


# name: (Antimony text, states whose rates are compared)
MODELS = {
    "mass action": ("S1 -> S2; k*S1; S1 = 10; S2 = 1; k = 0.3", "S1 S2"),
    "stoichiometry": ("2 A + B -> 3 C; k*A^2*B; A = 2; B = 1.5; C = 0; k = 0.1", "A B C"),
    "compartments": (
        "compartment big, small; big = 5; small = 0.5; species A in big, B in small;"
        "A -> B; big*k*A - small*j*B; A = 2; B = 1; k = 0.3; j = 0.2",
        "A B",
    ),
    "amounts": (
        "compartment c; c = 3; substanceOnly species A in c; species B in c;"
        "A -> B; k*A; A = 2; B = 1; k = 0.3",
        "A B",
    ),
    "boundary species": ("$A -> B; k*A; B -> ; j*B; A = 2; B = 1; k = 0.3; j = 0.1", "B"),
    "a boundary species with a rate rule": ("$A -> B; k*A; A' = -0.1*A; A = 2; B = 1; k = 0.3", "A B"),
    "assignment rules": ("A -> B; k*A; k := 0.1 + Tot - A; Tot = 3; A = 2; B = 1", "A B"),
    "initial assignments": ("A -> B; k*A; k = 2*j; j = 0.4; A = B + j; B = 1.5", "A B"),
    "functions": (
        "function mm(s, v, K) v*s/(K + s) end\n"
        "model m\nA -> B; mm(A, V, K); A = 2; B = 0; V = 1; K = 0.5\nend",
        "A B",
    ),
    "functions of functions": (
        "function sq(x) x*x end\nfunction quart(x) sq(sq(x)) end\n"
        "model m\nA -> B; k*quart(A); A = 1.2; B = 0; k = 0.1\nend",
        "A B",
    ),
    "a piecewise law": ("A -> B; piecewise(k*A, A > 1, j); A = 2; B = 0; k = 0.1; j = 0.7", "A B"),
    "time": ("A -> B; k*A*(1 + sin(time)); A = 2; B = 0; k = 0.1", "A B"),
    "the rate of a reaction in a rule": ("J: A -> B; k*A; X' = J - X; A = 2; B = 0; X = 1; k = 0.4", "A B X"),
    "logarithms and roots": (
        "A -> B; log10(A) + ln(A) + sqrt(A) + root(3, A); A = 2; B = 0",
        "A B",
    ),
    "negations": ("A -> B; piecewise(1, !(A < 1) && (A != 3), 2); A = 2; B = 0", "A B"),
    "a growing compartment": (
        "compartment c; c' = 0.1*c; c = 2; species A in c, B in c; A -> B; c*k*A; A = 2; B = 1; k = 0.3",
        "A_amount B_amount c",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_rates_are_those_of_roadrunner(name):
    roadrunner = pytest.importorskip("roadrunner")
    roadrunner.Logger.disableLogging()
    text, states = MODELS[name]
    sbml = sbml_of(text)
    system = fd.from_sbml(sbml)
    peer = roadrunner.RoadRunner(sbml)
    rates = RightHandSide(system).rates(np.array(list(system.initial.values())), [])
    found = dict(zip(system.states, rates, strict=True))
    boundary, species = peer.model.getBoundarySpeciesIds(), peer.model.getFloatingSpeciesIds()
    sizes = {"big": 5.0, "small": 0.5}
    for state in states.split():
        own = state.removesuffix("_amount")
        expected = -0.1 * 2 if own in boundary else peer[f"{own}'"]
        if own in species and name == "compartments":
            expected /= sizes["big" if own == "A" else "small"]
        if name == "amounts" and own == "B":
            expected /= 3.0
        assert found[state] == pytest.approx(expected, rel=1e-9), state


def test_conversion_factors_multiply_what_reactions_do():
    roadrunner = pytest.importorskip("roadrunner")
    document = libsbml.readSBMLFromString(sbml_of("A -> 2 B; k*A; A = 2; B = 1; k = 0.3; f = 10; g = 0.5"))
    document.getModel().setConversionFactor("f")
    document.getModel().getSpecies("B").setConversionFactor("g")
    text = libsbml.writeSBMLToString(document)
    system = fd.from_sbml(text)
    rates = RightHandSide(system).rates(np.array([system.initial[s] for s in system.states]), [])
    assert dict(zip(system.states, rates, strict=True)) == pytest.approx({"A": -6.0, "B": 0.6})
    peer = roadrunner.RoadRunner(text)
    assert [peer["A'"], peer["B'"]] == pytest.approx([-6.0, 0.6])


def test_a_stoichiometry_that_a_rule_gives():
    document = libsbml.readSBMLFromString(sbml_of("J: A -> n B; k*A; A = 2; B = 1; k = 0.3; n := 2 + A"))
    system = fd.from_sbml(libsbml.writeSBMLToString(document))
    rates = RightHandSide(system).rates(np.array([system.initial[s] for s in system.states]), [])
    assert dict(zip(system.states, rates, strict=True)) == pytest.approx({"A": -0.6, "B": 2.4})


def test_steps_of_a_foreign_model_become_an_input():
    system = fd.from_sbml(
        sbml_of("A -> ; k*A; A = 2; k = 0.1; t1 = 5; at (time > t1): k = 0.4; at (time >= 9): k = 0")
    )
    assert system.inputs["k"]([0.0, 5.0, 9.0]).tolist() == [0.1, 0.4, 0.0]
    assert system.states == ("A",)


def test_local_parameters_keep_apart():
    law = MATH.format("<apply><times/><ci>k</ci><ci>A</ci></apply>")
    reaction = (
        '<reaction id="{id}" reversible="false"><listOfReactants><speciesReference species="A" '
        'stoichiometry="1" constant="true"/></listOfReactants><kineticLaw>{law}<listOfLocalParameters>'
        '<localParameter id="k" value="{value}"/></listOfLocalParameters></kineticLaw></reaction>'
    )
    text = (
        f'{HEAD}<model><listOfCompartments><compartment id="c" size="1" spatialDimensions="3" '
        'constant="true"/></listOfCompartments><listOfSpecies><species id="A" compartment="c" '
        'initialConcentration="2" '
        'hasOnlySubstanceUnits="false" boundaryCondition="false" constant="false"/></listOfSpecies>'
        '<listOfParameters><parameter id="k" value="100" constant="true"/></listOfParameters>'
        "<listOfReactions>"
        f"{reaction.format(id='r1', law=law, value=0.5)}{reaction.format(id='r2', law=law, value=0.25)}"
        "</listOfReactions></model></sbml>"
    )
    system = fd.from_sbml(text)
    assert RightHandSide(system).rates(np.array([2.0]), [])[0] == pytest.approx(-1.5)
    assert {system.parameters[f"{r}_k"] for r in ("r1", "r2")} == {0.5, 0.25}


def test_names_that_formulas_cannot_have_get_another():
    system = fd.from_sbml(sbml_of("exp_ -> hill; sign*exp_; exp_ = 2; hill = 0; sign = 0.5"))
    assert system.states == ("exp_", "hill_")
    assert "sign_" in system.parameters


def rule(kind, math, variable=' variable="x"'):
    return (
        f'{HEAD}<model><listOfParameters><parameter id="x" value="1" constant="false"/></listOfParameters>'
        f"<listOfRules><{kind}{variable}>{MATH.format(math)}</{kind}></listOfRules></model></sbml>"
    )


DELAY = (
    '<apply><csymbol encoding="text" definitionURL="http://www.sbml.org/sbml/symbols/delay">d</csymbol>'
    "<ci>x</ci><cn>1</cn></apply>"
)
# name: (SBML text or Antimony text, what the line must say)
REFUSED = {
    "an event of a state": (
        "A -> ; A; A = 2; E1: at (A < 1): A = 2",
        "event 'E1' is not supported: only steps",
    ),
    "an event that resets a state": ("A -> ; A; A = 2; E1: at (time > 1): A = 2", "event 'E1' changes 'A'"),
    "a delayed event": (
        "A -> ; k*A; A = 2; k = 1; E1: at 2 after (time > 1): k = 2",
        "event 'E1' has a delay",
    ),
    "an event with a formula": (
        "A -> ; k*A; A = 2; k = 1; E1: at (time > 1): k = A",
        "to a value that varies",
    ),
    "a delay": (rule("rateRule", DELAY), "rate rule of 'x': delays are not supported"),
    "an algebraic rule": (rule("algebraicRule", "<ci>x</ci>", ""), "rule 1 is an algebraic rule"),
    "rounding": ("A -> ; floor(A); A = 2", "the function 'floor' is not supported"),
    "no value": ("A -> ; k*A; A = 2", "'k' has no finite value"),
    "no start": ("A -> ; A", "'A' has no finite value at the start"),
    "no kinetic law": ("J0: A -> B; ; A = 1; B = 0", "reaction 'J0' has no kinetic law"),
    "no states": ("k = 1", "needs at least one state"),
    "a circle": (
        rule("rateRule", "<ci>y</ci>")
        .replace(
            "</listOfParameters>",
            '<parameter id="y" constant="false"/><parameter id="z" constant="false"/></listOfParameters>',
        )
        .replace(
            "</listOfRules>",
            f'<assignmentRule variable="y">{MATH.format("<ci>z</ci>")}</assignmentRule>'
            f'<assignmentRule variable="z">{MATH.format("<ci>y</ci>")}</assignmentRule></listOfRules>',
        ),
        "in a circle",
    ),
    "a random law": ("A -> ; A*normal(1, 2); A = 2", "not supported"),
    "a package": (
        HEAD[:-1]
        + ' xmlns:comp="http://www.sbml.org/sbml/level3/version1/comp/version1" comp:required="true">'
        '<model id="m"/></sbml>',
        "needs the SBML package 'comp'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_ode_system_is_refused_by_name(name):
    text, message = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        fd.from_sbml(text if text.startswith("<") else sbml_of(text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_libsbml_the_extra_is_named(monkeypatch):
    from fepysr_dyn.errors import MissingDependencyError
    from fepysr_dyn.exchange import strangers

    monkeypatch.setattr(strangers, "answer_of", lambda *_, **__: '{"missing": "libsbml"}')
    with pytest.raises(MissingDependencyError, match=r"pip install 'fepysr-dyn\[sbml\]'"):
        fd.from_sbml("<sbml/>")
