from __future__ import annotations

import numpy as np
import pytest

from fepysr_dyn.errors import ModelError
from fepysr_dyn.stimulus import KINDS, Constant, Ramps, Sampled, Sine, Steps, split_at, stimulus_from

EXAMPLES = [
    Constant(2.5),
    Steps((0.0, 20.0, 40.0), (0.05, 0.5, 0.25)),
    Ramps((0.0, 10.0, 30.0), (0.0, 1.0, -1.0)),
    Sampled((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 5.0, 6.0), jumps=(2.0,)),
    Sine(0.5, 4.0, offset=1.0, phase=0.3),
]


@pytest.mark.parametrize("stimulus", EXAMPLES, ids=lambda s: type(s).__name__)
def test_pieces_are_the_stimulus_between_breakpoints(stimulus) -> None:
    for start, stop in split_at(stimulus.breakpoints, 0.0, 50.0):
        piece = stimulus.piece(start, stop)
        inside = np.linspace(start, stop, 33)[:-1]
        assert [piece(t) for t in inside] == pytest.approx(list(stimulus(inside)), abs=1e-12)
        # At the end the piece gives the limit from the left, not the next level.
        assert piece(stop) == pytest.approx(piece(stop - 1e-9), abs=1e-6)


@pytest.mark.parametrize("stimulus", EXAMPLES, ids=lambda s: type(s).__name__)
def test_tables_round_trip(stimulus) -> None:
    again = stimulus_from(stimulus.to_dict())
    assert again == stimulus
    assert again.breakpoints == stimulus.breakpoints


def test_every_kind_has_an_example() -> None:
    assert {type(stimulus) for stimulus in EXAMPLES} == set(KINDS.values())


def test_steps_are_left_closed() -> None:
    steps = Steps((0.0, 20.0), (0.05, 0.5))
    assert list(steps([-1.0, 0.0, np.nextafter(20.0, 0.0), 20.0, 1e9])) == [0.05, 0.05, 0.05, 0.5, 0.5]
    assert steps.breakpoints == (20.0,)


def test_a_step_that_changes_nothing_is_no_breakpoint() -> None:
    assert Steps((0.0, 1.0, 2.0, 3.0), (1.0, 1.0, 2.0, 2.0)).breakpoints == (2.0,)


def test_ramps_bend_at_their_knots_and_stay_level_outside() -> None:
    ramps = Ramps((1.0, 3.0), (0.0, 4.0))
    assert list(ramps([0.0, 1.0, 2.0, 3.0, 9.0])) == [0.0, 0.0, 2.0, 4.0, 4.0]
    assert ramps.breakpoints == (1.0, 3.0)


def test_sampled_series_holds_its_level_before_a_jump() -> None:
    series = Sampled((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 5.0, 6.0), jumps=(2.0,))
    assert list(series([0.5, 1.0, 1.5, 1.999, 2.0, 2.5])) == [0.5, 1.0, 1.0, 1.0, 5.0, 5.5]
    assert series.breakpoints == (2.0,)


def test_cubic_samples_follow_a_smooth_series_and_do_not_look_across_a_jump() -> None:
    times = np.linspace(0, 4, 41)
    values = np.where(times < 2, np.sin(times), 5 + np.cos(times))
    series = Sampled(tuple(times), tuple(values), jumps=(2.0,), degree=3)
    fine = np.linspace(2, 4, 500)
    assert np.max(np.abs(series(fine) - (5 + np.cos(fine)))) < 1e-5
    early = np.linspace(0, 1.9, 500)
    assert np.max(np.abs(series(early) - np.sin(early))) < 1e-5
    assert series(1.97) == pytest.approx(np.sin(1.9)), "the value before a jump is held"
    piece = series.piece(2.0, 4.0)
    assert [piece(t) for t in fine] == pytest.approx(list(series(fine)), abs=1e-12)
    assert stimulus_from(series.to_dict()) == series


