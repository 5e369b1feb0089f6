"""Reads SBML or Antimony and answers in JSON: plain data, no formula is evaluated.

libsbml and antimony are written in C++. After they are loaded, and before they see a byte, this process gives
up opening and writing files.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from typing import Any
from xml.parsers import expat

from fepysr_dyn.confined.libsbml_tree import Reader
from fepysr_dyn.confined.limits import MAX_DEPTH, Refused, answering_alone, confine, one_line

MAX_ELEMENTS = 400_000
MEMORY_BYTES = 1_500_000_000
#: Processor time for any file, and the characters of a file that earn it another second.
CPU_SECONDS = 4
CHARACTERS_A_SECOND = 200_000


def main() -> None:
    """Read from stdin, answer on stdout."""
    kind = sys.argv[1]
    answers = answering_alone()
    try:
        libsbml = importlib.import_module("libsbml")
        antimony = importlib.import_module("antimony") if kind == "antimony" else None
    except ImportError as error:
        answers(json.dumps({"missing": str(error.name)}))
        return
    answer: dict[str, Any]
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
        confine(memory=MEMORY_BYTES, seconds=CPU_SECONDS + len(text) // CHARACTERS_A_SECOND)
        if kind == "antimony":
            text = sbml_of(antimony, text)
        # The text is UTF-8 whatever it says of itself; files without a declaration are as good.
        text = '<?xml version="1.0" encoding="UTF-8"?>' + re.sub(r"\A\s*<\?xml[^>]*\?>", "", text)
        check_xml(text)
        model = Reader(libsbml, text).model()
        if kind == "antimony":
            # What is declared to vary and has no rule is an input; Antimony has no place to say so.
            model["annotation"]["inputs"] = [item["id"] for item in model["parameters"] if item["varies"]]
        answer = {"model": model}
    except Refused as refusal:
        answer = {"refused": str(refusal)}
    except UnicodeDecodeError as error:
        answer = {"refused": f"expected UTF-8 text, found another encoding at byte {error.start}"}
    except (MemoryError, RecursionError):
        answer = {"refused": "the file asks for too much memory"}
    answers(json.dumps(answer))


def sbml_of(antimony: Any, text: str) -> str:
    """Return the SBML of an Antimony text; statements that read other files are refused."""
    if "\0" in text:
        raise Refused("expected Antimony text, found NUL bytes")
    bare = re.sub(
        r'"[^"\n]*"|//[^\n]*|#[^\n]*|/\*.*?\*/',
        lambda m: " " + "\n" * m[0].count("\n"),
        text,
        flags=re.DOTALL,
    )
    if found := re.search(r"\bimport\b", bare):
        line = bare[: found.start()].count("\n") + 1
        raise Refused(f"'import' would read another file and is refused (about line {line})")
    if len(re.findall(r"[({]", bare)) > 20_000 or deepest(bare) > MAX_DEPTH:
        raise Refused(f"expected parentheses nested at most {MAX_DEPTH} deep")
    if antimony.loadAntimonyString(text) < 0:
        raise Refused(f"not valid Antimony: {one_line(antimony.getLastError() or 'it cannot be read')}")
    name = antimony.getMainModuleName()
    sbml = antimony.getSBMLString(name)
    if not sbml:
        raise Refused(f"not valid Antimony: {one_line(antimony.getLastError() or 'it holds no model')}")
    return str(sbml)


def deepest(text: str) -> int:
    """Return how deep parentheses are nested."""
    depth = most = 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        most = max(most, depth)
    return most


def check_xml(text: str) -> None:
    """Refuse what no SBML file needs: declarations of entities, deep nesting, another kind of document."""
    parser = expat.ParserCreate()
    depth = elements = 0

    def refuse_doctype(*_: object) -> None:
        raise Refused("a document type declaration, with which XML reads other files or grows, is refused")

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if elements == 1 and name.split(":")[-1] != "sbml":
            raise Refused(f"expected an SBML document, found the element <{one_line(name)[:40]}>")
        if depth > MAX_DEPTH:
            raise Refused(f"expected elements nested at most {MAX_DEPTH} deep")
        if elements > MAX_ELEMENTS:
            raise Refused(f"expected at most {MAX_ELEMENTS} elements")
        if elements == 1:
            for key, value in attributes.items():
                if key.endswith(":required") and value == "true":
                    package = one_line(key.partition(":")[0])[:40]
                    raise Refused(f"the model needs the SBML package '{package}', which is not supported")

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.EntityDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        raise Refused(f"not valid XML: {one_line(str(error))}") from None
