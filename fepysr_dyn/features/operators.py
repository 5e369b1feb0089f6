"""The operators a unit can apply: on batched tensors with their slopes, on numpy columns, and in sympy.

Every operator is total on the real numbers, so that one bad row never ends a run: pre-activations are bounded
by the network, singular operators are guarded near their singularity. The formula written for a unit is the
plain one (`x/y`, `log(x)`), and it is only kept if it is finite on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sympy
from numpy.typing import NDArray

from fepysr_dyn.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from torch import Tensor

Array = NDArray[np.float64]

#: Width of the guard around a singularity, in units of the (bounded) pre-activation.
GUARD = 1e-3
#: exp saturates here, with slope zero beyond.
EXP_LIMIT = 16.0

UnaryForward = Callable[["Tensor", "Tensor"], object]
UnarySlope = Callable[["Tensor", "Tensor", "Tensor", "Tensor"], object]


@dataclass(frozen=True)
class Operator:
    """One kind of unit.

    Parameters
    ----------
    name : str
        As used in configurations.
    arity : int
        1 or 2.
    symmetric : bool
        Whether the branches of a binary operator may be exchanged; such units get the contrastive penalty.
    has_scale : bool
        Whether the weight is part of the formula (half-saturation constants).
    formula : callable
        Sympy arguments to a sympy expression; with `has_scale` the last argument is the constant.
    values : callable
        The formula on numpy columns, not guarded.
    """

    name: str
    arity: int
    formula: Callable[..., sympy.Expr]
    values: Callable[..., Array]
    symmetric: bool = False
    has_scale: bool = False


def _positive(argument: sympy.Expr, positive: bool) -> sympy.Expr:
    return argument if positive else sympy.Abs(argument)


def _unary(name: str, formula: Callable[..., sympy.Expr], values: Callable[..., Array]) -> Operator:
    return Operator(name, 1, formula, values)


OPERATORS: dict[str, Operator] = {
    operator.name: operator
    for operator in (
        _unary("square", lambda a: a**2, np.square),
        _unary("sin", sympy.sin, np.sin),
        _unary("cos", sympy.cos, np.cos),
        _unary("exp", sympy.exp, np.exp),
        _unary("log", sympy.log, np.log),
        _unary("sqrt", sympy.sqrt, np.sqrt),
        _unary("abs", sympy.Abs, np.abs),
        _unary("tanh", sympy.tanh, np.tanh),
        _unary("inv", lambda a: 1 / a, np.reciprocal),
        Operator("add", 2, lambda a, b: a + b, np.add, symmetric=True),
        Operator("mul", 2, lambda a, b: a * b, np.multiply, symmetric=True),
        Operator("sub", 2, lambda a, b: a - b, np.subtract),
        Operator("div", 2, lambda a, b: a / b, np.divide),
        Operator("mm", 1, lambda a, k: a / (k + a), lambda a, k: a / (k + a), has_scale=True),
        Operator(
            "hill", 1, lambda a, k: a**2 / (k**2 + a**2), lambda a, k: a**2 / (k**2 + a**2), has_scale=True
        ),
    )
}
ALIASES = {
    "+": "add",
    "*": "mul",
    "×": "mul",
    "-": "sub",
    "−": "sub",
    "/": "div",
    "÷": "div",
    "inverse": "inv",
    "michaelis_menten": "mm",
}


def operator_names(names: Iterable[str]) -> tuple[str, ...]:
    """Resolve aliases such as ``"+"`` and refuse unknown names.

    Examples
    --------
    >>> operator_names(["sin", "+", "-"])
    ('sin', 'add', 'sub')
    """
    resolved = []
    for name in names:
        plain = ALIASES.get(name, name)
        if plain not in OPERATORS:
            known = [*OPERATORS, *ALIASES]
            hint = did_you_mean(name, known) or f"; choose among {', '.join(OPERATORS)}"
            raise OptionError(f"unknown operator '{name}'{hint}")
        if plain not in resolved:
            resolved.append(plain)
    return tuple(resolved)


def forward(name: str, z: tuple[Tensor, ...], out: Tensor) -> None:
    """Write the guarded operator of the pre-activations into `out`."""
    import torch

    a = z[0]
    if name == "square":
        torch.square(a, out=out)
    elif name == "sin":
        torch.sin(a, out=out)
    elif name == "cos":
        torch.cos(a, out=out)
    elif name == "exp":
        torch.exp(a.clamp(max=EXP_LIMIT), out=out)
    elif name == "log":
        torch.log(a.square().add_(GUARD**2), out=out).mul_(0.5)
    elif name == "sqrt":
        torch.pow(a.square().add_(GUARD**2), 0.25, out=out)
    elif name == "abs":
        torch.abs(a, out=out)
    elif name == "tanh":
        torch.tanh(a, out=out)
    elif name == "inv":
        torch.div(a, a.square().add_(GUARD**2), out=out)
    elif name == "mm":
        size = a.abs()
        torch.div(size, size + 1, out=out)
    elif name == "hill":
        square = a.square()
        torch.div(square, square + 1, out=out)
    else:
        _forward_binary(name, a, z[1], out)


def _forward_binary(name: str, a: Tensor, b: Tensor, out: Tensor) -> None:
    import torch

    if name == "add":
        torch.add(a, b, out=out)
    elif name == "mul":
        torch.mul(a, b, out=out)
    elif name == "sub":
        torch.sub(a, b, out=out)
    else:
        torch.div(a * b, b.square().add_(GUARD**2), out=out)


def backward(name: str, z: tuple[Tensor, ...], value: Tensor, g: Tensor, gz: tuple[Tensor, ...]) -> None:
    """Write the gradient with respect to the pre-activations into `gz`, given that of the value, `g`."""
    import torch

    a, out = z[0], gz[0]
    if name == "square":
        torch.mul(g, a, out=out).mul_(2)
    elif name == "sin":
        torch.mul(g, torch.cos(a), out=out)
    elif name == "cos":
        torch.mul(g, torch.sin(a), out=out).neg_()
    elif name == "exp":
        torch.mul(g, value, out=out).mul_(a < EXP_LIMIT)
    elif name == "log":
        torch.mul(g, a / a.square().add_(GUARD**2), out=out)
    elif name == "sqrt":
        # value = s**(1/4) with s = a² + guard², so the slope is a/2 * s**(-3/4) = a/2 / value³.
        torch.mul(g, a / value.pow(3), out=out).mul_(0.5)
    elif name == "abs":
        torch.mul(g, torch.sign(a), out=out)
    elif name == "tanh":
        torch.mul(g, 1 - value.square(), out=out)
    elif name == "inv":
        s = a.square().add_(GUARD**2)
        torch.mul(g, (2 * GUARD**2 - s) / s.square(), out=out)
    elif name == "mm":
        torch.mul(g, torch.sign(a) / (a.abs() + 1).square(), out=out)
    elif name == "hill":
        torch.mul(g, 2 * a / (a.square() + 1).square(), out=out)
    else:
        _backward_binary(name, (a, z[1]), g, (out, gz[1]))


def _backward_binary(name: str, z: tuple[Tensor, Tensor], g: Tensor, gz: tuple[Tensor, Tensor]) -> None:
    import torch

    (a, b), (left, right) = z, gz
    if name in ("add", "sub"):
        left.copy_(g)
        torch.mul(g, 1.0 if name == "add" else -1.0, out=right)
    elif name == "mul":
        torch.mul(g, b, out=left)
        torch.mul(g, a, out=right)
    else:
        s = b.square().add_(GUARD**2)
        torch.mul(g, b / s, out=left)
        torch.mul(g, a * (2 * GUARD**2 - s) / s.square(), out=right)
