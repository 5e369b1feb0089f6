"""Weights of interpolation and differentiation on arbitrary points (Fornberg 1988), many at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fepysr_dyn.derivatives.base import Array


def nearest_window(knots: Array, at: Array, width: int) -> NDArray[np.intp]:
    """Return where the window of `width` consecutive knots begins that lies most evenly around each point.

    At the ends the windows stay inside and so become one-sided.
    """
    if width % 2:
        # The nearest knot is the centre of an odd window.
        middles = (knots[1:] + knots[:-1]) / 2
        first = np.searchsorted(middles, at, side="right") - width // 2
    else:
        first = np.searchsorted(knots, at, side="right") - width // 2
    return np.clip(first, 0, len(knots) - width)


def interpolation_weights(nodes: Array, at: Array) -> tuple[Array, Array]:
    """Return the weights that give the value and the first derivative of the interpolating polynomial.

    Parameters
    ----------
    nodes : array, shape (points, width)
        The knots of each point's stencil.
    at : array, shape (points,)
        Where each polynomial is evaluated.

    Examples
    --------
    >>> value, slope = interpolation_weights(np.array([[-1.0, 0.0, 1.0]]), np.array([0.0]))
    >>> slope
    array([[-0.5,  0. ,  0.5]])
    """
    points, width = nodes.shape
    value = np.zeros((width, points))
    slope = np.zeros((width, points))
    value[0] = 1.0
    product = np.ones(points)
    offsets = nodes.T - at
    for i in range(1, width):
        previous, current = offsets[i - 1], offsets[i]
        new_product = np.ones(points)
        for j in range(i):
            gap = nodes[:, i] - nodes[:, j]
            new_product = new_product * gap
            if j == i - 1:
                ratio = product / new_product
                slope[i] = ratio * (value[j] - previous * slope[j])
                value[i] = -ratio * previous * value[j]
            slope[j] = (current * slope[j] - value[j]) / gap
            value[j] = current * value[j] / gap
        product = new_product
    return value.T, slope.T


def divided_difference_weights(nodes: Array) -> Array:
    """Return weights of unit norm that annihilate polynomials of degree ``width - 2`` on each stencil."""
    scaled = (nodes - nodes[:, :1]) / (nodes[:, -1:] - nodes[:, :1])
    gaps = scaled[:, :, None] - scaled[:, None, :]
    width = nodes.shape[1]
    gaps[:, np.arange(width), np.arange(width)] = 1.0
    weights: Array = 1.0 / np.prod(gaps, axis=2)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    return weights
