"""Libraries of columns: variables, features, elementary functions of them, and products of all these."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, combinations_with_replacement

import numpy as np
import sympy

from fepysr_dyn.expressions import complexity
from fepysr_dyn.search.evaluation import UnsupportedExpressionError, tree_values
from fepysr_dyn.search.problem import Array, RegressionProblem

#: Columns larger than this lose the digits of the others.
_LARGEST = 1e12
#: An exponential is of no use where it spans more than this many powers of e.
_LARGEST_EXPONENT = 60.0


class Atom:
    """A factor of library columns: an expression and its values on the rows.

    Parameters
    ----------
    expression : sympy expression or callable
        A callable is asked when the formula is first needed: most atoms are never part of an answer, and
        sympy takes longer to build a formula than numpy to evaluate it.
    values : array
        One value per row.
    monomial : bool
        Whether the atom is a product of powers of variables.
    """

    def __init__(
        self,
        expression: sympy.Expr | Callable[[], sympy.Expr],
        values: Array,
        *,
        monomial: bool = False,
    ) -> None:
        self._expression = expression
        self.values = values
        self.monomial = monomial

    @property
    def expression(self) -> sympy.Expr:
        """The formula, built once."""
        if not isinstance(self._expression, sympy.Basic):
            self._expression = self._expression()
        return self._expression

    def __mul__(self, other: Atom) -> Atom:
        both = self.monomial and other.monomial
        return Atom(lambda: self.expression * other.expression, self.values * other.values, monomial=both)

    def __add__(self, other: Atom) -> Atom:
        return Atom(lambda: self.expression + other.expression, self.values + other.values)

    def __sub__(self, other: Atom) -> Atom:
        return Atom(lambda: self.expression - other.expression, self.values - other.values)

    def __pow__(self, power: int) -> Atom:
        return Atom(lambda: self.expression**power, self.values**power, monomial=self.monomial)

    def shifted(self, number: int) -> Atom:
        """Return the atom plus an integer."""
        return Atom(lambda: self.expression + number, self.values + number)

    def scaled(self, number: int | sympy.Rational) -> Atom:
        """Return the atom times a rational number."""
        return Atom(lambda: self.expression * number, self.values * float(number), monomial=self.monomial)

    @property
    def is_variable(self) -> bool:
        """Whether the atom is one of the user's variables."""
        return isinstance(self._expression, sympy.Symbol)

    @property
    def usable(self) -> bool:
        """Whether the values are finite, of reasonable size, and no constant."""
        if not np.all(np.isfinite(self.values)):
            return False
        size = float(np.max(np.abs(self.values)))
        return 0 < size < _LARGEST and float(np.ptp(self.values)) > 1e-9 * size


def _positive(values: Array) -> bool:
    return bool(np.all(values > 0))


def _is_moderate(values: Array) -> bool:
    return bool(np.max(np.abs(values)) < _LARGEST_EXPONENT)


def _anywhere(values: Array) -> bool:
    return True


def _off_poles(values: Array) -> bool:
    return bool(np.min(np.abs(np.cos(values))) > 1e-3)


Function = tuple[Callable[[sympy.Expr], sympy.Expr], Callable[[Array], Array], Callable[[Array], bool]]

#: Operator name to (sympy, numpy, where it may be applied).
FUNCTIONS: dict[str, Function] = {
    "sin": (sympy.sin, np.sin, _anywhere),
    "cos": (sympy.cos, np.cos, _anywhere),
    "exp": (sympy.exp, np.exp, _is_moderate),
    "log": (sympy.log, np.log, _positive),
    "sqrt": (sympy.sqrt, np.sqrt, lambda values: bool(np.all(values >= 0))),
    "inv": (lambda e: 1 / e, lambda v: 1.0 / v, lambda values: bool(np.min(np.abs(values)) > 0)),
    "tanh": (sympy.tanh, np.tanh, _anywhere),
    "tan": (sympy.tan, np.tan, _off_poles),
    "atan": (sympy.atan, np.arctan, _anywhere),
    "abs": (sympy.Abs, np.abs, lambda values: bool(np.min(values) < 0)),
    "sinh": (sympy.sinh, np.sinh, _is_moderate),
    "cosh": (sympy.cosh, np.cosh, _is_moderate),
    "sign": (sympy.sign, np.sign, lambda values: bool(np.min(values) < 0 < np.max(values))),
}


