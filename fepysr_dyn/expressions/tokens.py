"""A formula as a list of tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fepysr_dyn.errors import ExpressionError

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<operator>\*\*|<=|>=|[-+*/(),<>&|−·×])",
)
_SAME_OPERATOR = {"−": "-", "·": "*", "×": "*"}


@dataclass(frozen=True)
class Token:
    """A piece of a formula and where it begins."""

    kind: str
    text: str
    position: int


def tokenize(text: str) -> list[Token]:
    """Split a formula; the last token is the end."""
    tokens = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            hint = "; write powers as **" if text[position] == "^" else ""
            raise ExpressionError(f"unexpected character {text[position]!r}{hint}", text, position)
        if match.lastgroup != "space":
            lexeme = match.group()
            tokens.append(Token(str(match.lastgroup), _SAME_OPERATOR.get(lexeme, lexeme), position))
        position = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


def closing_of(tokens: list[Token]) -> dict[int, int]:
    """Return the index of the closing parenthesis of each opening one."""
    pairs, waiting = {}, []
    for index, token in enumerate(tokens):
        if token.text == "(":
            waiting.append(index)
        elif token.text == ")" and waiting:
            pairs[waiting.pop()] = index
    return pairs
