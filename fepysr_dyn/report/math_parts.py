"""Small pieces of MathML: names with their indices, operators with their space, brackets."""

from __future__ import annotations

import re
import unicodedata

from fepysr_dyn.report.markup import Element, element

_NAME = re.compile(r"([A-Za-z]+?)_?([0-9][A-Za-z0-9_]*|(?<=_)[A-Za-z0-9_]+)?\Z")
_GREEK = re.compile(
    r"alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|omicron|pi|rho|sigma|tau|upsilon"
    r"|phi|chi|psi|omega",
    re.IGNORECASE,
)


def name_of(name: str) -> Element:
    """Return a name with its digits as an index, Greek letters written as such."""
    match = _NAME.match(name)
    if match is None:
        return element("mi", name)
    letters, index = match.groups()
    stem = element("mi", _letter(letters))
    if not index:
        return stem
    kind = "mn" if index.isdigit() else "mi"
    return element("msub", stem, element(kind, index.replace("_", ",")))


def _letter(word: str) -> str:
    """Return the Greek letter a word names, or the word."""
    if not _GREEK.fullmatch(word) or not (word.islower() or word.istitle()):
        return word
    kind = "SMALL" if word.islower() else "CAPITAL"
    # Unicode spells lambda without its b.
    return unicodedata.lookup(f"GREEK {kind} LETTER {word.upper().replace('LAMBDA', 'LAMDA')}")


def euler() -> Element:
    """Return e, upright: a variable of that name is slanted."""
    return element("mi", "e", mathvariant="normal")


def operator(sign: str, *, form: str | None = None) -> Element:
    """Return an operator between two things, or before one."""
    # Said explicitly: a term that starts with its sign would lose the space after it.
    space = "0" if form == "prefix" else "0.28em" if sign == "=" else "0.22em"
    return element("mo", sign, form=form or "infix", lspace=space, rspace=space)


def brackets(inside: Element) -> Element:
    """Return something in brackets that grow with it."""
    return element("mrow", element("mo", "("), inside, element("mo", ")"))