_MULTIPLICATIVE = ("log", "sqrt", "inv", "abs", "sign")


def allowed_functions(operators: Iterable[str]) -> tuple[str, ...]:
    """Return the names in `FUNCTIONS` that a problem allows, in a fixed order."""
    names = set(operators)
    if "/" in names:
        names.add("inv")
    return tuple(name for name in FUNCTIONS if name in names)


def variable_atoms(problem: RegressionProblem) -> list[Atom]:
    """Return the user's variables that are not constant on the rows."""
    atoms = [
        Atom(sympy.Symbol(name), np.asarray(values, dtype=np.float64), monomial=True)
        for name, values in problem.columns.items()
    ]
    return [atom for atom in atoms if atom.usable]


def feature_atoms(problem: RegressionProblem) -> list[Atom]:
    """Return the features that can be evaluated on all rows, best first."""
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in problem.columns.items()}
    atoms = []
    for feature in problem.features:
        # What is known of an equation may hold functions that no search writes.
        with contextlib.suppress(UnsupportedExpressionError):
            atoms.append(Atom(feature, tree_values(feature, columns)))
    return distinct([atom for atom in atoms if atom.usable])


def apply(names: Sequence[str], inner: Iterable[Atom]) -> list[Atom]:
    """Return elementary functions of atoms wherever they are defined on all rows."""
    result, decays = [], []
    for atom in inner:
        if "exp" in names and _is_moderate(atom.values):
            decays.append(Atom(partial(_decay, atom), np.exp(-atom.values)))
        for name in names:
            symbolic, numeric, domain = FUNCTIONS[name]
            # Of a monomial these are monomials of the same function, or sums of it.
            redundant = atom.monomial and not atom.is_variable and name in _MULTIPLICATIVE
            if not redundant and domain(atom.values):
                with np.errstate(all="ignore"):
                    values = numeric(atom.values)
                result.append(Atom(partial(_applied, symbolic, atom), values))
    return [atom for atom in (*result, *decays) if atom.usable]


def _applied(function: Callable[[sympy.Expr], sympy.Expr], atom: Atom) -> sympy.Expr:
    return function(atom.expression)


def _decay(atom: Atom) -> sympy.Expr:
    return sympy.exp(-atom.expression)


def distinct(atoms: Iterable[Atom], *, multiples: bool = False, digits: int = 10) -> list[Atom]:
    """Return atoms without those equal to an earlier one, or to a multiple of it unless multiples count."""
    kept: dict[bytes, Atom] = {}
    for atom in atoms:
        size = float(atom.values[int(np.argmax(np.abs(atom.values)))])
        scaled = atom.values if multiples else atom.values / size
        # Adding zero makes -0.0 and 0.0 the same key.
        key = (np.round(scaled, digits) + 0.0).tobytes()
        kept.setdefault(key, atom)
    return list(kept.values())


