"""Polynomials with float coefficients, factored by roots of one variable that no other variable moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.search.problem import Array

Roots = NDArray[np.complex128]
#: Exponents of the variables to the coefficient; variables are of the order of one.
Polynomial = Mapping[tuple[int, ...], float]

#: Roots this close, relative to their size, are the same one.
_SAME_ROOT = 1e-3
#: Coefficients below this share of the largest are what rounding left.
_NOTHING = 1e-6
#: Values of the other variables at which roots are compared.
_POINTS = 4


def factors(polynomial: Polynomial, names: Sequence[str], scales: Sequence[float]) -> Iterator[sympy.Expr]:
    """Yield the factors of a polynomial in the user's variables, each with a leading coefficient of one.

    Parameters
    ----------
    scales : sequence of float
        What each variable was divided by to be of the order of one.

    Examples
    --------
    >>> product = {(0, 0): 0.5, (1, 0): 1.0, (0, 1): 1.0, (1, 1): 2.0}
    >>> sorted(factors(product, ("x", "y"), (1.0, 1.0)), key=str)
    [x + 0.5, y + 0.5]
    """
    rest = dict(polynomial)
    for index, name in enumerate(names):
        if not rest:
            return
        roots = _common_roots(rest, index)
        if not len(roots):
            continue
        rest = _divided(rest, index, roots)
        for part in _real_parts(roots):
            yield _expression({(power,): part[power] for power in range(len(part))}, [name], [scales[index]])
    if any(any(exponents) for exponents in rest):
        yield _expression(rest, names, scales)


def _common_roots(polynomial: Polynomial, index: int) -> Roots:
    """Return the roots in one variable that do not depend on the others, with multiplicity."""
    random = np.random.default_rng(0)
    found: Roots | None = None
    for _ in range(_POINTS):
        point = random.uniform(0.3, 1.0, len(next(iter(polynomial))))
        line = _along(polynomial, index, point)
        line = line[: np.max(np.flatnonzero(np.abs(line) > 1e-12 * np.max(np.abs(line))), initial=0) + 1]
        roots = np.roots(line[::-1]).astype(np.complex128)
        found = roots if found is None else _shared(found, roots)
    return np.empty(0, dtype=np.complex128) if found is None else found


def _shared(first: Roots, second: Roots) -> Roots:
    left = list(second)
    kept = []
    for root in first:
        distances = [abs(root - other) for other in left]
        if left and min(distances) <= _SAME_ROOT * max(abs(root), 1e-3):
            left.pop(int(np.argmin(distances)))
            kept.append(root)
    return np.array(kept, dtype=np.complex128)


def _along(polynomial: Polynomial, index: int, point: Array) -> Array:
    """Return the coefficients in one variable at given values of the others, lowest power first."""
    line = np.zeros(max(exponents[index] for exponents in polynomial) + 1)
    for exponents, value in polynomial.items():
        others = np.prod([point[k] ** e for k, e in enumerate(exponents) if k != index])
        line[exponents[index]] += value * others
    return line


def _divided(polynomial: Polynomial, index: int, roots: Roots) -> dict[tuple[int, ...], float]:
    """Return the quotient by the factors of common roots of one variable."""
    divisor = np.real(np.poly(roots))
    groups: dict[tuple[int, ...], dict[int, float]] = {}
    for exponents, value in polynomial.items():
        others = (*exponents[:index], 0, *exponents[index + 1 :])
        groups.setdefault(others, {})[exponents[index]] = value
    quotient: dict[tuple[int, ...], float] = {}
    for others, powers in groups.items():
        line = np.zeros(max(powers) + 1)
        for power, value in powers.items():
            line[power] = value
        result = np.polydiv(line[::-1], divisor)[0][::-1]
        for power, value in enumerate(result):
            quotient[(*others[:index], power, *others[index + 1 :])] = float(value)
    largest = max(map(abs, quotient.values()))
    return {e: v for e, v in quotient.items() if abs(v) > _NOTHING * largest}


def _real_parts(roots: Roots) -> list[Array]:
    """Return polynomials, lowest power first: x^n + c stays whole, other real roots stand alone."""
    whole = np.real(np.poly(roots))[::-1]
    inner = np.abs(whole[1:-1])
    if len(roots) > 1 and not np.any(inner > 1e-3 * max(abs(whole[0]), 1e-12)):
        return [np.concatenate([whole[:1], np.zeros(len(inner)), whole[-1:]])]
    real = np.abs(np.imag(roots)) <= 1e-6 * np.maximum(np.abs(roots), 1e-6)
    parts = [np.array([-float(np.real(root)), 1.0]) for root in roots[real]]
    if np.any(~real):
        parts.append(np.real(np.poly(roots[~real]))[::-1])
    return parts


def _expression(polynomial: Polynomial, names: Sequence[str], scales: Sequence[float]) -> sympy.Expr:
    symbols = [sympy.Symbol(name) for name in names]
    plain = {
        exponents: value / float(np.prod([s**e for s, e in zip(scales, exponents, strict=True)]))
        for exponents, value in polynomial.items()
    }
    first = max(plain, key=lambda exponents: (sum(exponents), exponents))
    largest = max(map(abs, polynomial.values()))
    return sympy.Add(
        *(
            # Exactly one, so that it is no constant to be fitted.
            (sympy.Float(value / plain[first]) if exponents != first else 1)
            * sympy.Mul(*(symbol**power for symbol, power in zip(symbols, exponents, strict=True)))
            for exponents, value in plain.items()
            if abs(polynomial[exponents]) > _NOTHING * largest
        )
    )
