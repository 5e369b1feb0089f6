r"""OdeSystem to LaTeX: an align environment, names typeset with Greek letters and indices."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import sympy
from sympy.printing.latex import LatexPrinter

from fepysr_dyn.exchange.driving import pieces_of
from fepysr_dyn.expressions.reals import function_nesting
from fepysr_dyn.stimulus import Sine, Stimulus
from fepysr_dyn.system import OdeSystem

_GREEK = frozenset(
    {
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda"),
        *("mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "Gamma"),
        *("Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega", "varepsilon"),
        *("vartheta", "varphi", "varrho"),
    }
)
_MOST_ORDERED = 3
_PARTS = re.compile(r"[A-Za-z]+|[0-9]+")
_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
}


def to_latex(system: OdeSystem) -> str:
    r"""Return the equations of a system as an ``align*`` environment (package amsmath).

    Examples
    --------
    >>> from fepysr_dyn import load_model
    >>> print(to_latex(load_model("van_der_pol")).splitlines()[2])
      \frac{\mathrm{d}x}{\mathrm{d}t} &= y \\
    """
    rows = [
        rf"\frac{{\mathrm{{d}}{name_in_latex(name)}}}{{\mathrm{{d}}t}} &= {expression_in_latex(rate)}"
        for name, rate in system.rates.items()
    ]
    rows += [
        f"{name_in_latex(name)} &= {expression_in_latex(value)}" for name, value in system.assignments.items()
    ]
    rows += [f"{name_in_latex(name)}(t) &= {_stimulus(name, s)}" for name, s in system.inputs.items()]
    rows += _values(system.parameters.items(), "")
    rows += _values(system.initial.items(), "(0)")
    body = " \\\\\n".join(f"  {row}" for row in rows)
    title = _escaped(system.title or system.name)
    return f"% {title}\n\\begin{{align*}}\n{body}\n\\end{{align*}}\n"


def name_in_latex(name: str) -> str:
    r"""Return a name typeset: Greek letters, words upright, digits and what follows _ as an index.

    Examples
    --------
    >>> name_in_latex("gamma1"), name_in_latex("k_on"), name_in_latex("IPTG")
    ('\\gamma_{1}', 'k_{\\mathrm{on}}', '\\mathrm{IPTG}')
    """
    parts = _PARTS.findall(name)
    if not parts or name[0] == "_":
        return rf"\mathrm{{{_escaped(name)}}}"
    head, *index = (_letters(part) for part in parts)
    return f"{head}_{{{','.join(index)}}}" if index else head


def expression_in_latex(expression: sympy.Expr, *, flat: bool = False) -> str:
    """Return a formula typeset, short fractions in a line if `flat`."""
    # Ordering the terms of deeply nested functions takes sympy exponential time.
    order = "none" if function_nesting(expression) > _MOST_ORDERED else None
    settings = {"ln_notation": True, "order": order, "fold_short_frac": flat}
    return str(_Printer(settings).doprint(expression))


class _Printer(LatexPrinter):  # type: ignore[misc]
    """sympy's own printer with our names and numbers."""

    def _print_Symbol(self, expr: sympy.Symbol, style: str = "plain") -> str:  # noqa: N802
        return name_in_latex(expr.name)

    def _print_Float(self, expr: sympy.Float) -> str:  # noqa: N802
        return number_in_latex(float(expr))


def number_in_latex(value: float, digits: int = 6) -> str:
    r"""Return a number, with a power of ten where it is very large or small.

    Examples
    --------
    >>> number_in_latex(1.5e-7), number_in_latex(-0.25)
    ('1.5 \\cdot 10^{-7}', '-0.25')
    """
    mantissa, sign, exponent = f"{value:.{digits}g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if sign else mantissa


def _letters(part: str) -> str:
    if part in _GREEK:
        return f"\\{part}"
    return part if len(part) == 1 or part.isdigit() else rf"\mathrm{{{part}}}"


def _stimulus(name: str, stimulus: Stimulus) -> str:
    if isinstance(stimulus, Sine):
        wave = (
            rf"\sin\left({number_in_latex(2 * math.pi / stimulus.period)}\,t{_signed(stimulus.phase)}\right)"
        )
        start = number_in_latex(stimulus.offset) + " + " if stimulus.offset else ""
        return rf"{start}{number_in_latex(stimulus.amplitude)}\,{wave}"
    pieces = pieces_of(name, stimulus) or ()
    if len(pieces) == 1:
        return number_in_latex(pieces[0].value)
    cases = []
    for index, piece in enumerate(pieces):
        line = number_in_latex(piece.value)
        if piece.slope:
            line += rf"{_signed(piece.slope)}\,(t{_signed(-piece.start)})"
        last = index == len(pieces) - 1
        when = r"\text{otherwise}" if last else f"t < {number_in_latex(pieces[index + 1].start)}"
        cases.append(f"{line} & {when}")
    return r"\begin{cases} " + r" \\ ".join(cases) + r" \end{cases}"


def _signed(value: float) -> str:
    if value == 0:
        return ""
    return f" {'-' if value < 0 else '+'} {number_in_latex(abs(value))}"


def _values(values: Iterable[tuple[str, float]], suffix: str) -> list[str]:
    """Return rows of values, four in a row."""
    texts = [f"{name_in_latex(name)}{suffix} = {number_in_latex(value)}" for name, value in values]
    return ["& " + r",\quad ".join(texts[i : i + 4]) for i in range(0, len(texts), 4)]


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(sign, sign if sign.isprintable() else " ") for sign in text)
