"""Units in which a threshold means the same for every coefficient, and the way back to the user's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from fepysr_dyn.baselines.base import Rates
from fepysr_dyn.baselines.libraries import Terms
from fepysr_dyn.baselines.pieces import Array, Piece, stacked


@dataclass(frozen=True)
class Units:
    """Sizes of the variables and of their rates; all 1 for the user's own units.

    Parameters
    ----------
    states, inputs : array
        Size of each.
    rate : float
        Size of the rates of states in these units: the inverse of the unit of time.
    """

    states: Array
    inputs: Array
    rate: float = 1.0

    @classmethod
    def plain(cls, states: int, inputs: int) -> Units:
        """Return the user's own units."""
        return cls(np.ones(states), np.ones(inputs))

    @classmethod
    def natural(cls, pieces: Sequence[Piece], rates: Sequence[Array]) -> Units:
        """Return units in which states, inputs and rates have a root mean square of about 1."""
        states, inputs = stacked(pieces)
        sizes = _rms(states)
        speed = float(np.median(_rms(np.vstack(rates)) / sizes))
        return cls(sizes, _rms(inputs), speed)

    def convert(self, pieces: Sequence[Piece], rates: Sequence[Array]) -> tuple[list[Piece], list[Array]]:
        """Return the data in these units; times stay as they are."""
        converted = [
            Piece(piece.times, piece.states / self.states, piece.inputs / self.inputs) for piece in pieces
        ]
        return converted, [rate / (self.states * self.rate) for rate in rates]

    def variables(self, names: Sequence[str]) -> list[sympy.Expr]:
        """Return the states and inputs in these units in terms of the user's symbols."""
        sizes = np.concatenate([self.states, self.inputs])
        return [
            sympy.Symbol(name) if size == 1.0 else sympy.Symbol(name) / sympy.Float(float(size))
            for name, size in zip(names, sizes, strict=True)
        ]

    def rates(self, coefficients: Array, terms: Terms, states: Sequence[str], inputs: Sequence[str]) -> Rates:
        """Turn coefficients in these units into right-hand sides in the user's.

        Parameters
        ----------
        coefficients : array
            Shape (states, terms).
        """
        if not np.all(np.isfinite(coefficients)):
            raise ValueError("a coefficient is not finite")
        features = terms(self.variables((*states, *inputs)))
        if np.shape(coefficients) != (len(states), len(features)):
            raise ValueError(f"expected {len(features)} coefficients a state, found {np.shape(coefficients)}")
        factors = self.states * self.rate
        return {
            state: sympy.Add(
                *(
                    sympy.Float(float(value * factor)) * feature
                    for value, feature in zip(row, features, strict=True)
                    if value * factor != 0.0
                )
            )
            for state, row, factor in zip(states, coefficients, factors, strict=True)
        }


def _rms(values: Array) -> Array:
    sizes = np.sqrt(np.mean(values**2, axis=0))
    return np.where((sizes > 0) & np.isfinite(sizes), sizes, 1.0)
