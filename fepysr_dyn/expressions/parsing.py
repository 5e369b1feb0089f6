"""Text to sympy without ever evaluating code.

A small recursive-descent parser over a fixed grammar. Python's own parser is not used: its nesting limits,
byte offsets and syntax warnings are all visible to a hostile input, and errors here point at the character.

Grammar (lowest precedence first)::

    condition  := both ("|" both)*
    both       := comparison ("&" comparison)*
    comparison := sum ("<" | "<=" | ">" | ">=") sum | "True" | "False" | "(" condition ")"
    sum        := product (("+" | "-") product)*
    product    := signed (("*" | "/") signed)*
    signed     := ("+" | "-")* power
    power      := atom ("**" signed)?
    atom       := number | name | name "(" arguments ")" | "(" sum ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial

import sympy

from fepysr_dyn.errors import ExpressionError, did_you_mean
from fepysr_dyn.expressions import building
from fepysr_dyn.expressions.building import FUNCTIONS, BoundedBuilder, Refused
from fepysr_dyn.expressions.reals import real_symbol
from fepysr_dyn.expressions.tokens import Token, closing_of, tokenize

MAX_LENGTH = 10_000
MAX_NESTING = 60
_MAX_CONDITIONS = 20

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_RELATIONS = {"<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge}
_ALIASES = {"ln": "log", "Abs": "abs", "min": "Min", "max": "Max", "mm": "michaelis_menten", "arctan": "atan"}
RESERVED_NAMES = frozenset({*FUNCTIONS, *_ALIASES, "Piecewise", "True", "False", "pi"})


def is_name(text: str) -> bool:
    """Return whether a text can name a variable or a parameter in a formula."""
    return bool(_NAME.match(text)) and text not in RESERVED_NAMES and len(text) <= 100


def parse(text: str, symbols: Collection[str] | None = None) -> sympy.Expr:
    """Read a formula.

    Parameters
    ----------
    text : str
        For example ``"exp(-k*X1)*hill(S, K, 4)"``.
    symbols : collection of str, optional
        The names that may occur; any name may if this is not given.

    Returns
    -------
    sympy.Expr
        With plain symbols (no assumptions).

    Raises
    ------
    ExpressionError
        For anything that is not a formula, pointing at the character.

    Examples
    --------
    >>> parse("k*X1/(K + X1)", symbols=["k", "K", "X1"])
    X1*k/(K + X1)
    """
    if not isinstance(text, str):
        raise ExpressionError(f"a formula must be text, got {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"a formula may have at most {MAX_LENGTH} characters, got {len(text)}")
    try:
        return _Parser(text, tokenize(text), symbols).parse()
    except RecursionError:
        raise ExpressionError("the formula is nested too deeply", text) from None


class _Parser:
    """One formula being read; a cursor over its tokens."""

    def __init__(self, text: str, tokens: list[Token], symbols: Collection[str] | None) -> None:
        self._text = text
        self._tokens = tokens
        self._closing = closing_of(tokens)
        self._symbols = symbols
        self._builder = BoundedBuilder()
        self._index = 0
        self._depth = 0
        self._functions = 0
        self._in_condition = False

    def parse(self) -> sympy.Expr:
        start = self._now
        result = self._sum()
        if self._now.kind != "end":
            raise self._error(f"unexpected {self._now.text!r}")
        return self._built(start, partial(self._builder.complete, result, MAX_NESTING))

    @property
    def _now(self) -> Token:
        return self._tokens[self._index]

    def _error(self, message: str, token: Token | None = None) -> ExpressionError:
        return ExpressionError(message, self._text, (token or self._now).position)

    def _accept(self, *wanted: str) -> Token | None:
        token = self._now
        if token.kind == "operator" and token.text in wanted:
            self._index += 1
            return token
        return None

    def _expect(self, wanted: str) -> None:
        if not self._accept(wanted):
            found = repr(self._now.text) if self._now.text else "the end of the formula"
            raise self._error(f"expected {wanted!r}, found {found}")

    def _built(self, token: Token, build: Callable[[], sympy.Expr]) -> sympy.Expr:
        """Build a node; what is refused points at the operator or function."""
        try:
            return build()
        except Refused as refusal:
            raise self._error(str(refusal), token) from None
        except (ArithmeticError, ValueError, TypeError, AttributeError, NotImplementedError):
            raise self._error(f"{token.text!r} cannot be applied here", token) from None

    def _sum(self) -> sympy.Expr:
        start = self._now
        terms = [self._product()]
        while token := self._accept("+", "-"):
            term = self._product()
            if token.text == "-":
                term = self._built(token, partial(self._builder.multiply, [sympy.Integer(-1), term]))
            terms.append(term)
        return self._built(start, partial(self._builder.add, terms))

    def _product(self) -> sympy.Expr:
        start = self._now
        negative, factor = self._signed()
        factors = [factor]
        while token := self._accept("*", "/"):
            sign, factor = self._signed()
            negative ^= sign
            if token.text == "/":
                factor = self._built(token, partial(self._builder.reciprocal, factor))
            factors.append(factor)
        if negative:
            factors.insert(0, sympy.Integer(-1))
        return self._built(start, partial(self._builder.multiply, factors))

    def _signed(self) -> tuple[bool, sympy.Expr]:
        negative = False
        while token := self._accept("+", "-"):
            negative ^= token.text == "-"
        return negative, self._power()

    def _power(self) -> sympy.Expr:
        base = self._atom()
        token = self._accept("**")
        if token is None:
            return base
        self._enter(token)
        negative, exponent = self._signed()
        self._depth -= 1
        if negative:
            exponent = self._built(token, partial(self._builder.multiply, [sympy.Integer(-1), exponent]))
        return self._built(token, partial(self._builder.power, base, exponent))

    def _enter(self, token: Token) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self._error(f"formulas may be nested at most {MAX_NESTING} deep", token)

    def _atom(self) -> sympy.Expr:
        token = self._now
        if token.kind == "number":
            self._index += 1
            return self._built(token, partial(building.number, token.text))
        if token.kind == "name":
            self._index += 1
            return self._named(token)
        if self._accept("("):
            self._enter(token)
            result = self._sum()
            self._expect(")")
            self._depth -= 1
            return result
        found = repr(token.text) if token.text else "the end of the formula"
        raise self._error(f"expected a number, a name or '(', found {found}", token)

    def _named(self, token: Token) -> sympy.Expr:
        name = _ALIASES.get(token.text, token.text)
        if self._now.kind == "operator" and self._now.text == "(":
            self._functions += 1
            if self._functions > building.MAX_FUNCTION_NESTING:
                most = building.MAX_FUNCTION_NESTING
                raise self._error(f"functions may be nested at most {most} deep", token)
            result = self._piecewise(token) if name == "Piecewise" else self._call(token, name)
            self._functions -= 1
            return result
        if name == "pi":
            return sympy.pi
        if name in RESERVED_NAMES:
            raise self._error(f"{token.text!r} is reserved and cannot be a variable", token)
        if len(name) > 100:
            raise self._error("names may have at most 100 characters", token)
        if self._symbols is not None and name not in self._symbols:
            raise self._error(f"unknown symbol {name!r}{did_you_mean(name, self._symbols)}", token)
        return real_symbol(name)

    def _call(self, token: Token, name: str) -> sympy.Expr:
        if name not in FUNCTIONS:
            raise self._error(f"unknown function {token.text!r}{did_you_mean(token.text, FUNCTIONS)}", token)
        least, most = FUNCTIONS[name]
        arguments = self._arguments()
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self._error(f"{token.text} takes {wanted} arguments, got {len(arguments)}", token)
        return self._built(token, partial(self._builder.call, name, arguments))

    def _arguments(self) -> list[sympy.Expr]:
        self._enter(self._now)
        self._expect("(")
        arguments = [self._sum()]
        while self._accept(","):
            arguments.append(self._sum())
        self._expect(")")
        self._depth -= 1
        return arguments

    def _piecewise(self, token: Token) -> sympy.Expr:
        if self._in_condition:
            raise self._error("a condition cannot contain Piecewise", token)
        self._enter(token)
        self._expect("(")
        branches = [self._branch()]
        while self._accept(","):
            branches.append(self._branch())
        self._expect(")")
        self._depth -= 1
        if branches[-1][1] is not sympy.true:
            raise self._error("the last branch of Piecewise needs the condition True", token)
        return self._built(token, partial(self._builder.piecewise, branches))

    def _branch(self) -> tuple[sympy.Expr, sympy.Basic]:
        self._expect("(")
        value = self._sum()
        self._expect(",")
        self._in_condition = True
        condition = self._condition()
        self._in_condition = False
        self._expect(")")
        return value, condition

    def _condition(self) -> sympy.Basic:
        self._enter(self._now)
        alternatives = [self._both()]
        while self._accept("|"):
            alternatives.append(self._both())
        self._depth -= 1
        return self._joined(sympy.Or, alternatives)

    def _both(self) -> sympy.Basic:
        parts = [self._comparison()]
        while self._accept("&"):
            parts.append(self._comparison())
        return self._joined(sympy.And, parts)

    def _joined(self, operator: type[sympy.Or] | type[sympy.And], parts: list[sympy.Basic]) -> sympy.Basic:
        if len(parts) > _MAX_CONDITIONS:
            raise self._error(f"a condition may join at most {_MAX_CONDITIONS} comparisons")
        return operator(*parts, evaluate=False) if len(parts) > 1 else parts[0]

    def _comparison(self) -> sympy.Basic:
        token = self._now
        if token.kind == "name" and token.text in ("True", "False"):
            self._index += 1
            return sympy.true if token.text == "True" else sympy.false
        if token.text == "(" and self._closes_condition():
            self._index += 1
            inner = self._condition()
            self._expect(")")
            return inner
        left = self._sum()
        sign = self._accept(*_RELATIONS)
        if sign is None:
            raise self._error("expected a comparison such as x < 1")
        return self._builder.relation(_RELATIONS[sign.text], left, self._sum())

    def _closes_condition(self) -> bool:
        """Tell ``(x < 1) & ...`` from ``(x + 1)*2 < y`` by what follows the closing parenthesis."""
        closing = self._closing.get(self._index)
        return closing is not None and self._tokens[closing + 1].text in ("&", "|", ")", "")
