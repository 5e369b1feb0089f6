"""Systems to and from the formats of other programs: SBML, Antimony, LaTeX, plain Python, PEtab."""

from fepysr_dyn.exchange.antimony_writing import to_antimony
from fepysr_dyn.exchange.formats import FORMATS, exported, format_named, format_of
from fepysr_dyn.exchange.latex import to_latex
from fepysr_dyn.exchange.petab_writing import write_petab
from fepysr_dyn.exchange.python_writing import to_python
from fepysr_dyn.exchange.sbml_reading import from_antimony, from_sbml
from fepysr_dyn.exchange.sbml_writing import to_sbml

__all__ = [
    "FORMATS",
    "exported",
    "format_named",
    "format_of",
    "from_antimony",
    "from_sbml",
    "to_antimony",
    "to_latex",
    "to_python",
    "to_sbml",
    "write_petab",
]
