"""Terms of rate laws as kinetics writes them: mass action, saturation, inhibition and competition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import sympy

from fepysr_dyn.search.problem import Array

Kind = Literal["saturation", "inhibition", "exhaustion", "competition", "gate"]
Columns = dict[str, Array]

#: Hill exponents of the library, all that are reached from these one after the other, and half-saturations as
#: shares of the largest value of a column. The steep ones stand for switches of any kind.
_EXPONENTS = (1, 2, 4, 8)
_LADDER = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48)
_SHARES = (0.03, 0.1, 0.3, 0.7, 2.0)
#: Products of three are among the terms of mass action for so many columns at most.
_MOST_CUBED = 8
#: A column with fewer levels than this is taken to saturate as plainly as it can.
_LEVELS = 6
#: Gates: exponents over the whole range of a column, and where in it they are half open.
_STEEPNESSES = (4, 8, 16)
_MIDDLES = (0.1, 0.3, 0.5, 0.7, 0.9)
#: A half-saturation so many times as large as all values is not seen, nor an exhaustion that ends so far off.
_BEYOND = 3.0
_FAR_OFF = 2.0
#: One so many times as large stands for something else: a difference of two such parts is about a product.
_RUNAWAY = 100.0


@dataclass(frozen=True)
class Part:
    """A part of a term with a constant inside.

    Parameters
    ----------
    kind : str
        ``v**n/(k + v**n)``, ``1/(k + v**n)``, ``1/(k - v - w)`` or ``v/(k + v + w)``. Exhaustion is how a law
        that saturates in what is left of a total, ``(T - v)/(K + T - v)``, depends on what is there, in one
        form or in two. A gate, for a column that changes its sign, opens from -1 to 1 as a channel does with
        the voltage: ``(exp(u) - k)/(exp(u) + k)`` with ``u = n*v/span``, written as a hyperbolic tangent.
    column, rival : str
        `v` and `w`; no rival is an empty name.
    level : float
        `k`.
    span : float
        Of a gate.
    """

    kind: Kind
    column: str
    exponent: int
    rival: str
    level: float
    span: float = 0.0

    @property
    def size(self) -> int:
        """About how many nodes the part adds to a formula."""
        if self.kind == "gate":
            return 6
        power = 1 if self.exponent == 1 else 3
        above = power + 1 if self.kind in ("saturation", "competition") else 0
        return above + power + 3 + (2 if self.rival else 0)

    def expression(self, level: sympy.Expr) -> sympy.Expr:
        """Return the part with its constant written as given."""
        column = sympy.Symbol(self.column)
        if self.kind == "gate":
            # With one constant for how steep it is: above and below a line they would drift apart.
            return sympy.tanh(sympy.Float(0.5 * self.exponent / self.span) * column - sympy.log(level) / 2)
        power = column**self.exponent
        rival = sympy.Symbol(self.rival) if self.rival else sympy.Integer(0)
        if self.kind == "exhaustion":
            return 1 / (level - power - rival)
        top = sympy.Integer(1) if self.kind == "inhibition" else power
        return top / (power + rival + level)

    def power(self, columns: Columns) -> Array:
        """Return the column to its exponent, or what stands for that."""
        values = columns[self.column]
        if self.kind == "gate":
            return np.asarray(np.exp(self.exponent / self.span * values), dtype=np.float64)
        return np.asarray(values**self.exponent, dtype=np.float64)

    def values(self, power: Array, rival: Array | None, level: float) -> tuple[Array, Array]:
        """Return the part and its derivative by its constant, from the powers of the column."""
        used = power if rival is None else power + rival
        bottom = level - used if self.kind == "exhaustion" else level + used
        if self.kind == "gate":
            return (power - level) / bottom, -2.0 * power / bottom**2
        value = (power if self.kind in ("saturation", "competition") else 1.0) / bottom
        return value, -value / bottom

    def has_pole(self, columns: Columns) -> bool:
        """Return whether the part is infinite within the range of a column, zero included."""
        return self.level <= (self._largest(columns) if self.kind == "exhaustion" else 0.0)

    def limit(self, columns: Columns) -> tuple[str, ...] | None:
        """Return the factors that the part is on these rows, if it is nothing more than that."""
        if self.kind == "gate" or self._reach(columns) < (_FAR_OFF if self.kind == "exhaustion" else _BEYOND):
            return None
        return (self.column,) * self.exponent if self.kind in ("saturation", "competition") else ()

    def runs_away(self, columns: Columns) -> bool:
        """Return whether the constant is so large that only differences of such parts say anything."""
        return self._reach(columns) > _RUNAWAY

    def _reach(self, columns: Columns) -> float:
        """Return the constant relative to what it is added to or subtracted from."""
        return self.level / self._largest(columns)

    def _largest(self, columns: Columns) -> float:
        """Return the largest that the constant is added to or subtracted from."""
        if self.rival:
            return float(np.max(columns[self.column] + columns[self.rival]))
        return float(np.max(self.power(columns)))

    def neighbours(self) -> list[Part]:
        """Return the same part with the next smaller and the next larger Hill exponent."""
        if self.kind in ("exhaustion", "competition"):
            return []
        half = max(self.level, 1e-300) ** (1 / self.exponent)
        place = _LADDER.index(self.exponent)
        near = (*_LADDER[max(0, place - 1) : place], *_LADDER[place + 1 : place + 2])
        return [replace(self, exponent=n, level=half**n) for n in near]


@dataclass(frozen=True)
class RateTerm:
    """One term of a rate law without its coefficient: columns times parts; mass action has no parts."""

    factors: tuple[str, ...]
    parts: tuple[Part, ...] = ()

    @property
    def structure(self) -> tuple[object, ...]:
        """What is left of the term without its inner constants."""
        return (self.factors, *((part.kind, part.column, part.exponent, part.rival) for part in self.parts))

    @property
    def size(self) -> int:
        """About how many nodes the term has as a formula, its coefficient included."""
        return 2 + 2 * len(self.factors) + sum(part.size for part in self.parts)

    def expression(self, levels: Sequence[sympy.Expr]) -> sympy.Expr:
        """Return the term with its inner constants written as given."""
        written = [part.expression(level) for part, level in zip(self.parts, levels, strict=True)]
        return sympy.Mul(*(sympy.Symbol(name) for name in self.factors), *written)

    def with_levels(self, levels: Sequence[float]) -> RateTerm:
        """Return the term with other inner constants."""
        parts = [replace(part, level=level) for part, level in zip(self.parts, levels, strict=True)]
        return replace(self, parts=tuple(parts))

    def limit(self, columns: Columns) -> RateTerm:
        """Return the term without the parts that are only factors on these rows."""
        factors, parts = list(self.factors), []
        for part in self.parts:
            limit = part.limit(columns)
            if limit is None:
                parts.append(part)
            else:
                factors += limit
        return RateTerm(tuple(sorted(factors)), tuple(parts))

    def plainer(self) -> list[RateTerm]:
        """Return the terms that lack a part, or have its power instead of a saturation."""
        result = []
        for i, part in enumerate(self.parts):
            rest = (*self.parts[:i], *self.parts[i + 1 :])
            result.append(RateTerm(self.factors, rest))
            if part.kind in ("saturation", "competition"):
                power = (part.column,) * part.exponent
                result.append(RateTerm(tuple(sorted((*self.factors, *power))), rest))
        return result

    def neighbours(self, columns: Columns) -> list[RateTerm]:
        """Return the terms in which one Hill exponent is the next larger or smaller one."""
        return [
            replace(self, parts=(*self.parts[:i], other, *self.parts[i + 1 :]))
            for i, part in enumerate(self.parts)
            if not has_few_levels(columns[part.column])
            for other in part.neighbours()
        ]


def mass_action(names: Sequence[str]) -> list[RateTerm]:
    """Return products of up to three columns, the constant first."""
    degree = 3 if len(names) <= _MOST_CUBED else 2
    products: list[tuple[str, ...]] = [()]
    result = [RateTerm(())]
    for _ in range(degree):
        products = [
            (*factors, name) for factors in products for name in names if not factors or factors[-1] <= name
        ]
        result += [RateTerm(factors) for factors in products]
    return result


def has_few_levels(values: Array) -> bool:
    """Return whether a column has so few levels that they do not tell how steep a function of it is."""
    return len(np.unique(values)) < _LEVELS


def saturating_parts(columns: Columns) -> list[Part]:
    """Return the parts that columns allow: what changes its sign can only open a gate."""
    positive = {name: values for name, values in columns.items() if np.min(values) >= 0.0 < np.max(values)}
    signed = {name: values for name, values in columns.items() if np.min(values) < 0.0 < np.max(values)}
    return [*_parts(positive), *_gates(signed)]


def _gates(signed: Columns) -> Iterator[Part]:
    for name, values in signed.items():
        if has_few_levels(values):
            continue
        span = float(np.ptp(values))
        for steepness in _STEEPNESSES:
            for middle in _MIDDLES:
                level = float(np.exp(steepness / span * (np.min(values) + middle * span)))
                yield Part("gate", name, steepness, "", level, span)


def _parts(positive: Columns) -> Iterator[Part]:
    sizes = {name: float(np.quantile(values, 0.98)) for name, values in positive.items()}
    for name, values in positive.items():
        for exponent in _EXPONENTS[:1] if has_few_levels(values) else _EXPONENTS:
            for share in _SHARES:
                level = (share * (sizes[name] or 1.0)) ** exponent
                yield Part("saturation", name, exponent, "", level)
                yield Part("inhibition", name, exponent, "", level)
        for rival in ("", *(other for other in positive if other > name)):
            used = positive[name] + positive[rival] if rival else positive[name]
            for share in _SHARES[:-1]:
                level = float(np.max(used)) + share * (float(np.quantile(used, 0.98)) or 1.0)
                yield Part("exhaustion", name, 1, rival, level)
        for rival in positive:
            if rival != name:
                for share in _SHARES:
                    yield Part("competition", name, 1, rival, share * (sizes[name] or 1.0))
