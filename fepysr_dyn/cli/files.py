"""Files a command writes on request: where they go is checked before the work, they are written after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fepysr_dyn.cli.output import print_text
from fepysr_dyn.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

FIGURE_KINDS = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Files:
    """A table of series and a figure, either or both."""

    out: Path | None = None
    plot: Path | None = None

    def __post_init__(self) -> None:
        from fepysr_dyn.trajectories.writing import check_writable, writer_for

        if self.out is not None:
            writer_for(self.out)
        if self.plot is not None:
            if self.plot.suffix.lower() not in FIGURE_KINDS:
                kinds = ", ".join(FIGURE_KINDS)
                raise OptionError(f"{self.plot}: expected a file name that ends in one of {kinds}")
            check_writable(self.plot)

    def write(self, experiments: Iterable[xr.Dataset]) -> None:
        """Write the series, if asked for."""
        from fepysr_dyn.trajectories.writing import writer_for

        if self.out is not None:
            writer_for(self.out)(experiments, self.out)

    def draw(self, make: Callable[[], Figure]) -> None:
        """Make and save the figure, if asked for."""
        from fepysr_dyn.trajectories.writing import not_written

        if self.plot is not None:
            try:
                make().savefig(self.plot)
            except OSError as error:
                raise not_written(self.plot, error) from None

    def report(self) -> None:
        """Tell a person what was written."""
        for path in (self.out, self.plot):
            if path is not None:
                print_text(f"written: {path}")
