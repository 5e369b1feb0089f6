"""OdeSystem to Antimony: the same rules and events as in SBML, as text that people read."""

from __future__ import annotations

from collections.abc import Iterable

import sympy

from fepysr_dyn.exchange.driving import formula_of, is_level, pieces_of
from fepysr_dyn.exchange.infix import InfixPrinter
from fepysr_dyn.exchange.mathml import TIME
from fepysr_dyn.exchange.rewriting import without_choices
from fepysr_dyn.exchange.sbml_writing import conditions, free_name, identifier
from fepysr_dyn.system import OdeSystem

#: Words that Antimony keeps for itself; a symbol of that name gets _ behind it.
RESERVED = frozenset(
    {
        *("DNA", "FALSE", "False", "INF", "NAN", "NaN", "TRUE", "True", "abs", "acos", "acosh", "acot"),
        *("acoth", "acsc", "acsch", "after", "and", "arccos", "arccosh", "arccot", "arccoth", "arccsc"),
        *("arccsch", "arcsec", "arcsech", "arcsin", "arcsinh", "arctan", "arctanh", "area", "asec"),
        *("asech", "asin", "asinh", "at", "atan", "atanh", "avogadro", "bernoulli", "binomial", "cauchy"),
        *("ceil", "ceiling", "chisquare", "compartment", "const", "constraint", "cos", "cosh", "cot"),
        *("coth", "csc", "csch", "delay", "delete", "divide", "end", "eq", "event", "exp", "exponential"),
        *("exponentiale", "factorial", "false", "floor", "formula", "function", "gamma", "gene", "geq"),
        *("gt", "has", "implies", "import", "in", "inf", "infinity", "is", "laplace", "length", "leq"),
        *("ln", "log", "log10", "lognormal", "lt", "max", "maximize", "min", "minimize", "minus", "model"),
        *("module", "nan", "neq", "normal", "not", "notanumber", "operator", "or", "pi", "piecewise"),
        *("plus", "poisson", "pow", "power", "quotient", "rateOf", "rayleigh", "reaction", "rem", "root"),
        *("sec", "sech", "sin", "sinh", "species", "sqr", "sqrt", "substance", "substanceOnly", "tan"),
        *("tanh", "time", "times", "true", "truncatedNormal", "truncatedPoisson", "uniform", "unit", "var"),
        *("volume", "xor"),
    }
)
_FUNCTIONS = {"exp": "exp", "log": "ln", "Abs": "abs", "atan": "arctan"}


def to_antimony(system: OdeSystem, experiment: str | None = None) -> str:
    """Return a system as Antimony text.

    Parameters
    ----------
    experiment : str, optional
        Take the initial values and inputs of this experiment of the protocol; the system's own if not given.

    Examples
    --------
    >>> from fepysr_dyn import load_model
    >>> print(to_antimony(load_model("van_der_pol")).splitlines()[2])
      x' = y;
    """
    initial, inputs = conditions(system, experiment)
    names = antimony_names(system.symbols)
    printer = _AntimonyPrinter(_FUNCTIONS, names)

    def text(expression: sympy.Expr) -> str:
        return str(printer.doprint(without_choices(expression)))

    def called(name: str) -> str:
        return names.get(name, name)

    called_model = free_name(identifier(system.name), {*RESERVED, *system.symbols, *names.values()})
    lines = [f"// {_one_line(system.title or system.name)}", f"model {called_model}()"]
    lines += [f"  {called(name)}' = {text(rate)};" for name, rate in system.rates.items()]
    lines += [f"  {called(name)} := {text(value)};" for name, value in system.assignments.items()]
    lines += [f"  {called(name)} = {float(value)!r};" for name, value in initial.items()]
    lines += [f"  {called(name)} = {float(value)!r};" for name, value in system.parameters.items()]
    steps = 0
    for name, stimulus in inputs.items():
        pieces = pieces_of(name, stimulus)
        if pieces is None or not is_level(pieces):
            lines.append(f"  {called(name)} := {text(formula_of(name, stimulus, TIME))};")
            continue
        lines.append(f"  {called(name)} = {float(stimulus([0.0])[0])!r};")
        for piece in pieces[1:]:
            if piece.start > 0:
                steps += 1
                event = free_name(f"step_{steps}", {*system.symbols, *names.values()})
                lines.append(f"  {event}: at (time >= {piece.start!r}): {called(name)} = {piece.value!r};")
    changed = [f"  // '{name}' is called {new}: the word is reserved" for name, new in names.items()]
    varying = [called(name) for name in (*system.rates, *system.assignments, *inputs)]
    declared = [f"  var {name};" for name in varying]
    return "\n".join([*lines, *declared, *changed, "end", ""])


class _AntimonyPrinter(InfixPrinter):
    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:  # noqa: N802
        return self._power(expr, "^")

    def _print_Piecewise(self, expr: sympy.Piecewise) -> str:  # noqa: N802
        parts = [part for pair in expr.args for part in pair][:-1]
        return f"piecewise({', '.join(self._print(part) for part in parts)})"

    def _print_And(self, expr: sympy.And) -> str:  # noqa: N802
        return self._joined(expr, " && ")

    def _print_Or(self, expr: sympy.Or) -> str:  # noqa: N802
        return self._joined(expr, " || ")


def antimony_names(symbols: Iterable[str]) -> dict[str, str]:
    """Return other names for the symbols that Antimony does not accept."""
    taken = set(symbols)
    names: dict[str, str] = {}
    for name in symbols:
        if name in RESERVED and "truncated" not in name:
            names[name] = free_name(f"{name}_", taken)
        elif "truncated" in name:
            # Antimony takes truncatedNormal for its own even within a longer name.
            names[name] = free_name(name.replace("truncated", "truncated_"), taken)
    return names


def _one_line(text: str) -> str:
    """Return text that cannot end a comment."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
