"""Wilson's interval against published values, and what it must be for any count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fepysr_dyn.benchmarks.intervals import rate_text, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe, Stat Med 17:857 (1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_intervals(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_rate_and_mirrors(count):
    successes, trials = count
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials + 1e-12
    assert successes / trials - 1e-12 <= high <= 1
    assert wilson(trials - successes, trials) == pytest.approx((1 - high, 1 - low))


def test_nothing_tried_says_nothing():
    assert wilson(0, 0) == (0.0, 1.0)
    assert rate_text(0, 0) == "–"
