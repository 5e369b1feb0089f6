"""Settings of stage 1 and its two presets."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from fepysr_dyn.errors import OptionError, did_you_mean
from fepysr_dyn.features.operators import OPERATORS, operator_names

PAPER_OPERATORS = ("square", "sin", "cos", "exp", "add", "mul")


@dataclass(frozen=True)
class FmnConfig:
    """Settings of the feature mapping network.

    Parameters
    ----------
    operators : tuple of str
        Kinds of units in every layer; see `fepysr_dyn.features.operators.OPERATORS`.
    layer_operators : tuple of tuple of str, optional
        Kinds of units layer by layer; decides the depth and replaces `operators`.
    copies : int
        Units per operator and layer.
    depth : int, optional
        Number of layers; 3 for one variable and 4 for several if not given.
    runs, epochs, batch_size : int
        Independent trainings, passes over the data, rows per step.
    learning_rate : float
        Length of the step of each unit.
    schedule : {"constant", "cosine"}
        How the step length develops over the epochs.
    sparsity, contrast : float
        Coefficients of the L1 penalty and of the cosine between branches (λ1 and λ2 of the paper).
    initial : {"dense", "sparse"}
        Initial weights: normal, or one random dominant input per branch.
    standardise : bool
        Train on columns and target divided by their spread.
    max_rows : int
        Rows used for training and ranking, evenly spread if there are more.
    ranking : {"count", "contribution"}
        By number of occurrences, or by what a feature adds to a sparse fit, given the occurrences.
    top, keep : int
        Features selected by default, and features kept in the library.
    """

    operators: tuple[str, ...] = PAPER_OPERATORS
    layer_operators: tuple[tuple[str, ...], ...] | None = None
    copies: int = 4
    depth: int | None = None
    runs: int = 16
    epochs: int = 100
    batch_size: int = 50
    learning_rate: float = 0.5
    schedule: str = "constant"
    sparsity: float = 0.08
    contrast: float = 0.001
    initial: str = "dense"
    standardise: bool = False
    max_rows: int = 20_000
    ranking: str = "count"
    top: int = 4
    keep: int = 50

    def __post_init__(self) -> None:
        """Resolve operator names and refuse values that make no sense."""
        object.__setattr__(self, "operators", operator_names(self.operators))
        if self.layer_operators is not None:
            layers = tuple(operator_names(layer) for layer in self.layer_operators)
            object.__setattr__(self, "layer_operators", layers)
        for name in ("copies", "runs", "epochs", "batch_size", "max_rows", "top", "keep"):
            _at_least_one(name, getattr(self, name))
        if self.depth is not None:
            _at_least_one("depth", self.depth)
        if not self.learning_rate > 0:
            raise OptionError(f"learning_rate must be positive, got {self.learning_rate}")
        if self.sparsity < 0 or self.contrast < 0:
            raise OptionError(f"penalties must not be negative, got {self.sparsity} and {self.contrast}")
        _one_of("schedule", self.schedule, ("constant", "cosine"))
        _one_of("initial", self.initial, ("dense", "sparse"))
        _one_of("ranking", self.ranking, ("count", "contribution"))
        if not self.operators or (self.layer_operators is not None and not all(self.layer_operators)):
            raise OptionError("every layer needs at least one operator, got none")

    def layers(self, n_variables: int) -> tuple[tuple[str, ...], ...]:
        """Operators layer by layer, unary before binary.

        With one variable the first layer has unary units only, as nothing new comes of combining a
        variable with itself.
        """
        depth = self.depth or (3 if n_variables == 1 else 4)
        layers = self.layer_operators or (self.operators,) * depth
        if n_variables == 1:
            unary = tuple(name for name in layers[0] if OPERATORS[name].arity == 1)
            layers = (unary or layers[0], *layers[1:])
        return tuple(
            tuple(sorted(layer, key=lambda name: (OPERATORS[name].arity, not OPERATORS[name].symmetric)))
            for layer in layers
        )


def _at_least_one(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(f"{name} must be a whole number of at least 1, got {value!r}")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise OptionError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


#: The paper to the letter, and what finds more valid features.
PRESETS: dict[str, FmnConfig] = {
    "paper": FmnConfig(),
    "default": FmnConfig(
        runs=32,
        epochs=40,
        learning_rate=0.1,
        schedule="cosine",
        initial="sparse",
        standardise=True,
        max_rows=1_000,
        ranking="contribution",
        top=10,
    ),
}


def resolve_config(preset: str, config: FmnConfig | None, **changes: Any) -> FmnConfig:
    """Return the settings of a preset or a given config, with single values changed."""
    if preset not in PRESETS:
        hint = did_you_mean(preset, PRESETS) or f"; choose among {', '.join(PRESETS)}"
        raise OptionError(f"unknown preset '{preset}'{hint}")
    known = {entry.name for entry in fields(FmnConfig)}
    for name in changes:
        if name not in known:
            raise OptionError(f"unknown setting '{name}'{did_you_mean(name, known)}")
    return replace(config or PRESETS[preset], **changes)
