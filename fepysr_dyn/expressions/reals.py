"""Expressions with real variables, evaluated as far as that is cheap.

Formulas keep plain symbols, so that anyone can substitute by name. sympy, however, takes a plain symbol as
complex: it rewrites ``abs(exp(x))`` to ``exp(re(x))``, and what it asks itself about nested hyperbolic
functions and roots while building ``1/(tanh(sqrt(x)) + 1)`` grows exponentially with the nesting. So
expressions are built here with real symbols, and each function of variables is a symbol of its own to
everything around it: sympy only ever sees rational expressions. At the end the functions are put back,
unevaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cmp_to_key, lru_cache

import sympy
from sympy.core.relational import Relational
from sympy.functions.elementary.piecewise import ExprCondPair

_ORDER = cmp_to_key(sympy.Basic.compare)


@lru_cache(maxsize=20_000)
def real_symbol(name: str) -> sympy.Symbol:
    """Return the real twin of a symbol."""
    return sympy.Symbol(name, real=True)


def substitute(expression: sympy.Expr, values: Mapping[str, sympy.Expr]) -> sympy.Expr:
    """Put expressions in the places of symbols.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> substitute(sympy.sin(x) / (1 + sympy.tanh(x)), {"x": sympy.Integer(0)})
    0
    """
    present = {symbol.name for symbol in expression.free_symbols} & values.keys()
    if not present:
        return expression
    builder = RealBuilder()
    table = {sympy.Symbol(name): builder.rebuild(values[name]) for name in present}
    return builder.finish(builder.rebuild(expression, table))


def renamed(expression: sympy.Expr, table: Mapping[sympy.Symbol, sympy.Symbol]) -> sympy.Expr:
    """Return an expression with other symbols, without evaluating anything."""
    return _Restored(table, {}).restore(expression)


def function_nesting(node: sympy.Basic) -> int:
    """Return how deep functions and fractional powers are nested."""
    if not node.args:
        return 0
    is_function = isinstance(node, sympy.Function) or (node.is_Pow and not node.exp.is_Integer)
    return int(is_function) + max(function_nesting(argument) for argument in node.args)


class RealBuilder:
    """Builds one expression; `finish` gives it back with plain symbols."""

    def __init__(self) -> None:
        self._symbol_of: dict[sympy.Basic, sympy.Symbol] = {}
        self._meaning: dict[sympy.Symbol, sympy.Basic] = {}

    def add(self, terms: Sequence[sympy.Expr]) -> sympy.Expr:
        """Return a sum."""
        return sympy.Add(*terms)

    def multiply(self, factors: Sequence[sympy.Expr]) -> sympy.Expr:
        """Return a product."""
        return sympy.Mul(*factors)

    def power(self, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
        """Return a power; other than whole powers of variables are functions."""
        hidden = self._meaning.get(base)
        if exponent.is_Integer and hidden is not None and hidden.is_Pow:
            # 1/x**y is x**(-y): for whole outer exponents this holds everywhere.
            return self.power(hidden.base, self.multiply([exponent, hidden.exp]))
        if exponent.is_Integer or (base.is_number and exponent.is_number):
            return sympy.Pow(base, exponent)
        return self._hidden(sympy.Pow(base, exponent, evaluate=False))

    def function(self, kind: type[sympy.Expr], arguments: Sequence[sympy.Basic]) -> sympy.Expr:
        """Return a function, evaluated if it is one of numbers."""
        if all(argument.is_number for argument in arguments):
            return kind(*arguments)
        return self._hidden(kind(*arguments, evaluate=False))

    def piecewise(self, branches: Sequence[tuple[sympy.Expr, sympy.Basic]]) -> sympy.Expr:
        """Return a function given by branches, without those that are never reached."""
        possible: list[tuple[sympy.Expr, sympy.Basic]] = []
        for value, condition in branches:
            if condition is sympy.false:
                continue
            possible.append((value, condition))
            if condition is sympy.true:
                break
        if possible and possible[0][1] is sympy.true:
            return possible[0][0]
        return self._hidden(sympy.Piecewise(*possible, evaluate=False))

    def relation(self, kind: type[Relational], left: sympy.Expr, right: sympy.Expr) -> sympy.Basic:
        """Return a comparison, decided if it is one of numbers."""
        if left.is_Number and right.is_Number:
            return kind(left, right)
        return kind(left, right, evaluate=False)

    def rebuild(
        self, node: sympy.Basic, table: Mapping[sympy.Symbol, sympy.Expr] | None = None
    ) -> sympy.Basic:
        """Read an expression with plain symbols, some of them replaced."""
        if node.is_Symbol:
            return table[node] if table and node in table else real_symbol(node.name)
        if not node.args:
            return node
        arguments = [self.rebuild(argument, table) for argument in node.args]
        if node.is_Add:
            return self.add(arguments)
        if node.is_Mul:
            return self.multiply(arguments)
        if node.is_Pow:
            return self.power(*arguments)
        if isinstance(node, ExprCondPair):
            return sympy.Tuple(*arguments)
        if isinstance(node, sympy.Piecewise):
            return self.piecewise([(pair[0], pair[1]) for pair in arguments])
        if isinstance(node, Relational):
            return self.relation(node.func, *arguments)
        if isinstance(node, sympy.Expr):
            return self.function(node.func, arguments)
        return node.func(*arguments)

    def parts(
        self, name: str
    ) -> tuple[list[tuple[sympy.Symbol, sympy.Expr]], dict[sympy.Symbol, sympy.Symbol]]:
        """Return the hidden functions, each of earlier ones, and the names (name0, ...) they are given."""
        names = {dummy: real_symbol(f"{name}{i}") for i, dummy in enumerate(self._meaning)}
        return [(names[dummy], renamed(node, names)) for dummy, node in self._meaning.items()], names

    def finish(self, expression: sympy.Expr) -> sympy.Expr:
        """Return the expression with its functions put back and with plain symbols."""
        return _Restored({}, self._meaning).restore(expression)

    def _hidden(self, node: sympy.Expr) -> sympy.Symbol:
        symbol = self._symbol_of.get(node)
        if symbol is None:
            symbol = self._symbol_of[node] = sympy.Dummy(real=True)
            self._meaning[symbol] = node
        return symbol


class _Restored:
    """Replaces symbols without evaluating anything, terms in sympy's own order."""

    def __init__(
        self, table: Mapping[sympy.Symbol, sympy.Symbol], meaning: Mapping[sympy.Symbol, sympy.Basic]
    ) -> None:
        self._table = table
        self._meaning = meaning
        self._done: dict[sympy.Basic, sympy.Basic] = {}

    def restore(self, node: sympy.Basic) -> sympy.Basic:
        if not node.args and not node.is_Symbol:
            return node
        known = self._done.get(node)
        if known is None:
            if not node.is_Symbol:
                known = rebuilt(node, [self.restore(argument) for argument in node.args])
            elif node in self._meaning:
                known = self.restore(self._meaning[node])
            else:
                known = self._table.get(node) or sympy.Symbol(node.name)
            self._done[node] = known
        return known


def rebuilt(node: sympy.Basic, arguments: list[sympy.Basic]) -> sympy.Basic:
    """Return a node with other arguments, in sympy's order but not evaluated."""
    if node.is_Add or node.is_Mul:
        numbers = [argument for argument in arguments if argument.is_Number]
        others = sorted((argument for argument in arguments if not argument.is_Number), key=_ORDER)
        return node._from_args([*numbers, *others], is_commutative=True)
    if node.is_Pow:
        base, exponent = arguments
        if base.is_Pow and exponent.is_Integer and base.exp.is_Number:
            merged = base.exp * exponent
            # 1/sqrt(x) is x**(-1/2); sqrt(x)**2 stays: a collapsed power would have to be merged again.
            if not merged.is_Integer:
                base, exponent = base.base, merged
        return sympy.Pow(base, exponent, evaluate=False)
    if isinstance(node, ExprCondPair):
        return sympy.Tuple.__new__(ExprCondPair, *arguments)
    return node.func(*arguments, evaluate=False)
