"""Numbers as people read them in a report."""

from __future__ import annotations

import math

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: What stands where there is no number.
NONE = "–"


def short(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits.

    Examples
    --------
    >>> short(0.000123456), short(4.97974e-15), short(float("inf")), short(-2.0)
    ('0.000123', '4.98·10⁻¹⁵', '–', '−2')
    """
    if value is None or not math.isfinite(value):
        return NONE
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    text = f"{mantissa}·10{str(int(power)).translate(_SUPERSCRIPTS)}" if power else mantissa
    return text.replace("-", "−")


def r2_text(value: float | None) -> str:
    """Return an R² cut, not rounded, after four digits: 1 is only said of what is 1 to rounding.

    Examples
    --------
    >>> r2_text(0.99999), r2_text(1 - 1e-14), r2_text(float("-inf"))
    ('0.9999', '1', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if value > 1 - 1e-9:
        return "1"
    return f"{math.floor(value * 1e4) / 1e4:.4f}".replace("-", "−")


def with_error(value: float, error: float) -> tuple[str, str]:
    """Return a constant and its standard error to the digits that the error leaves.

    Examples
    --------
    >>> with_error(0.123456, 0.0021), with_error(2.0, float("nan")), with_error(1234.5, 0.3)
    (('0.1235', '0.0021'), ('2', '–'), ('1234.50', '0.30'))
    """
    if not (math.isfinite(error) and error > 0 and math.isfinite(value) and value):
        return short(value, 8), short(error, 2)
    decimals = 1 - math.floor(math.log10(error))
    if not 0 <= decimals <= 8 or abs(value) >= 1e6:
        digits = math.floor(math.log10(abs(value))) + decimals + 1
        return short(value, min(15, max(2, digits))), short(error, 2)
    return f"{value:.{decimals}f}".replace("-", "−"), f"{error:.{decimals}f}"


def listed(names: list[str]) -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}" if names else ""