@dataclass(frozen=True, eq=False)
class Library:
    """Columns that are products of atoms.

    Parameters
    ----------
    factors : tuple of tuples of Atom
        The factors of each column; the empty product is the constant 1.
    values : array
        Shape (rows, columns).
    """

    factors: tuple[tuple[Atom, ...], ...]
    values: Array
    _sizes: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, factors: Iterable[tuple[Atom, ...]], rows: int) -> Library:
        """Multiply out factors; columns that overflow or repeat earlier ones are left out."""
        kept: dict[bytes, tuple[tuple[Atom, ...], Array]] = {}
        for product in factors:
            values = np.ones(rows)
            for atom in product:
                values = values * atom.values
            size = float(np.max(np.abs(values)))
            if not np.isfinite(size) or not 0 < size < _LARGEST:
                continue
            scaled = values / values[int(np.argmax(np.abs(values)))]
            kept.setdefault((np.round(scaled, 10) + 0.0).tobytes(), (product, values))
        if not kept:
            return cls((), np.empty((rows, 0)))
        columns = list(kept.values())
        return cls(
            tuple(product for product, _ in columns), np.column_stack([values for _, values in columns])
        )

    def __len__(self) -> int:
        return len(self.factors)

    def expression(self, column: int) -> sympy.Expr:
        """Return one column as a formula."""
        return sympy.Mul(*(atom.expression for atom in self.factors[column]))

    def size(self, column: int) -> int:
        """Return the complexity of one column, computed once."""
        if column not in self._sizes:
            self._sizes[column] = complexity(self.expression(column))
        return self._sizes[column]

    def least_size(self, columns: Iterable[int]) -> int:
        """Return a lower bound for the complexity of a sum of columns with coefficients."""
        return max(1, sum(self.size(column) + 1 for column in columns) - 1)


def products(
    atoms: Sequence[Atom], degree: int, max_columns: int, *, constant: bool = True
) -> list[tuple[Atom, ...]]:
    """Return all products of at most `degree` atoms, low degrees first, up to a number of columns.

    A degree that no longer fits whole is left out, so that the library treats all atoms alike.
    """
    result: list[tuple[Atom, ...]] = [()] if constant else []
    for total in range(1, degree + 1):
        more = list(combinations_with_replacement(atoms, total))
        if len(result) + len(more) > max_columns:
            break
        result.extend(more)
    return result


def largest_degree(atoms: int, max_columns: int, limit: int) -> int:
    """Return the largest total degree whose product library has at most so many columns."""
    columns, degree = 1, 0
    while degree < limit:
        columns = columns * (atoms + degree + 1) // (degree + 1)
        if columns > max_columns:
            break
        degree += 1
    return degree


def inner_arguments(atoms: Sequence[Atom], level: int) -> list[Atom]:
    """Return small combinations of variables that functions are commonly applied to.

    Level 0: the variables; 1: also squares, products, sums, differences, small multiples; 2: also powers to
    four, shifts by one, sums of different powers, and mixed products.
    """
    result = list(atoms)
    if level >= 1:
        pairs = list(combinations(atoms, 2))
        result += [atom**2 for atom in atoms] + [a * b for a, b in pairs]
        result += [a + b for a, b in pairs] + [a - b for a, b in pairs]
        result += [atom.scaled(2) for atom in atoms]
    if level >= 2:
        result += _second_level(atoms)
    return distinct([atom for atom in result if atom.usable], multiples=True)


def _second_level(atoms: Sequence[Atom]) -> list[Atom]:
    pairs = list(combinations(atoms, 2))
    squares = [atom**2 for atom in atoms]
    result = [atom**3 for atom in atoms] + [atom**4 for atom in atoms]
    result += [atom.scaled(sympy.Rational(1, 2)) for atom in atoms] + [atom.scaled(3) for atom in atoms]
    result += [a + b for a, b in combinations(squares, 2)] + [a - b for a, b in combinations(squares, 2)]
    for atom in atoms:
        powers = [atom, atom**2, atom**3, atom**4]
        result += [a + b for a, b in combinations(powers, 2)] + [b - a for a, b in combinations(powers, 2)]
    for a, b in pairs:
        result += [a**2 + b, a + b**2, a**2 - b, a - b**2, a**2 * b, a * b**2, a**2 * b**2]
        result += [a.scaled(m) + b.scaled(n) for m, n in _MULTIPLES]
        result += [a * b - a - b, a * b + a + b, a * b + a - b, a * b - a + b]
        result += [a * b + a, a * b - a, a * b + b, a * b - b]
    result += [atom.shifted(1) for atom in (*atoms, *squares)]
    result += [(square**2).shifted(1) for square in squares]
    result += [(a + b).shifted(1) for a, b in combinations(squares, 2)]
    return result


_MULTIPLES = tuple((m, n) for m in (1, 2, 3) for n in (-3, -2, -1, 1, 2, 3) if m != abs(n))
