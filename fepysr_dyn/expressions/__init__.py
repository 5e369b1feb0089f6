"""Sympy in and out: safe parsing, text, canonical form, complexity, compilation, equivalence."""

from fepysr_dyn.expressions.canonical import canonical, complexity
from fepysr_dyn.expressions.compiling import Template, compile_expression, compile_scalar, free_constants
from fepysr_dyn.expressions.equivalence import constants_for, equivalent, same_structure
from fepysr_dyn.expressions.parsing import RESERVED_NAMES, is_name, parse
from fepysr_dyn.expressions.printing import to_text

__all__ = [
    "RESERVED_NAMES",
    "Template",
    "canonical",
    "compile_expression",
    "compile_scalar",
    "complexity",
    "constants_for",
    "equivalent",
    "free_constants",
    "is_name",
    "parse",
    "same_structure",
    "to_text",
]
