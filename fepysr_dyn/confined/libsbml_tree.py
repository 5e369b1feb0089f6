"""A document of libsbml to plain data; formulas become nested lists and are not evaluated."""

from __future__ import annotations

import re
from typing import Any

from fepysr_dyn.confined.limits import MAX_DEPTH, Refused, one_line

Tree = list[Any]


class Reader:
    """Walks over a document of libsbml, which has to live as long as anything taken from it."""

    def __init__(self, libsbml: Any, text: str) -> None:
        self._lib = libsbml
        self._names = operator_names(libsbml)
        self._document = libsbml.readSBMLFromString(text)
        for index in range(self._document.getNumErrors()):
            error = self._document.getError(index)
            if error.getSeverity() >= libsbml.LIBSBML_SEV_ERROR:
                place = f"line {error.getLine()}: " if error.getLine() else ""
                raise Refused(f"not valid SBML: {place}{one_line(error.getMessage())}")
        self._model = self._document.getModel()
        if self._model is None:
            raise Refused("expected an SBML document with a model, found none")

    def model(self) -> dict[str, Any]:
        """Return the whole model as plain data."""
        model = self._model
        return {
            "id": model.getId(),
            "name": model.getName(),
            "notes": [one_line(re.sub(r"<[^>]*>", " ", model.getNotesString() or ""))],
            "annotation": self._annotation(),
            "conversion_factor": model.getConversionFactor() or None,
            "functions": {f.getId(): self._tree(f.getMath()) for f in model.getListOfFunctionDefinitions()},
            "compartments": [self._compartment(c) for c in model.getListOfCompartments()],
            "species": [self._species(s) for s in model.getListOfSpecies()],
            "parameters": [self._parameter(p) for p in model.getListOfParameters()],
            "initial_assignments": {
                a.getSymbol(): self._tree(a.getMath()) for a in model.getListOfInitialAssignments()
            },
            "rules": [self._rule(rule) for rule in model.getListOfRules()],
            "reactions": [self._reaction(r) for r in model.getListOfReactions()],
            "events": [self._event(e, i) for i, e in enumerate(model.getListOfEvents(), start=1)],
        }

    def _annotation(self) -> dict[str, Any]:
        """Return what our own annotation says."""
        about: dict[str, Any] = {"units": {}, "inputs": []}
        root = self._model.getAnnotation()
        for index in range(root.getNumChildren() if root is not None else 0):
            child = root.getChild(index)
            if child.getName() != "about" or child.getURI() != "urn:fepysr-dyn:about":
                continue
            for key in ("duration", "samples"):
                about[key] = child.getAttrValue(key)
            for number in range(child.getNumChildren()):
                entry = child.getChild(number)
                name = entry.getAttrValue("of")
                if entry.getName() == "input":
                    about["inputs"].append(name)
                elif entry.getName() == "unit" and entry.getNumChildren():
                    about["units"][name] = entry.getChild(0).getCharacters()
        return about

    def _compartment(self, item: Any) -> dict[str, Any]:
        size = item.getSize() if item.isSetSize() else None
        dimensions = item.getSpatialDimensions()
        return {"id": item.getId(), "size": shown(size), "dimensions": dimensions}

    def _species(self, item: Any) -> dict[str, Any]:
        return {
            "id": item.getId(),
            "compartment": item.getCompartment(),
            "amount": shown(item.getInitialAmount()) if item.isSetInitialAmount() else None,
            "concentration": shown(item.getInitialConcentration())
            if item.isSetInitialConcentration()
            else None,
            "substance_only": item.getHasOnlySubstanceUnits(),
            "fixed": item.getBoundaryCondition() or item.getConstant(),
            "conversion_factor": item.getConversionFactor() or None,
        }

    def _parameter(self, item: Any) -> dict[str, Any]:
        value = shown(item.getValue()) if item.isSetValue() else None
        return {"id": item.getId(), "value": value, "varies": not item.getConstant()}

    def _rule(self, rule: Any) -> dict[str, Any]:
        kind = "rate" if rule.isRate() else "assignment" if rule.isAssignment() else "algebraic"
        return {"kind": kind, "variable": rule.getVariable(), "math": self._tree(rule.getMath())}

    def _reaction(self, item: Any) -> dict[str, Any]:
        law = item.getKineticLaw()
        local: dict[str, Any] = {}
        if law is not None:
            for parameter in [*law.getListOfLocalParameters(), *law.getListOfParameters()]:
                local[parameter.getId()] = shown(parameter.getValue()) if parameter.isSetValue() else None
        return {
            "id": item.getId(),
            "changes": [
                *(self._change(reference, -1) for reference in item.getListOfReactants()),
                *(self._change(reference, 1) for reference in item.getListOfProducts()),
            ],
            "law": None if law is None else self._tree(law.getMath()),
            "local": local,
        }

    def _change(self, reference: Any, sign: int) -> dict[str, Any]:
        math = reference.getStoichiometryMath()
        return {
            "id": reference.getId() or None,
            "species": reference.getSpecies(),
            "sign": sign,
            "stoichiometry": shown(reference.getStoichiometry()),
            "math": None if math is None else self._tree(math.getMath()),
        }

    def _event(self, item: Any, index: int) -> dict[str, Any]:
        trigger = item.getTrigger()
        return {
            "id": item.getId() or f"number {index}",
            "trigger": self._tree(trigger.getMath() if trigger is not None else None),
            "initial_value": trigger.getInitialValue() if trigger is not None else True,
            "delayed": item.getDelay() is not None,
            "assignments": {
                a.getVariable(): self._tree(a.getMath()) for a in item.getListOfEventAssignments()
            },
        }

    def _tree(self, node: Any, depth: int = 0) -> Tree:
        """Return a formula as nested lists: an operator, then its arguments."""
        if node is None:
            return ["nothing"]
        if depth > MAX_DEPTH:
            raise Refused(f"expected formulas nested at most {MAX_DEPTH} deep")
        lib, kind = self._lib, node.getType()
        if kind == lib.AST_INTEGER:
            return ["number", node.getInteger()]
        if kind == lib.AST_RATIONAL:
            return ["divide", ["number", node.getNumerator()], ["number", node.getDenominator()]]
        if kind in (lib.AST_REAL, lib.AST_REAL_E, lib.AST_NAME_AVOGADRO):
            return ["number", shown(node.getValue())]
        if kind == lib.AST_NAME:
            return ["name", node.getName()]
        arguments = [self._tree(child, depth + 1) for child in self._operands(node, kind)]
        if kind == lib.AST_FUNCTION:
            return ["call", node.getName(), *arguments]
        if kind not in self._names:
            return ["unknown", node.getName() or "unknown"]
        return [self._names[kind], *arguments]

    def _operands(self, node: Any, kind: int) -> list[Any]:
        """Return the children; libsbml reads a + b + c as (a + b) + c, which is undone."""
        operands: list[Any] = []
        while True:
            children = [node.getChild(i) for i in range(node.getNumChildren())]
            operands[:0] = children[1:]
            if kind not in (self._lib.AST_PLUS, self._lib.AST_TIMES) or not children:
                return children[:1] + operands
            if children[0].getType() != kind:
                return children[:1] + operands
            node = children[0]


