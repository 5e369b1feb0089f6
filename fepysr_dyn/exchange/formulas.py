"""Formulas as nested lists, the way the confined reader gives them: expanded, evaluated, or put into text.

A tree is an operator's MathML name followed by its arguments, such as ``["times", ["name", "k"], ["time"]]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fepysr_dyn.errors import ModelError

Tree = list[Any]

#: Nodes of one formula after its functions are put in; beyond that a few lines could ask for gigabytes.
MAX_NODES = 20_000

RELATIONS = {"lt": "<", "leq": "<=", "gt": ">", "geq": ">="}
OPPOSITES = {"lt": "geq", "leq": "gt", "gt": "leq", "geq": "lt", "eq": "neq", "neq": "eq"}
LOGICAL = frozenset({*OPPOSITES, "and", "or", "not", "xor", "implies", "true", "false"})
_LEAVES = frozenset({"number", "name"})
_UNARY: dict[str, Callable[[float], float]] = {
    **{"abs": abs, "exp": math.exp, "ln": math.log, "ceiling": math.ceil, "floor": math.floor},
    **{"sin": math.sin, "cos": math.cos, "tan": math.tan, "arcsin": math.asin, "arccos": math.acos},
    **{"arctan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh},
    **{"arcsinh": math.asinh, "arccosh": math.acosh, "arctanh": math.atanh},
    **{"sec": lambda x: 1 / math.cos(x), "csc": lambda x: 1 / math.sin(x), "cot": lambda x: 1 / math.tan(x)},
    **{"sech": lambda x: 1 / math.cosh(x), "csch": lambda x: 1 / math.sinh(x)},
    **{"coth": lambda x: 1 / math.tanh(x), "factorial": lambda x: math.gamma(x + 1)},
}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    **{"lt": lambda a, b: a < b, "leq": lambda a, b: a <= b, "gt": lambda a, b: a > b},
    **{"geq": lambda a, b: a >= b, "eq": lambda a, b: a == b, "neq": lambda a, b: a != b},
}


def expanded(tree: Tree, functions: Mapping[str, Tree]) -> Tree:
    """Return a formula with the model's own functions put in."""
    return _Expansion(functions).expand(tree, {}, ())


def names_in(tree: Tree) -> Iterator[str]:
    """Yield the names a formula uses; the time is called "time" here, which no element may be."""
    if tree[0] == "name":
        yield tree[1]
    elif tree[0] == "time":
        yield "time"
    else:
        for argument in arguments_of(tree):
            yield from names_in(argument)


def arguments_of(tree: Tree) -> list[Tree]:
    """Return the arguments that are formulas themselves."""
    if tree[0] in _LEAVES:
        return []
    return [argument for argument in tree[1:] if isinstance(argument, list)]


def renamed(tree: Tree, names: Mapping[str, str]) -> Tree:
    """Return a formula with other names."""
    if tree[0] == "name":
        return ["name", names.get(tree[1], tree[1])]
    return [part if not isinstance(part, list) else renamed(part, names) for part in tree]


def number_of(value: object) -> float:
    """Return a number of the confined reader, which gives infinities as text."""
    return float(value) if isinstance(value, int | float | str) else math.nan


def evaluate(tree: Tree, value_of: Callable[[str], float]) -> float:
    """Return the value of a formula, NaN where it has none."""
    try:
        return _evaluate(tree, value_of)
    except (ArithmeticError, ValueError):
        return math.nan


def _evaluate(tree: Tree, value_of: Callable[[str], float]) -> float:
    operator, arguments = tree[0], arguments_of(tree)
    if operator == "number":
        return number_of(tree[1])
    if operator in ("name", "time"):
        return value_of(tree[1] if operator == "name" else "time")
    if operator == "piecewise":
        for value, condition in zip(arguments[::2], arguments[1::2], strict=False):
            if _evaluate(condition, value_of):
                return _evaluate(value, value_of)
        return _evaluate(arguments[-1], value_of) if len(arguments) % 2 else math.nan
    values = [_evaluate(argument, value_of) for argument in arguments]
    if operator in _COMPARE and len(values) == 2:
        return float(_COMPARE[operator](*values))
    if operator in _UNARY and len(values) == 1:
        return float(_UNARY[operator](values[0]))
    return _arithmetic(operator, values)


def _arithmetic(operator: str, values: list[float]) -> float:
    match operator, values:
        case "plus", _:
            return math.fsum(values)
        case "times", _:
            return math.prod(values)
        case "minus", [value]:
            return -value
        case "minus", [first, second]:
            return first - second
        case "divide", [first, second]:
            return first / second
        case "power", [base, exponent]:
            return math.pow(base, exponent)
        case "root", [degree, value]:
            return math.pow(value, 1 / degree)
        case "root", [value]:
            return math.sqrt(value)
        case "log", [base, value]:
            return math.log(value) / math.log(base)
        case "log", [value]:
            return math.log10(value)
        case "pi", []:
            return math.pi
        case "exponentiale", []:
            return math.e
        case (("min" | "max"), [_, *_]):
            return min(values) if operator == "min" else max(values)
        case (("true" | "false"), []):
            return float(operator == "true")
        case "not", [value]:
            return float(not value)
        case "and", _:
            return float(all(values))
        case "or", _:
            return float(any(values))
        case "xor", _:
            return float(sum(map(bool, values)) % 2)
        case "implies", [first, second]:
            return float(not first or bool(second))
    raise ModelError(f"the function '{operator}' is not supported")


class _Expansion:
    """One formula whose functions are being put in."""

    def __init__(self, functions: Mapping[str, Tree]) -> None:
        self._functions = functions
        self._nodes = 0

    def expand(self, tree: Tree, values: Mapping[str, Tree], active: tuple[str, ...]) -> Tree:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise ModelError(f"a formula may have at most {MAX_NODES} nodes with its functions put in")
        if tree[0] == "name" and tree[1] in values:
            return self._copied(values[tree[1]])
        if tree[0] in _LEAVES:
            return tree
        if tree[0] != "call":
            return [self.expand(part, values, active) if isinstance(part, list) else part for part in tree]
        name = tree[1]
        if name not in self._functions:
            raise ModelError(f"there is no function '{name}'")
        if name in active:
            raise ModelError(f"the function '{name}' calls itself")
        *formal, body = arguments_of(self._functions[name])
        given = [self.expand(argument, values, active) for argument in tree[2:]]
        if len(formal) != len(given):
            raise ModelError(f"the function '{name}' takes {len(formal)} arguments, found {len(given)}")
        bound = {parameter[1]: argument for parameter, argument in zip(formal, given, strict=True)}
        return self.expand(body, bound, (*active, name))

    def _copied(self, tree: Tree) -> Tree:
        """Count an argument each time it is put in."""
        self._nodes += sum(1 for _ in _walk(tree))
        if self._nodes > MAX_NODES:
            raise ModelError(f"a formula may have at most {MAX_NODES} nodes with its functions put in")
        return tree


def _walk(tree: Tree) -> Iterator[Tree]:
    yield tree
    for argument in arguments_of(tree):
        yield from _walk(argument)
