"""Numbers, arrays, formulas and datasets as JSON values that come back bit for bit.

Infinities and NaN are written as texts, which `float` reads as it reads numbers.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import DataError, ExpressionError
from fepysr_dyn.expressions import parse, to_text

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]
Document = dict[str, Any]

_NODES: dict[str, Callable[..., sympy.Expr]] = {
    **{"Add": sympy.Add, "Mul": sympy.Mul, "Pow": sympy.Pow, "Abs": sympy.Abs, "sign": sympy.sign},
    **{"exp": sympy.exp, "log": sympy.log, "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan},
    **{"tanh": sympy.tanh, "sinh": sympy.sinh, "cosh": sympy.cosh, "atan": sympy.atan, "cot": sympy.cot},
    **{"Min": sympy.Min, "Max": sympy.Max},
}
_CONSTANTS = {"pi": sympy.pi, "e": sympy.E}


def to_json(document: Document) -> str:
    """Return the text of a document; numbers that JSON does not have are written as texts."""
    return json.dumps(_plain(document), allow_nan=False, separators=(",", ":"))


def array_document(values: Array) -> Document:
    """Return an array as its bytes in base64."""
    plain = np.ascontiguousarray(values, dtype="<f8")
    return {"shape": list(plain.shape), "float64": base64.b64encode(plain.tobytes()).decode("ascii")}


def read_array(document: Document) -> Array:
    """Return the array of a document."""
    flat = np.frombuffer(base64.b64decode(document["float64"]), dtype="<f8")
    return flat.reshape(document["shape"]).astype(np.float64)


def dataset_document(run: xr.Dataset) -> Document:
    """Return one experiment, its variables in order."""
    return {
        "name": str(run.attrs["name"]),
        "breakpoints": [float(point) for point in run.attrs["breakpoints"]],
        "time": array_document(run["time"].to_numpy()),
        "variables": [
            {"name": str(name), "about": dict(values.attrs), "values": array_document(values.to_numpy())}
            for name, values in run.data_vars.items()
        ],
    }


def read_dataset(document: Document) -> xr.Dataset:
    """Return the experiment of a document."""
    import xarray as xr

    variables = {
        entry["name"]: ("time", read_array(entry["values"]), dict(entry["about"]))
        for entry in document["variables"]
    }
    attributes = {"name": document["name"], "breakpoints": list(document["breakpoints"])}
    return xr.Dataset(variables, coords={"time": read_array(document["time"])}, attrs=attributes)


def expression_document(expression: sympy.Expr) -> Any:
    """Return a formula as text where that reads back to the very same tree, otherwise the tree itself.

    sympy rearranges what it builds: a product over a sum that an engine kept together would be multiplied
    out on the way through text, and its constants would be others in the last digit.
    """
    text = to_text(expression)
    try:
        if parse(text) == expression:
            return text
    except ExpressionError:
        pass
    try:
        return _tree(expression)
    except KeyError:
        return text


def read_expression(document: Any) -> sympy.Expr:
    """Return the formula of a document; nothing is evaluated."""
    if isinstance(document, str):
        return parse(document)
    match document:
        case ["symbol", str(name)]:
            return sympy.Symbol(name)
        case ["float", str(digits)]:
            return sympy.Float(float(digits))
        case ["rational", int(top), int(bottom)]:
            return sympy.Rational(top, bottom)
        case ["constant", str(name)] if name in _CONSTANTS:
            return _CONSTANTS[name]
        case [str(name), *arguments] if name in _NODES:
            return _NODES[name](*map(read_expression, arguments), evaluate=False)
    raise DataError(f"expected a formula, found {document!r:.40}")


def _tree(node: sympy.Basic) -> list[Any]:
    if node.is_Symbol:
        return ["symbol", str(node)]
    if node.is_Float:
        return ["float", repr(float(node))]
    if node.is_Rational:
        return ["rational", int(node.p), int(node.q)]
    for name, value in _CONSTANTS.items():
        if node == value:
            return ["constant", name]
    name = type(node).__name__
    if name not in _NODES:
        raise KeyError(name)
    return [name, *map(_tree, node.args)]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value
