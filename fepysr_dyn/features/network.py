"""The feature mapping network of all runs as one batched tensor program.

The run index is the first dimension of every tensor. Per layer, one weight tensor holds all branches of all
units: shape (runs, branches, inputs), branches ordered as all unary units, then the left branches of the
binary units, then their right branches. The concatenation of a layer's input with its output costs nothing:
one buffer (runs, features, batch) holds the features of all layers, and a layer's input is its leading part.

The backward pass is written by hand into preallocated buffers; autograd would spend most of its time in
allocations of this size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from fepysr_dyn.features.operators import OPERATORS, backward, forward

if TYPE_CHECKING:
    from torch import Tensor

#: Pre-activations are bounded by this, so that four layers of squares and products stay inside float32.
BOUND = 1e4
#: Slopes of weights are bounded by this, so that their norm does not overflow in float32.
STEEPEST = 1e17
#: In the denominator of the normalised step.
EPSILON = 1e-8
#: Factor that turns a weight into its sign when clamped; torch's own sign is not vectorised.
_STEEP = 1e30


@dataclass(frozen=True)
class LayerShape:
    """Which rows of a layer's weight tensor belong to which unit.

    Parameters
    ----------
    units : tuple of str
        Operator of each unit, in the order of the layer's outputs.
    inputs : int
        Number of features the layer sees.
    """

    units: tuple[str, ...]
    inputs: int

    @property
    def n_unary(self) -> int:
        """Number of unary units; they come first."""
        return sum(OPERATORS[name].arity == 1 for name in self.units)

    @property
    def n_binary(self) -> int:
        """Number of binary units."""
        return len(self.units) - self.n_unary

    @property
    def n_symmetric(self) -> int:
        """Number of symmetric binary units; they come first among the binary ones."""
        return sum(OPERATORS[name].symmetric for name in self.units)

    @property
    def branches(self) -> int:
        """Rows of the weight tensor."""
        return self.n_unary + 2 * self.n_binary

    def groups(self) -> list[tuple[str, slice]]:
        """Contiguous units with the same operator."""
        found: list[tuple[str, slice]] = []
        for index, name in enumerate(self.units):
            if found and found[-1][0] == name:
                found[-1] = (name, slice(found[-1][1].start, index + 1))
            else:
                found.append((name, slice(index, index + 1)))
        return found


def layer_shapes(n_variables: int, layers: tuple[tuple[str, ...], ...], copies: int) -> list[LayerShape]:
    """Return the shape of every layer for a set of operators per layer."""
    shapes = []
    inputs = n_variables
    for operators in layers:
        units = tuple(name for name in operators for _ in range(copies))
        shapes.append(LayerShape(units, inputs))
        inputs += len(units)
    return shapes


def exp_mask(shapes: list[LayerShape], n_variables: int) -> list[Tensor]:
    """Return per layer a (branches, inputs) mask: zero where an exp unit would see an exp unit's output."""
    is_exp = [False] * n_variables
    masks = []
    for shape in shapes:
        mask = torch.ones(shape.branches, shape.inputs)
        for branch, name in enumerate(shape.units):
            if name == "exp":
                mask[branch, torch.tensor(is_exp)] = 0.0
        masks.append(mask)
        is_exp += [name == "exp" for name in shape.units]
    return masks


