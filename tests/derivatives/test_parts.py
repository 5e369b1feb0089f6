"""Stencils, noise levels and the splitting at breakpoints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fepysr_dyn.derivatives.base import make_series
from fepysr_dyn.derivatives.noise import noise_level
from fepysr_dyn.derivatives.stencils import (
    divided_difference_weights,
    interpolation_weights,
    nearest_window,
)


@given(st.integers(2, 9), st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_weights_are_exact_for_polynomials(width, seed):
    rng = np.random.default_rng(seed)
    nodes = np.cumsum(rng.uniform(0.2, 1, (3, width)), axis=1)
    at = rng.uniform(nodes[:, 0], nodes[:, -1])
    coefficients = rng.normal(size=width)
    value, slope = interpolation_weights(nodes, at)
    samples = np.polynomial.polynomial.polyval(nodes, coefficients)
    derivative = np.polynomial.polynomial.polyder(coefficients)
    scale = np.abs(samples).max() + 1
    np.testing.assert_allclose(
        (value * samples).sum(axis=1), np.polynomial.polynomial.polyval(at, coefficients), atol=1e-8 * scale
    )
    np.testing.assert_allclose(
        (slope * samples).sum(axis=1), np.polynomial.polynomial.polyval(at, derivative), atol=1e-7 * scale
    )


def test_centred_weights_are_the_textbook_ones():
    _, slope = interpolation_weights(np.array([[-2.0, -1, 0, 1, 2]]), np.zeros(1))
    np.testing.assert_allclose(slope[0], [1 / 12, -8 / 12, 0, 8 / 12, -1 / 12], atol=1e-14)


def test_windows_lie_around_their_points_and_stay_inside():
    knots = np.arange(10.0)
    assert nearest_window(knots, knots, 3).tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 7]
    assert nearest_window(knots, np.array([-5.0, 4.5, 99.0]), 4).tolist() == [0, 3, 6]


def test_divided_differences_remove_polynomials_and_keep_noise():
    rng = np.random.default_rng(0)
    nodes = np.cumsum(rng.uniform(0.5, 1.5, (50, 5)), axis=1)
    weights = divided_difference_weights(nodes)
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1)
    np.testing.assert_allclose((weights * (nodes**3 - nodes)).sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("level", [1e-8, 1e-4, 0.01, 0.1])
@pytest.mark.parametrize("grid", ["regular", "irregular"])
def test_noise_level(level, grid):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        t = np.linspace(0, 20, 600) if grid == "regular" else np.sort(rng.uniform(0, 20, 600))
        x = np.sin(t) + np.where(t > 7, t - 7, 0) + level * rng.normal(size=600)
        x[::17] = np.nan
        assert noise_level(make_series(t, x, [7.0])) == pytest.approx(
            level, rel=0.3 if grid == "regular" else 0.5
        )


def test_exact_data_have_noise_of_rounding():
    t = np.linspace(0, 20, 1000)
    assert noise_level(make_series(t, np.sin(t))) < 1e-14


@pytest.mark.parametrize(
    ("breakpoints", "pieces", "joints"),
    [
        ([], [(0, 6)], []),
        ([2.0], [(0, 2), (2, 6)], [2.0]),
        ([2.5], [(0, 3), (3, 6)], [2.5]),
        ([-1.0, 0.0, 9.0], [(0, 6)], []),
        ([2.2, 2.4], [(0, 3), (3, 6)], [np.nan]),
        ([5.0], [(0, 5), (5, 6)], [5.0]),
    ],
)
def test_pieces_and_joints(breakpoints, pieces, joints):
    series = make_series(np.arange(6.0), np.zeros(6), breakpoints)
    assert [(piece.start, piece.stop) for piece in series.pieces] == pieces
    np.testing.assert_array_equal(series.joints, joints)
