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


#: Space before and after an operator; where a line may break before it, the break is a space itself.
_SPACES = {"infix": ("0.22em", "0.22em"), "prefix": ("0", "0"), "leading": ("0", "0.36em")}


def operator(sign: str, form: str = "infix") -> Element:
    """Return an operator between two things, or before one, or leading a part that may go on a new line."""
    before, after = ("0", "0") if sign == "/" else _SPACES[form]
    return element("mo", sign, form="prefix" if form == "prefix" else "infix", lspace=before, rspace=after)


def brackets(inside: Element) -> Element:
    """Return something in brackets that grow with it."""
    return element("mrow", element("mo", "("), inside, element("mo", ")"))