def test_samples_are_joined_by_lines_or_cubics_only() -> None:
    with pytest.raises(ModelError, match="degree"):
        Sampled((0.0, 1.0), (0.0, 1.0), degree=2)


def test_sine_starts_at_its_phase() -> None:
    sine = Sine(2.0, 8.0, offset=1.0, phase=np.pi / 2)
    assert list(sine([0.0, 2.0, 4.0])) == pytest.approx([3.0, 1.0, -1.0])
    assert sine.breakpoints == ()


def test_numbers_are_constant_stimuli() -> None:
    assert stimulus_from(3) == Constant(3.0)
    assert list(stimulus_from(3)([0.0, 1.0])) == [3.0, 3.0]


def test_intervals_between_breakpoints() -> None:
    assert split_at((5.0, 0.0, 2.0, 2.0, 10.0, 99.0), 0.0, 10.0) == [(0.0, 2.0), (2.0, 5.0), (5.0, 10.0)]
    assert split_at((), 0.0, 1.0) == [(0.0, 1.0)]


@pytest.mark.parametrize(
    ("table", "fragment"),
    [
        ("1.0", "number or a stimulus table"),
        (10**400, "finite"),
        (True, "number or a stimulus table"),
        (None, "number or a stimulus table"),
        ([1.0], "number or a stimulus table"),
        ({}, "expected kind to be one of"),
        ({"kind": "step"}, "did you mean 'steps'"),
        ({"kind": 3}, "expected kind"),
        ({"kind": ["steps"]}, "expected kind"),
        ({"kind": "constant"}, "needs the fields"),
        ({"kind": "constant", "value": "1"}, "number or a list of numbers"),
        ({"kind": "constant", "value": float("nan")}, "finite"),
        ({"kind": "constant", "value": float("inf")}, "finite"),
        ({"kind": "constant", "value": [1.0]}, "finite"),
        ({"kind": "constant", "values": 1.0}, "did you mean 'value'"),
        ({"kind": "steps", "times": [0.0], "values": []}, "as many values as times"),
        ({"kind": "steps", "times": [], "values": []}, "at least one entry"),
        ({"kind": "steps", "times": [0.0, 1.0], "values": [1.0]}, "as many values as times"),
        ({"kind": "steps", "times": [0.0, 0.0], "values": [1.0, 2.0]}, "must increase"),
        ({"kind": "steps", "times": [1.0, 0.0], "values": [1.0, 2.0]}, "must increase"),
        ({"kind": "steps", "times": 0.0, "values": 1.0}, "lists of times"),
        ({"kind": "steps", "times": [0.0, "1"], "values": [1.0, 2.0]}, "list of numbers"),
        ({"kind": "steps", "times": [0.0, True], "values": [1.0, 2.0]}, "list of numbers"),
        ({"kind": "steps", "times": [float("nan")], "values": [1.0]}, "finite"),
        ({"kind": "ramps", "times": [0.0, 1.0], "values": [1.0, float("inf")]}, "finite"),
        ({"kind": "sampled", "times": [0.0, 1.0], "values": [1.0, 2.0], "jumps": [0.5]}, "times of samples"),
        ({"kind": "sampled", "times": [0.0, 1.0], "values": [1.0, 2.0], "jumps": 1.0}, "jumps"),
        ({"kind": "sine", "amplitude": 1.0, "period": 0.0}, "must be positive"),
        ({"kind": "sine", "amplitude": 1.0, "period": -1.0}, "must be positive"),
        ({"kind": "sine", "amplitude": 1.0}, "needs the fields"),
        ({"kind": "sine", "amplitude": [1.0], "period": 1.0}, "finite"),
        ({"kind": "sine", "amplitude": 1.0, "frequency": 1.0}, "has no field 'frequency'"),
        ({"kind": "sine", "amplitude": 10**400, "period": 1.0}, "finite"),
    ],
)
def test_bad_tables_get_one_line(table: object, fragment: str) -> None:
    with pytest.raises(ModelError) as caught:
        stimulus_from(table)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)
