"""Text to sympy without ever evaluating code.

A small recursive-descent parser over a fixed grammar. Python's own parser is not used: its nesting limits,
byte offsets and syntax warnings are all visible to a hostile input, and errors here point at the character.

Grammar (lowest precedence first)::

    condition  := comparison (("&" | "|") comparison)*
    comparison := sum (("<" | "<=" | ">" | ">=") sum)? | "True" | "False" | "(" condition ")"
    sum        := product (("+" | "-") product)*
    product    := signed (("*" | "/") signed)*
    signed     := ("+" | "-")* power
    power      := atom ("**" signed)?
    atom       := number | name | name "(" arguments ")" | "(" sum ")"
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

import sympy

from fepysr_dyn.errors import ExpressionError, did_you_mean

MAX_LENGTH = 10_000
MAX_NESTING = 60
MAX_EXPONENT = 64
#: Integers above this many bits are refused: no formula needs them and powers of them never end.
MAX_INTEGER_BITS = 256

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<operator>\*\*|<=|>=|[-+*/(),<>&|−·×])",
)
_SAME_OPERATOR = {"−": "-", "·": "*", "×": "*"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def _hill(x: sympy.Expr, half: sympy.Expr, n: sympy.Expr) -> sympy.Expr:
    return x**n / (half**n + x**n)


def _michaelis_menten(x: sympy.Expr, half: sympy.Expr) -> sympy.Expr:
    return x / (half + x)


#: name -> (least number of arguments, most, constructor)
FUNCTIONS: dict[str, tuple[int, int, Callable[..., sympy.Expr]]] = {
    "exp": (1, 1, sympy.exp),
    "log": (1, 1, sympy.log),
    "sqrt": (1, 1, sympy.sqrt),
    "sin": (1, 1, sympy.sin),
    "cos": (1, 1, sympy.cos),
    "tan": (1, 1, sympy.tan),
    "tanh": (1, 1, sympy.tanh),
    "sinh": (1, 1, sympy.sinh),
    "cosh": (1, 1, sympy.cosh),
    "atan": (1, 1, sympy.atan),
    "abs": (1, 1, sympy.Abs),
    "sign": (1, 1, sympy.sign),
    # Unevaluated: sympy's own ordering of symbolic arguments can take minutes.
    "Min": (1, 20, lambda *args: sympy.Min(*args, evaluate=False)),
    "Max": (1, 20, lambda *args: sympy.Max(*args, evaluate=False)),
    "hill": (3, 3, _hill),
    "michaelis_menten": (2, 2, _michaelis_menten),
}
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
    parser = _Parser(text, _tokenize(text), symbols)
    try:
        return parser.parse()
    except RecursionError:
        raise ExpressionError("the formula is nested too deeply", text) from None


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


def _tokenize(text: str) -> list[_Token]:
    tokens = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            hint = "; write powers as **" if text[position] == "^" else ""
            raise ExpressionError(f"unexpected character {text[position]!r}{hint}", text, position)
        if match.lastgroup != "space":
            lexeme = match.group()
            tokens.append(_Token(str(match.lastgroup), _SAME_OPERATOR.get(lexeme, lexeme), position))
        position = match.end()
    tokens.append(_Token("end", "", len(text)))
    return tokens


class _Parser:
    """One formula being read; a cursor over its tokens."""

    def __init__(self, text: str, tokens: list[_Token], symbols: Collection[str] | None) -> None:
        self._text = text
        self._tokens = tokens
        self._symbols = symbols
        self._index = 0
        self._depth = 0

    def parse(self) -> sympy.Expr:
        result = self._sum()
        if self._now.kind != "end":
            raise self._error(f"unexpected {self._now.text!r}")
        return result

    @property
    def _now(self) -> _Token:
        return self._tokens[self._index]

    def _error(self, message: str, token: _Token | None = None) -> ExpressionError:
        return ExpressionError(message, self._text, (token or self._now).position)

    def _accept(self, *wanted: str) -> _Token | None:
        token = self._now
        if token.kind == "operator" and token.text in wanted:
            self._index += 1
            return token
        return None

    def _expect(self, wanted: str) -> None:
        if not self._accept(wanted):
            found = repr(self._now.text) if self._now.text else "the end of the formula"
            raise self._error(f"expected {wanted!r}, found {found}")

    def _built(self, token: _Token, build: Callable[[], sympy.Expr]) -> sympy.Expr:
        """Build a node and refuse what is not a finite real number or formula."""
        try:
            result = build()
        except (ArithmeticError, ValueError, TypeError, NotImplementedError):
            raise self._error(f"{token.text!r} cannot be applied here", token) from None
        if not isinstance(result, sympy.Expr) or result.has(sympy.zoo, sympy.nan, sympy.oo, sympy.I):
            raise self._error(f"{token.text!r} gives no finite real value here", token)
        if result.is_Rational and max(abs(result.p), result.q).bit_length() > MAX_INTEGER_BITS:
            raise self._error(f"{token.text!r} gives a number that is too large", token)
        return result

    def _sum(self) -> sympy.Expr:
        result = self._product()
        while token := self._accept("+", "-"):
            combine = operator.add if token.text == "+" else operator.sub
            result = self._built(token, partial(combine, result, self._product()))
        return result

    def _product(self) -> sympy.Expr:
        result = self._signed()
        while token := self._accept("*", "/"):
            right = self._signed()
            if token.text == "/" and right == 0:
                raise self._error("division by zero", token)
            combine = operator.mul if token.text == "*" else operator.truediv
            result = self._built(token, partial(combine, result, right))
        return result

    def _signed(self) -> sympy.Expr:
        negative = False
        while token := self._accept("+", "-"):
            negative ^= token.text == "-"
        value = self._power()
        return -value if negative else value

    def _power(self) -> sympy.Expr:
        base = self._atom()
        token = self._accept("**")
        if token is None:
            return base
        self._enter(token)
        exponent = self._signed()
        self._depth -= 1
        return self._built(token, lambda: self._raise(base, exponent, token))

    def _raise(self, base: sympy.Expr, exponent: sympy.Expr, token: _Token) -> sympy.Expr:
        if exponent.is_number and abs(float(exponent)) > MAX_EXPONENT:
            raise self._error(f"exponents are limited to {MAX_EXPONENT}", token)
        if base.is_number and exponent.is_number:
            size = float(base)
            if size < 0 and not exponent.is_Integer:
                raise self._error("a negative number to a fractional power is not real", token)
            if size == 0 and float(exponent) < 0:
                raise self._error("division by zero", token)
            if size and abs(math.log2(abs(size)) * float(exponent)) > MAX_INTEGER_BITS:
                raise self._error("this power is too large", token)
        power = base**exponent
        # sympy merges (x**a)**b for integers, so the bound must hold for the result as well.
        if power.is_Pow and power.exp.is_number and abs(float(power.exp)) > MAX_EXPONENT:
            raise self._error(f"exponents are limited to {MAX_EXPONENT}", token)
        return power

    def _enter(self, token: _Token) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self._error(f"formulas may be nested at most {MAX_NESTING} deep", token)

    def _atom(self) -> sympy.Expr:
        token = self._now
        if token.kind == "number":
            self._index += 1
            return self._number(token)
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

    def _number(self, token: _Token) -> sympy.Expr:
        if token.text.isdigit():
            if len(token.text) > 60:
                raise self._error("this integer is too large", token)
            return sympy.Integer(int(token.text))
        value = float(token.text)
        if math.isinf(value):
            raise self._error("this number is too large for float64", token)
        return sympy.Float(value)

    def _named(self, token: _Token) -> sympy.Expr:
        name = _ALIASES.get(token.text, token.text)
        if self._now.kind == "operator" and self._now.text == "(":
            if name == "Piecewise":
                return self._piecewise(token)
            return self._call(token, name)
        if name == "pi":
            return sympy.pi
        if name in RESERVED_NAMES:
            raise self._error(f"{token.text!r} is a function and needs arguments", token)
        if len(name) > 100:
            raise self._error("names may have at most 100 characters", token)
        if self._symbols is not None and name not in self._symbols:
            raise self._error(f"unknown symbol {name!r}{did_you_mean(name, self._symbols)}", token)
        return sympy.Symbol(name)

    def _call(self, token: _Token, name: str) -> sympy.Expr:
        if name not in FUNCTIONS:
            raise self._error(f"unknown function {token.text!r}{did_you_mean(token.text, FUNCTIONS)}", token)
        least, most, function = FUNCTIONS[name]
        arguments = self._arguments()
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise self._error(f"{token.text} takes {wanted} arguments, got {len(arguments)}", token)
        if all(argument.is_number for argument in arguments) and any(
            abs(float(argument)) > 700 for argument in arguments
        ):
            # exp of exp of a large number would ask for more digits than there is memory.
            raise self._error(f"the argument of {token.text} is too large", token)
        if name == "hill":
            return self._built(token, lambda: self._hill_call(arguments, token))
        return self._built(token, lambda: function(*arguments))

    def _hill_call(self, arguments: list[sympy.Expr], token: _Token) -> sympy.Expr:
        x, half, n = arguments
        return self._raise(x, n, token) / (self._raise(half, n, token) + self._raise(x, n, token))

    def _arguments(self) -> list[sympy.Expr]:
        self._enter(self._now)
        self._expect("(")
        arguments = [self._sum()]
        while self._accept(","):
            arguments.append(self._sum())
        self._expect(")")
        self._depth -= 1
        return arguments

    def _piecewise(self, token: _Token) -> sympy.Expr:
        self._enter(token)
        self._expect("(")
        branches = [self._branch()]
        while self._accept(","):
            branches.append(self._branch())
        self._expect(")")
        self._depth -= 1
        if branches[-1][1] is not sympy.true:
            raise self._error("the last branch of Piecewise needs the condition True", token)
        return self._built(token, lambda: sympy.Piecewise(*branches, evaluate=False))

    def _branch(self) -> tuple[sympy.Expr, sympy.Basic]:
        self._expect("(")
        value = self._sum()
        self._expect(",")
        condition = self._condition()
        self._expect(")")
        return value, condition

    def _condition(self) -> sympy.Basic:
        self._enter(self._now)
        result = self._comparison()
        while token := self._accept("&", "|"):
            combine = sympy.And if token.text == "&" else sympy.Or
            result = combine(result, self._comparison(), evaluate=False)
        self._depth -= 1
        return result

    def _comparison(self) -> sympy.Basic:
        token = self._now
        if token.kind == "name" and token.text in ("True", "False"):
            self._index += 1
            return sympy.true if token.text == "True" else sympy.false
        if token.text == "(":
            # Either a parenthesised condition or a parenthesised left side: try the condition first.
            start, depth = self._index, self._depth
            self._index += 1
            try:
                inner = self._condition()
                self._expect(")")
            except ExpressionError:
                self._index, self._depth = start, depth
            else:
                return inner
        left = self._sum()
        sign = self._accept("<", "<=", ">", ">=")
        if sign is None:
            raise self._error("expected a comparison such as x < 1")
        relation = {"<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge}[sign.text]
        return relation(left, self._sum(), evaluate=False)