class Layer:
    """Weights and preallocated buffers of one layer, for all runs."""

    def __init__(
        self, shape: LayerShape, weights: Tensor, mask: Tensor, buffers: tuple[Tensor, Tensor]
    ) -> None:
        features, slopes = buffers
        runs, batch = features.shape[0], features.shape[2]
        n, last = shape.inputs, shape.inputs + len(shape.units)
        self.shape = shape
        self.weights = weights * mask
        self.gradient = torch.zeros_like(weights)
        self.z = torch.zeros(runs, shape.branches, batch, dtype=weights.dtype)
        self.gz = torch.zeros_like(self.z)
        self.inputs = features[:, :n]
        self.slopes = slopes[:, :n]
        self.spare = torch.zeros(runs, n, batch, dtype=weights.dtype)
        self.exp_rows = [group for name, group in shape.groups() if name == "exp"]
        self.mask = mask
        self._penalty = torch.zeros_like(weights)
        self._groups = [
            (
                name,
                self._branch_views(self.z, name, group),
                features[:, n:last][:, group],
                slopes[:, n:last][:, group],
                self._branch_views(self.gz, name, group),
            )
            for name, group in shape.groups()
        ]

    def _branch_views(self, tensor: Tensor, name: str, group: slice) -> tuple[Tensor, ...]:
        if OPERATORS[name].arity == 1:
            return (tensor[:, group],)
        shift = self.shape.n_binary
        return (tensor[:, group], tensor[:, group.start + shift : group.stop + shift])

    def forward(self) -> None:
        """Fill this layer's part of the feature buffer."""
        torch.bmm(self.weights, self.inputs, out=self.z)
        self.z.clamp_(-BOUND, BOUND)
        for name, z, value, _, _ in self._groups:
            forward(name, z, value)

    def backward(self, *, first: bool) -> None:
        """Turn the slopes of this layer's outputs into those of its weights and inputs."""
        for name, z, value, slope, gz in self._groups:
            backward(name, z, value, slope, gz)
        torch.bmm(self.gz, self.inputs.transpose(1, 2), out=self.gradient)
        self.gradient.clamp_(-STEEPEST, STEEPEST)
        if not first:
            # Faster than baddbmm, which falls back to one product per run on these strides.
            torch.bmm(self.weights.transpose(1, 2), self.gz, out=self.spare)
            self.slopes.add_(self.spare)

    def add_penalties(self, sparsity: float, contrast: float) -> None:
        """Add the slopes of the L1 and the contrastive penalty; keep masked weights at zero."""
        if sparsity:
            torch.mul(self.weights, _STEEP, out=self._penalty)
            self.gradient.add_(self._penalty.clamp_(-sparsity, sparsity))
        if contrast and self.shape.n_symmetric:
            self._add_contrast(contrast)
        for rows in self.exp_rows:
            self.gradient[:, rows].mul_(self.mask[rows])

    def _add_contrast(self, contrast: float) -> None:
        start, count, shift = self.shape.n_unary, self.shape.n_symmetric, self.shape.n_binary
        left, right = slice(start, start + count), slice(start + shift, start + shift + count)
        a, b = self.weights[:, left], self.weights[:, right]
        size_a = torch.linalg.vector_norm(a, dim=2, keepdim=True).add_(EPSILON)
        size_b = torch.linalg.vector_norm(b, dim=2, keepdim=True).add_(EPSILON)
        product = size_a * size_b
        cosine = torch.sum(a * b, dim=2, keepdim=True).div_(product)
        self.gradient[:, left].add_(b / product - a * (cosine / size_a.square()), alpha=contrast)
        self.gradient[:, right].add_(a / product - b * (cosine / size_b.square()), alpha=contrast)

    def unit_norms(self) -> Tensor:
        """Return the norm of each branch's unit gradient, shape (runs, branches)."""
        norms: Tensor = torch.linalg.vector_norm(self.gradient, dim=2)
        if self.shape.n_binary:
            start, shift = self.shape.n_unary, self.shape.n_binary
            both = torch.hypot(norms[:, start : start + shift], norms[:, start + shift :])
            norms[:, start : start + shift] = both
            norms[:, start + shift :] = both
        return norms


class Network:
    """All layers, the regression layer, and one training step.

    Parameters
    ----------
    shapes : list of LayerShape
    weights : list of tensor
        Initial weights per layer, (runs, branches, inputs), and last those of the regression layer,
        (runs, 1, features).
    batch_size : int
        Rows per step.
    """

    def __init__(self, shapes: list[LayerShape], weights: list[Tensor], batch_size: int) -> None:
        n_variables = shapes[0].inputs
        total = shapes[-1].inputs + len(shapes[-1].units)
        runs = weights[0].shape[0]
        self.features = torch.zeros(runs, total, batch_size, dtype=weights[0].dtype)
        self.slopes = torch.zeros_like(self.features)
        self.variables = self.features[:, :n_variables]
        self.output = weights[-1].clone()
        self.alive = torch.ones(runs, dtype=torch.bool)
        masks = exp_mask(shapes, n_variables)
        self.layers = [
            Layer(shape, weight, mask.to(weight.dtype), (self.features, self.slopes))
            for shape, weight, mask in zip(shapes, weights[:-1], masks, strict=True)
        ]
        self._output_gradient = torch.zeros_like(self.output)

    def loss_gradient(self, X: Tensor, y: Tensor) -> Tensor:
        """Fill all gradients of the mean squared error on a batch and return that error per run.

        `X` is (runs, variables, batch), `y` (runs, 1, batch).
        """
        self.variables.copy_(X)
        for layer in self.layers:
            layer.forward()
        residual = torch.bmm(self.output, self.features).sub_(y)
        error: Tensor = torch.linalg.vector_norm(residual, dim=2).square_()[:, 0] / y.shape[2]
        residual.mul_(2.0 / y.shape[2])
        torch.bmm(residual, self.features.transpose(1, 2), out=self._output_gradient)
        self._output_gradient.clamp_(-STEEPEST, STEEPEST)
        torch.mul(self.output.transpose(1, 2), residual, out=self.slopes)
        for index in range(len(self.layers) - 1, -1, -1):
            self.layers[index].backward(first=index == 0)
        return error

    def step(self, X: Tensor, y: Tensor, rate: float, penalties: tuple[float, float]) -> Tensor:
        """Make one normalised step of every unit; return the squared error per run before it.

        A run whose gradient is not finite stops here for good, with the weights it had.
        """
        error = self.loss_gradient(X, y)
        norms = [torch.linalg.vector_norm(self._output_gradient, dim=2)]
        for layer in self.layers:
            layer.add_penalties(*penalties)
            norms.append(layer.unit_norms())
        finite = torch.isfinite(error)
        for norm in norms:
            finite &= torch.isfinite(norm.sum(dim=1))
        self.alive &= finite
        gradients = [self._output_gradient, *(layer.gradient for layer in self.layers)]
        weights = [self.output, *(layer.weights for layer in self.layers)]
        if not bool(self.alive.all()):
            stopped = ~self.alive
            for norm, gradient in zip(norms, gradients, strict=True):
                norm[stopped] = 1.0
                gradient[stopped] = 0.0
        for weight, gradient, norm in zip(weights, gradients, norms, strict=True):
            weight.addcmul_(gradient, norm.add_(EPSILON).reciprocal_()[:, :, None], value=-rate)
        return error
