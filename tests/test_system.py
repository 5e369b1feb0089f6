from __future__ import annotations

import math

import pytest
import sympy

from fepysr_dyn.errors import ModelError
from fepysr_dyn.expressions import parse
from fepysr_dyn.stimulus import Constant, Steps
from fepysr_dyn.system import ExperimentPlan, OdeSystem, Protocol

x, u, k, flow = sympy.symbols("x u k flow")


def system(**changes: object) -> OdeSystem:
    settings: dict[str, object] = {
        "name": "test",
        "rates": {"x": u - flow},
        "initial": {"x": 1.0},
        "inputs": {"u": Constant(2.0)},
        "parameters": {"k": 3.0, "n": 2.0},
        "assignments": {"flow": parse("k*x**n")},
    }
    return OdeSystem(**{**settings, **changes})  # type: ignore[arg-type]


def test_explicit_rates() -> None:
    assert system().explicit_rates() == {"x": u - 3 * x**2}
    assert system().explicit_rates(numbers=False) == {"x": u - k * x ** sympy.Symbol("n")}
    assert system(parameters={"k": 0.5, "n": 1.0}).explicit_rates() == {"x": u - 0.5 * x}


def test_assignments_in_any_order() -> None:
    chain = {"c": parse("2*b"), "b": parse("a + 1"), "a": parse("x*k")}
    found = system(rates={"x": sympy.Symbol("c")}, assignments=chain).explicit_rates()
    assert sympy.expand(found["x"] - (6 * x + 2)) == 0


def test_deep_functions_are_substituted_in_bounded_time() -> None:
    text = "x"
    for _ in range(8):
        text = f"1/(tanh(sqrt({text})*k) + 1)"
    found = system(rates={"x": parse(text)}).explicit_rates()["x"]
    assert found.free_symbols == {x}


@pytest.mark.parametrize(
    ("rate", "parameters"),
    [("x/k", {"k": 0.0}), ("x*log(k)", {"k": -1.0}), ("sqrt(k)*x", {"k": -2.5}), ("x*log(k)", {"k": 0.0})],
)
def test_parameters_that_make_a_rate_infinite_or_complex(rate: str, parameters: dict[str, float]) -> None:
    broken = system(rates={"x": parse(rate)}, parameters={**parameters, "n": 1.0})
    with pytest.raises(ModelError, match="the rate of 'x' is not finite and real"):
        broken.explicit_rates()


def test_other_parameters() -> None:
    assert system().with_parameters(k=5.0).explicit_rates() == {"x": u - 5 * x**2}
    with pytest.raises(ModelError, match="no parameter 'kk'; did you mean 'k'"):
        system().with_parameters(kk=1.0)


def test_experiments_change_only_what_they_name() -> None:
    plan = ExperimentPlan("a", {"x": 7.0}, {"u": Steps((0.0, 1.0), (0.0, 1.0))})
    found = system(protocol=Protocol(experiments=(plan, ExperimentPlan("b"))))
    assert found.initial_of(plan) == {"x": 7.0}
    assert found.initial_of(found.protocol.experiments[1]) == {"x": 1.0}
    assert found.inputs_of(plan)["u"] == Steps((0.0, 1.0), (0.0, 1.0))
    assert found.inputs_of(found.protocol.experiments[1])["u"] == Constant(2.0)


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"rates": {}}, "at least one state"),
        ({"initial": {}}, "state 'x' has no initial value"),
        ({"initial": {"x": math.nan}}, "finite"),
        ({"parameters": {"k": math.inf, "n": 1.0}}, "finite"),
        ({"parameters": {"k": 1.0}}, "unknown symbol 'n'"),
        ({"parameters": {"k": 1.0, "n": 1.0, "x": 1.0}}, "used twice"),
        ({"parameters": {"k": 1.0, "n": 1.0, "sin": 1.0}}, "cannot be used as a name"),
        ({"inputs": {"u": Constant(1.0), "experiment": Constant(1.0)}}, "cannot be used as a name"),
        ({"assignments": {"flow": parse("flow + 1")}}, "circle"),
        ({"units": {"y": "M"}}, "does not exist"),
        ({"protocol": Protocol(experiments=(ExperimentPlan("a", {"y": 1.0}),))}, "unknown state 'y'"),
        (
            {"protocol": Protocol(experiments=(ExperimentPlan("a", {}, {"v": Constant(1)}),))},
            "unknown input 'v'",
        ),
    ],
)
def test_contradictions_are_refused(changes: dict[str, object], fragment: str) -> None:
    with pytest.raises(ModelError) as caught:
        system(**changes)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        *({"duration": 0.0}, {"duration": math.nan}, {"samples": 1}, {"experiments": ()}),
        {"experiments": (ExperimentPlan("a"), ExperimentPlan("a"))},
    ],
)  # fmt: skip
def test_impossible_protocols(settings: dict[str, object]) -> None:
    with pytest.raises(ModelError):
        Protocol(**settings)  # type: ignore[arg-type]
