"""Formulas as nested lists to text in our own grammar: `expressions.parse` bounds what they may ask for."""

from __future__ import annotations

import math

from fepysr_dyn.errors import ModelError
from fepysr_dyn.exchange.formulas import LOGICAL, OPPOSITES, RELATIONS, Tree, arguments_of, number_of

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
_FUNCTIONS = {
    **{name: name for name in ("abs", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{"ln": "log", "arctan": "atan", "min": "Min", "max": "Max"},
}
_RECIPROCALS = {
    **{"sec": "1/cos({})", "csc": "1/sin({})", "cot": "1/tan({})"},
    **{"sech": "1/cosh({})", "csch": "1/sinh({})", "coth": "1/tanh({})"},
}


def spelled(tree: Tree) -> str:
    """Return a formula as text; the model's own functions must have been put in.

    Examples
    --------
    >>> spelled(["divide", ["number", 1], ["plus", ["name", "K"], ["name", "x"]]])
    '1/(K + x)'
    """
    return _text(tree)[0]


def _text(tree: Tree) -> tuple[str, int]:
    """Return the text and how strongly its outermost operator binds."""
    operator, arguments = tree[0], arguments_of(tree)
    if operator == "number":
        return _number(tree[1])
    if operator == "name":
        return tree[1], _ATOM
    if operator in LOGICAL:
        return f"Piecewise((1, {_condition(tree)}), (0, True))", _ATOM
    if operator == "piecewise":
        return _piecewise(arguments), _ATOM
    if operator in _FUNCTIONS and arguments:
        return f"{_FUNCTIONS[operator]}({', '.join(_text(a)[0] for a in arguments)})", _ATOM
    if operator in _RECIPROCALS and len(arguments) == 1:
        return _RECIPROCALS[operator].format(_text(arguments[0])[0]), _PRODUCT
    return _arithmetic(operator, arguments)


def _arithmetic(operator: str, arguments: list[Tree]) -> tuple[str, int]:
    match operator, arguments:
        case (("plus" | "times"), []):
            return ("0" if operator == "plus" else "1"), _ATOM
        case (("plus" | "times"), [only]):
            return _text(only)
        case "plus", _:
            return " + ".join(_within(a, _PRODUCT) for a in arguments), _SUM
        case "times", _:
            return "*".join(_within(a, _PRODUCT) for a in arguments), _PRODUCT
        case "minus", [value]:
            return f"-{_within(value, _PRODUCT)}", _SUM
        case "minus", [first, second]:
            return f"{_within(first, _SUM)} - {_within(second, _PRODUCT)}", _SUM
        case "divide", [first, second]:
            return f"{_within(first, _PRODUCT)}/{_within(second, _POWER)}", _PRODUCT
        case "power", [base, exponent]:
            return f"{_within(base, _ATOM)}**{_within(exponent, _ATOM)}", _POWER
        case "root", [degree, value]:
            return _arithmetic("power", [value, ["divide", ["number", 1], degree]])
        case "root", [value]:
            return f"sqrt({_text(value)[0]})", _ATOM
        case "log", [base, value]:
            return f"log({_text(value)[0]})/log({_text(base)[0]})", _PRODUCT
        case "log", [value]:
            return f"log({_text(value)[0]})/log(10)", _PRODUCT
        case "pi", []:
            return "pi", _ATOM
        case "exponentiale", []:
            return "exp(1)", _ATOM
        case "nothing", _:
            raise ModelError("expected a formula, found none")
    raise ModelError(f"the function '{operator}' is not supported")


def _within(tree: Tree, strength: int) -> str:
    """Return an operand, in parentheses where it binds less strongly than that."""
    text, own = _text(tree)
    return text if own >= strength else f"({text})"


def _number(value: object) -> tuple[str, int]:
    if isinstance(value, int):
        return str(value), _ATOM if value >= 0 else _SUM
    number = number_of(value)
    if not math.isfinite(number):
        raise ModelError(f"expected finite numbers in a formula, found {number}")
    return repr(number), _ATOM if math.copysign(1.0, number) > 0 else _SUM


def _piecewise(arguments: list[Tree]) -> str:
    if len(arguments) % 2 == 0:
        raise ModelError("expected a piecewise formula with a value for all other cases, found none")
    branches = [
        f"({_text(value)[0]}, {_condition(condition)})"
        for value, condition in zip(arguments[::2], arguments[1::2], strict=False)
    ]
    return f"Piecewise({', '.join([*branches, f'({_text(arguments[-1])[0]}, True)'])})"


def _condition(tree: Tree, *, denied: bool = False) -> str:
    """Return a condition, or its contrary: the grammar has no negation."""
    operator, arguments = tree[0], arguments_of(tree)
    if operator in OPPOSITES and len(arguments) == 2:
        _require_plain(arguments, LOGICAL | {"piecewise"})
        operator = OPPOSITES[operator] if denied else operator
        left, right = (_text(argument)[0] for argument in arguments)
        if operator in RELATIONS:
            return f"{left} {RELATIONS[operator]} {right}"
        if operator == "eq":
            return f"({left} <= {right}) & ({left} >= {right})"
        return f"({left} < {right}) | ({left} > {right})"
    match operator, arguments:
        case (("true" | "false"), []):
            return "True" if (operator == "true") != denied else "False"
        case "not", [inner]:
            return _condition(inner, denied=not denied)
        case (("and" | "or"), [_, *_]):
            sign = " & " if (operator == "and") != denied else " | "
            return sign.join(f"({_condition(part, denied=denied)})" for part in arguments)
        case "implies", [first, second]:
            return _condition(["or", ["not", first], second], denied=denied)
        case "xor", [first, second]:
            _require_plain(arguments, frozenset({"xor"}))
            either, both = ["or", first, second], ["and", first, second]
            return _condition(["and", either, ["not", both]], denied=denied)
    raise ModelError(f"expected a condition, found the function '{operator}'")


def _require_plain(trees: list[Tree], refused: frozenset[str]) -> None:
    """Refuse what would be written twice at every level, and so grow without bound."""
    for tree in trees:
        if tree[0] in refused:
            raise ModelError(f"a condition within a condition ('{tree[0]}') is not supported")
        _require_plain(arguments_of(tree), refused)
