"""When nothing validates, the best attempts are shown with the reason."""

from dataclasses import replace

import numpy as np
import sympy

from fepysr_dyn.discovery.attempts import advice, best_attempts, reasons
from fepysr_dyn.integration import Outcome
from fepysr_dyn.search.front import Candidate, ParetoFront

x = sympy.Symbol("x")


def front(*losses):
    return ParetoFront(tuple(Candidate(x + k, 2 * k + 1, loss, "test") for k, loss in enumerate(losses)))


def test_the_best_attempts_gain_most_for_their_length():
    chosen = best_attempts(front(1.0, 0.99, 0.98, 1e-4, 9.9e-5, 9.8e-5, 9.7e-5), most=3)
    assert [candidate.loss for candidate in chosen] == [1.0, 1e-4, 9.7e-5]


def test_short_and_exact_fronts():
    assert best_attempts(ParetoFront(())) == ()
    assert [c.loss for c in best_attempts(front(1.0, 0.0))] == [1.0, 0.0]


def test_a_valid_result_needs_no_advice(found):
    assert reasons(found) == ()
    assert advice(found) == ()


def test_the_reason_says_how_each_integration_ended(found):
    first, second = found.validation.runs
    early = replace(
        first,
        outcome=Outcome.BLOW_UP,
        message="a state exceeded 1e+09 at t = 3",
        r2=dict.fromkeys(first.r2, -np.inf),
        diverged_at=2.5,
    )
    off = replace(second, r2={"x": 0.95, "y": 0.4}, diverged_at=None)
    bad = replace(found, validation=replace(found.validation, runs=(early, off)), complete=False)
    one, two = reasons(bad)
    assert "ended early (blow-up): a state exceeded 1e+09 at t = 3; it leaves the data at t = 2.5" in one
    assert "'second': y has an R² of 0.4, more than 0.9 is needed" in two
    lines = advice(bad)
    assert lines[0].startswith("the search was cut short")
    assert any("run away" in line for line in lines)
