"""Options of the evolution engine."""

from __future__ import annotations

from dataclasses import dataclass

from fepysr_dyn.errors import OptionError


@dataclass(frozen=True)
class EvolutionConfig:
    """How the population is kept and changed.

    Parameters
    ----------
    islands : int
        Populations that evolve apart and exchange individuals between epochs.
    population : int
        Individuals of an island.
    tournament : int
        Individuals that compete to become a parent.
    archive_share : float
        How often a parent comes from the archive of different kinds of expressions.
    parsimony : float
        How strongly complexities that are already common are held back.
    skeleton_share : float
        How often solving backwards starts from a small expression instead of an individual.
    pair_share : float
        How often a lookup in the library tries all pairs of cheap entries instead of one entry at a time.
    library : int
        Small expressions kept for solving backwards.
    screening_rows : int
        Rows on which the library is looked up.
    search_rows : int
        Rows on which the search runs, if there are more; the front is always fitted on all rows.
    epoch : int
        Evaluations of an island between two exchanges.
    resolution : float
        Loss relative to the target's variance at which a formula counts as exact.
    """

    islands: int = 6
    population: int = 100
    tournament: int = 8
    archive_share: float = 0.3
    parsimony: float = 20.0
    skeleton_share: float = 0.4
    pair_share: float = 0.15
    library: int = 3_000
    screening_rows: int = 64
    search_rows: int = 2_000
    epoch: int = 4_000
    resolution: float = 1e-24

    def __post_init__(self) -> None:
        """Refuse what cannot run."""
        least = {"islands": 1, "population": 4, "tournament": 1, "library": 1, "screening_rows": 8}
        least |= {"search_rows": 8, "epoch": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise OptionError(f"evolution: {name} must be at least {value}, got {getattr(self, name)}")
        for name in ("archive_share", "skeleton_share", "pair_share"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise OptionError(f"evolution: {name} must lie in [0, 1], got {getattr(self, name)}")
        if self.parsimony < 0.0:
            raise OptionError(f"evolution: parsimony must not be negative, got {self.parsimony}")
        if not self.resolution > 0.0:
            raise OptionError(f"evolution: resolution must be positive, got {self.resolution}")
