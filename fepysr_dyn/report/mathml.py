"""Formulas as MathML that browsers typeset by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import sympy
from markupsafe import Markup

from fepysr_dyn.expressions import complexity, to_text
from fepysr_dyn.expressions.reals import function_nesting
from fepysr_dyn.report.markup import Element, element, markup
from fepysr_dyn.report.math_parts import brackets, euler, name_of, operator

#: What is printed below the left of an operator needs brackets.
_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4
_FUNCTIONS = {"log": "ln", "Min": "min", "Max": "max", "sign": "sgn"}
_RELATIONS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "=", "!=": "≠"}
#: Sums of functions nested deeper than this keep sympy's internal order, as in `to_text`.
_MOST_ORDERED = 3
#: An exponent of more nodes is too small to read: exp( ) is written instead.
_LONGEST_EXPONENT = 12
#: A larger formula is shown as text: nobody reads it typeset.
_LARGEST = 400
_LONGEST_TEXT = 2000
_THIN = "0.17em"


def math(expression: sympy.Expr, *, digits: int = 6) -> Markup:
    """Return a formula as one ``math`` element, constants rounded to so many digits."""
    return markup(_math(_Printer(digits).whole(expression)))


def formula(expression: sympy.Expr, *, digits: int = 6) -> Markup:
    """Return a formula as a span of ``math`` elements, one a term: between them a narrow page may break."""
    return markup(element("span", *_spaced([_math(term) for term in _Printer(digits).terms(expression)])))


def name_math(name: str) -> Markup:
    """Return a variable's name as one ``math`` element."""
    return markup(_math(name_of(name)))


def equation(state: str, rate: sympy.Expr, *, digits: int = 6) -> Markup:
    """Return dx/dt = rate as a span of ``math`` elements, between which a narrow page may break.

    Examples
    --------
    >>> equation("x", -2 * sympy.Symbol("x")).count("<math")
    2
    """
    top = element("mrow", element("mi", "d", mathvariant="normal"), name_of(state))
    bottom = element("mrow", element("mi", "d", mathvariant="normal"), element("mi", "t"))
    left = element("mrow", element("mfrac", top, bottom), operator("="))
    parts = [_math(left, class_="left")]
    parts += [_math(term) for term in _Printer(digits).terms(rate)]
    label = f"d{state}/dt = {to_text(rate)}"
    return markup(
        element("span", *_spaced(parts), class_="equation", role="math", aria_label=label[:_LONGEST_TEXT])
    )