def shown(value: float | None) -> float | str | None:
    """Return a number, or as text one that JSON does not have."""
    if value is None or abs(value) < float("inf"):
        return value
    return None if value != value else str(value)


def operator_names(lib: Any) -> dict[int, str]:
    """Return the MathML names of libsbml's kinds of nodes."""
    names = {
        **{lib.AST_PLUS: "plus", lib.AST_MINUS: "minus", lib.AST_TIMES: "times", lib.AST_DIVIDE: "divide"},
        **{lib.AST_POWER: "power", lib.AST_FUNCTION_POWER: "power", lib.AST_NAME_TIME: "time"},
        **{lib.AST_CONSTANT_E: "exponentiale", lib.AST_CONSTANT_PI: "pi"},
        **{lib.AST_CONSTANT_TRUE: "true", lib.AST_CONSTANT_FALSE: "false", lib.AST_LAMBDA: "lambda"},
        **{lib.AST_FUNCTION_RATE_OF: "rateOf", lib.AST_LOGICAL_IMPLIES: "implies"},
    }
    functions = (
        *("abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "ceiling", "cos", "cosh"),
        *("cot", "coth", "csc", "csch", "delay", "exp", "factorial", "floor", "ln", "log", "max", "min"),
        *("piecewise", "quotient", "rem", "root", "sec", "sech", "sin", "sinh", "tan", "tanh"),
    )
    for name in functions:
        names[getattr(lib, f"AST_FUNCTION_{name.upper()}")] = name
    for name in ("and", "or", "not", "xor"):
        names[getattr(lib, f"AST_LOGICAL_{name.upper()}")] = name
    for name in ("eq", "neq", "lt", "leq", "gt", "geq"):
        names[getattr(lib, f"AST_RELATIONAL_{name.upper()}")] = name
    return names
