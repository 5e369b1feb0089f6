"""Sympy to the MathML that SBML knows."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import sympy
from sympy.core.relational import GreaterThan, LessThan, StrictGreaterThan, StrictLessThan

from fepysr_dyn.errors import ModelError
from fepysr_dyn.exchange.rewriting import without_choices

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
TIME_SYMBOL = "http://www.sbml.org/sbml/symbols/time"
#: Stands for the time of the simulation; no state can have this name.
TIME = sympy.Symbol("time")

_OPERATORS: dict[type, str] = {
    **{sympy.Add: "plus", sympy.Mul: "times", sympy.Pow: "power"},
    **{sympy.exp: "exp", sympy.log: "ln", sympy.Abs: "abs"},
    **{sympy.sin: "sin", sympy.cos: "cos", sympy.tan: "tan", sympy.cot: "cot", sympy.atan: "arctan"},
    **{sympy.sinh: "sinh", sympy.cosh: "cosh", sympy.tanh: "tanh"},
    **{StrictLessThan: "lt", LessThan: "leq", StrictGreaterThan: "gt", GreaterThan: "geq"},
    **{sympy.And: "and", sympy.Or: "or"},
}


def math_element(expression: sympy.Basic) -> Element:
    """Return the element ``math`` for an expression."""
    root = Element("math", {"xmlns": NAMESPACE})
    _append(root, without_choices(expression))
    return root


def _append(parent: Element, node: sympy.Basic) -> None:
    if node == TIME:
        symbol = SubElement(parent, "csymbol", {"encoding": "text", "definitionURL": TIME_SYMBOL})
        symbol.text = "t"
    elif node.is_Symbol:
        SubElement(parent, "ci").text = node.name
    elif isinstance(node, sympy.Rational):
        _append_rational(parent, node)
    elif isinstance(node, sympy.Float):
        append_number(parent, float(node))
    elif node is sympy.pi:
        SubElement(parent, "pi")
    elif node is sympy.E:
        SubElement(parent, "exponentiale")
    elif node in (sympy.true, sympy.false):
        SubElement(parent, "true" if node == sympy.true else "false")
    elif isinstance(node, sympy.Piecewise):
        _append_piecewise(parent, node)
    elif node.is_Pow and node.exp == -1:
        _apply(parent, "divide", (sympy.Integer(1), node.base))
    elif node.func in _OPERATORS:
        _apply(parent, _OPERATORS[node.func], node.args)
    else:
        raise ModelError(f"the function '{node.func.__name__}' has no counterpart in SBML")


def append_number(parent: Element, value: float) -> None:
    """Append a number with all its digits."""
    mantissa, sign, exponent = repr(value).partition("e")
    number = SubElement(parent, "cn", {"type": "e-notation"} if sign else {})
    number.text = mantissa
    if sign:
        SubElement(number, "sep").tail = str(int(exponent))


def _append_rational(parent: Element, node: sympy.Rational) -> None:
    if abs(node.p) >= 2**31 or node.q >= 2**31:
        append_number(parent, float(node))
        return
    number = SubElement(parent, "cn", {"type": "integer" if node.q == 1 else "rational"})
    number.text = str(node.p)
    if node.q != 1:
        SubElement(number, "sep").tail = str(node.q)


def _apply(parent: Element, operator: str, arguments: tuple[sympy.Basic, ...]) -> None:
    apply = SubElement(parent, "apply")
    SubElement(apply, operator)
    for argument in arguments:
        _append(apply, argument)


def _append_piecewise(parent: Element, node: sympy.Piecewise) -> None:
    piecewise = SubElement(parent, "piecewise")
    for value, condition in node.args:
        if condition == sympy.true:
            _append(SubElement(piecewise, "otherwise"), value)
            return
        piece = SubElement(piecewise, "piece")
        _append(piece, value)
        _append(piece, condition)
