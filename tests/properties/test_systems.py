"""Systems survive their text, whatever they are made of."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fepysr_dyn.errors import ModelError
from fepysr_dyn.expressions import is_name, parse
from fepysr_dyn.model_files import system_from_toml, system_to_toml
from fepysr_dyn.stimulus import Constant, Ramps, Sampled, Sine, Steps, split_at
from fepysr_dyn.system import COLUMN_NAMES, ExperimentPlan, OdeSystem, Protocol

relaxed = settings(
    derandomize=True, deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(
    lambda name: is_name(name) and name not in COLUMN_NAMES
)
plain_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def knots(draw: st.DrawFn) -> tuple[tuple[float, ...], tuple[float, ...]]:
    times = sorted(draw(st.sets(st.floats(0, 1e6), min_size=1, max_size=6)))
    values = draw(st.lists(finite, min_size=len(times), max_size=len(times)))
    return tuple(times), tuple(values)


stimuli = st.one_of(
    finite.map(Constant),
    knots().map(lambda k: Steps(*k)),
    knots().map(lambda k: Ramps(*k)),
    knots().map(lambda k: Sampled(*k, jumps=k[0][1:2])),
    st.tuples(finite, st.floats(1e-3, 1e3), finite, finite).map(lambda p: Sine(*p)),
)


@st.composite
def systems(draw: st.DrawFn) -> OdeSystem:
    chosen = draw(st.lists(names, min_size=4, max_size=7, unique=True))
    state, other, signal, parameter, *rest = chosen
    formulas = [
        f"{signal} - {parameter}*{state}/({other} + 2)",
        f"exp(-{state})*tanh({other}) + {parameter}**2",
        f"Piecewise(({state}, {other} < {parameter}), (Max({state}, {signal}), True))",
        f"hill({state}, {parameter}, 3) - 0.1*abs({other})",
    ]
    rates = {name: parse(draw(st.sampled_from(formulas))) for name in (state, other)}
    plans = draw(st.lists(plain_text, min_size=1, max_size=3, unique=True))
    return OdeSystem(
        name=draw(plain_text),
        rates=rates,
        initial={state: draw(finite), other: draw(finite)},
        inputs={signal: draw(stimuli)},
        parameters={parameter: draw(finite)},
        assignments={name: parse(f"{state} + {parameter}") for name in rest},
        units={state: draw(plain_text), "time": draw(plain_text)},
        protocol=Protocol(
            draw(st.floats(1e-6, 1e9)),
            draw(st.integers(2, 10**6)),
            tuple(ExperimentPlan(plan, {other: draw(finite)}, {signal: draw(stimuli)}) for plan in plans),
        ),
        title=draw(plain_text),
        description=draw(plain_text),
        reference=draw(plain_text),
    )


@relaxed
@given(systems())
def test_toml_round_trip(system: OdeSystem) -> None:
    assert system_from_toml(system_to_toml(system)) == system


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.text(max_size=80))
def test_any_text_is_a_system_or_refused(text: str) -> None:
    try:
        system_from_toml(text)
    except ModelError as error:
        assert "\n" not in str(error)


@relaxed
@given(
    st.recursive(
        st.one_of(finite, st.booleans(), st.integers(), st.just("x"), st.just("u - x")),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(
                    ["states", "x", "initial", "rate", "inputs", "u", "stimulus", "kind", "protocol"]
                ),
                inner,
                max_size=4,
            ),
        ),
        max_leaves=12,
    ).filter(lambda document: isinstance(document, dict))
)
def test_any_document_is_a_system_or_refused(document: dict[str, object]) -> None:
    import tomli_w

    try:
        system_from_toml(tomli_w.dumps(document))
    except ModelError as error:
        assert "\n" not in str(error)


@relaxed
@given(stimuli, st.floats(0, 1e6), st.floats(1e-3, 1e6))
def test_pieces_agree_with_the_stimulus(stimulus: Steps, start: float, length: float) -> None:
    for left, right in split_at(stimulus.breakpoints, start, start + length):
        middle = left + (right - left) / 2
        if not left < middle < right:
            continue
        value = float(stimulus([middle])[0])
        piece = stimulus.piece(left, right)(middle)
        scale = max(abs(number) for number in (value, *getattr(stimulus, "values", ()), 1e-300))
        if isinstance(stimulus, Sine):
            scale = abs(stimulus.amplitude) + abs(stimulus.offset)
        assert math.isclose(piece, value, rel_tol=1e-6, abs_tol=1e-6 * scale) or not math.isfinite(scale)