class _Printer:
    """Turns expressions into elements; every method returns an element and how tightly it binds."""

    def __init__(self, digits: int) -> None:
        self._digits = digits
        self._in_exponent = False

    def whole(self, expression: sympy.Expr) -> Element:
        """Return a formula in one piece."""
        return element("mrow", *self.terms(expression, "infix"))

    def terms(self, expression: sympy.Expr, form: str = "leading") -> list[Element]:
        """Return the terms of a sum, each with its sign."""
        if complexity(expression) > _LARGEST:
            return [element("mtext", to_text(expression)[:_LONGEST_TEXT])]
        try:
            return self._terms(expression, form)
        except RecursionError:
            return [element("mtext", to_text(expression)[:_LONGEST_TEXT])]

    def _terms(self, expression: sympy.Expr, form: str = "infix") -> list[Element]:
        parts = []
        for index, term in enumerate(_ordered_terms(expression)):
            negative, size = _sign(term)
            has_sign = term.is_Mul or term.is_Pow or term.is_Number
            made = self.product(term, size) if has_sign else self.any(term)
            shown = self._bracketed(*made, least=_PRODUCT)
            if index:
                parts.append(element("mrow", operator("−" if negative else "+", form), shown))
            else:
                parts.append(element("mrow", operator("−", "prefix"), shown) if negative else shown)
        return parts

    def sum(self, expression: sympy.Expr) -> tuple[Element, int]:
        """Return a sum, or a term with a minus sign."""
        parts = self._terms(expression)
        negative = _sign(_ordered_terms(expression)[0])[0]
        return element("mrow", *parts), _SUM if len(parts) > 1 or negative else _PRODUCT

    def any(self, expression: sympy.Expr) -> tuple[Element, int]:
        """Return any expression."""
        if expression.is_Symbol:
            return name_of(str(expression)), _ATOM
        if expression.is_Add or _sign(expression)[0]:
            return self.sum(expression)
        if expression.is_Number or expression.is_Mul or expression.is_Pow:
            return self.product(expression)
        return self._function(expression)

    def product(self, expression: sympy.Expr, coefficient: sympy.Expr | None = None) -> tuple[Element, int]:
        """Return a product of positive coefficient as factors over factors."""
        number, factors = (
            (expression, ()) if expression.is_Number else expression.as_coeff_mul(rational=False)
        )
        number = number if coefficient is None else coefficient
        over: list[tuple[sympy.Expr, sympy.Expr]] = []
        under: list[tuple[sympy.Expr, sympy.Expr]] = []
        if number.is_Rational:
            over += [(sympy.Integer(number.p), sympy.S.One)] if number.p != 1 else []
            under += [(sympy.Integer(number.q), sympy.S.One)] if number.q != 1 else []
        elif float(number) != 1.0:
            over.append((number, sympy.S.One))
        for factor in factors:
            base, exponent = (factor.base, factor.exp) if factor.is_Pow else (factor, sympy.S.One)
            if exponent.is_Number and exponent.is_negative:
                under.append((base, -exponent))
            else:
                over.append((base, exponent))
        if not under:
            return self._factors(over)
        alone = len(over) <= 1 and len(under) == 1
        if self._in_exponent and alone:
            top, _ = self._factors(over)
            bottom = self._bracketed(*self._factors(under), least=_POWER)
            return element("mrow", self._raised(top, over), operator("/"), bottom), _PRODUCT
        return element("mfrac", self._factors(over)[0], self._factors(under)[0]), _PRODUCT

    def _raised(self, top: Element, over: list[tuple[sympy.Expr, sympy.Expr]]) -> Element:
        """Bracket a sum that stands before a slash."""
        if len(over) == 1 and over[0][0].is_Add and over[0][1] == 1:
            return brackets(top)
        return top

    def _factors(self, factors: Sequence[tuple[sympy.Expr, sympy.Expr]]) -> tuple[Element, int]:
        if not factors:
            return element("mn", "1"), _ATOM
        if len(factors) == 1:
            return self._power(*factors[0])
        parts: list[Element] = []
        for index, (base, exponent) in enumerate(factors):
            shown = self._bracketed(*self._power(base, exponent), least=_PRODUCT)
            if index:
                number = base.is_Number or (base.is_Pow and base.base.is_Number)
                parts.append(operator("·") if number else element("mspace", width=_THIN))
            parts.append(shown)
        return element("mrow", *parts), _PRODUCT

    def _power(self, base: sympy.Expr, exponent: sympy.Expr) -> tuple[Element, int]:
        if exponent == 1:
            return self._number(base) if base.is_Number and not base.is_negative else self.any(base)
        if exponent.is_Rational and exponent.p == 1:
            inside, _ = self.any(base)
            if exponent.q == 2:
                return element("msqrt", inside), _ATOM
            return element("mroot", inside, element("mn", str(exponent.q))), _ATOM
        shown = self._bracketed(*self._power(base, sympy.S.One), least=_ATOM)
        if shown.tag == "msub":
            return element("msubsup", *shown, self._exponent(exponent)), _POWER
        return element("msup", shown, self._exponent(exponent)), _POWER

    def _exponent(self, expression: sympy.Expr) -> Element:
        before, self._in_exponent = self._in_exponent, True
        try:
            return self.any(expression)[0]
        finally:
            self._in_exponent = before

    def _number(self, number: sympy.Expr) -> tuple[Element, int]:
        if number.is_Integer:
            return element("mn", str(number)), _ATOM
        if number.is_Rational:
            return self.product(number)
        if not number.is_finite:
            return element("mtext", str(number)), _ATOM
        mantissa, _, power = f"{float(number):.{self._digits}g}".partition("e")
        if not power:
            return element("mn", mantissa), _ATOM
        size = element("mn", str(abs(int(power))))
        raised = element("mrow", operator("−", "prefix"), size) if int(power) < 0 else size
        ten = element("msup", element("mn", "10"), raised)
        return (
            (ten, _POWER)
            if mantissa == "1"
            else (element("mrow", element("mn", mantissa), operator("·"), ten), _PRODUCT)
        )

    def _function(self, expression: sympy.Expr) -> tuple[Element, int]:
        if expression is sympy.S.Pi:
            return element("mi", "π"), _ATOM
        if expression is sympy.S.Exp1:
            return euler(), _ATOM
        if isinstance(expression, sympy.exp) and complexity(expression.args[0]) <= _LONGEST_EXPONENT:
            return element("msup", euler(), self._exponent(expression.args[0])), _POWER
        if isinstance(expression, sympy.Abs):
            inside, _ = self.any(expression.args[0])
            bar = {"stretchy": "true", "fence": "true"}
            return element("mrow", element("mo", "|", **bar), inside, element("mo", "|", **bar)), _ATOM
        if isinstance(expression, sympy.Piecewise):
            return self._piecewise(expression), _SUM
        if not isinstance(expression, sympy.Function):
            return element("mtext", to_text(expression)[:_LONGEST_TEXT]), _SUM
        name = type(expression).__name__
        arguments: list[Element] = []
        for index, argument in enumerate(expression.args):
            arguments += [element("mo", ",")] if index else []
            arguments.append(self.any(argument)[0])
        written = element("mi", _FUNCTIONS.get(name, name), mathvariant="normal")
        return element("mrow", written, brackets(element("mrow", *arguments))), _ATOM

    def _piecewise(self, expression: sympy.Piecewise) -> Element:
        rows = []
        for value, condition in expression.args:
            when = element("mrow", element("mtext", "if "), self._condition(condition))
            if condition is sympy.true:
                when = element("mtext", "otherwise")
            rows.append(element("mtr", element("mtd", self.any(value)[0]), element("mtd", when)))
        brace = element("mo", "{", fence="true", stretchy="true")
        return element("mrow", brace, element("mtable", *rows, class_="cases"))

    def _condition(self, condition: sympy.Basic) -> Element:
        if isinstance(condition, sympy.core.relational.Relational):
            left, right = (self.any(side)[0] for side in condition.args)
            return element("mrow", left, operator(_RELATIONS.get(condition.rel_op, "?")), right)
        if isinstance(condition, sympy.And | sympy.Or):
            word = " and " if isinstance(condition, sympy.And) else " or "
            parts: list[Element] = []
            for index, part in enumerate(condition.args):
                parts += [element("mtext", word)] if index else []
                parts.append(self._condition(part))
            return element("mrow", *parts)
        return element("mtext", str(condition))

    def _bracketed(self, made: Element, binding: int, *, least: int) -> Element:
        return made if binding >= least else brackets(made)


def _sign(term: sympy.Expr) -> tuple[bool, sympy.Expr]:
    """Return whether a term is subtracted, and its coefficient without the sign."""
    number = term.as_coeff_Mul()[0] if not term.is_Number else term
    return bool(number.is_negative), abs(number)


def _ordered_terms(expression: sympy.Expr) -> list[sympy.Expr]:
    if not expression.is_Add:
        return [expression]
    if function_nesting(expression) > _MOST_ORDERED:
        return list(expression.args)
    return list(expression.as_ordered_terms())


def _math(inside: Element, class_: str | None = None) -> Element:
    return element("math", inside, class_=class_, displaystyle="true")


def _spaced(parts: list[Element]) -> list[Element | str]:
    spaced: list[Element | str] = []
    for part in parts:
        spaced += [part, " "]
    return spaced[:-1]
