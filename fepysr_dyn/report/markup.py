"""Elements of SVG and MathML; ElementTree escapes whatever comes from data."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from markupsafe import Markup

Element = ET.Element


def element(tag: str, /, *children: Element | str | None, **attributes: object) -> Element:
    """Return an element; `class_` is the attribute class, `_` in other names stands for a hyphen.

    Examples
    --------
    >>> str(markup(element("text", "a < b", class_="label", text_anchor="end")))
    '<text class="label" text-anchor="end">a &lt; b</text>'
    """
    made = ET.Element(tag)
    for name, value in attributes.items():
        if value is not None:
            made.set("viewBox" if name == "viewBox" else name.rstrip("_").replace("_", "-"), _text(value))
    for child in children:
        if isinstance(child, str):
            _append_text(made, child)
        elif child is not None:
            made.append(child)
    return made


def markup(made: Element) -> Markup:
    """Return an element as text that a template does not escape again."""
    return Markup(ET.tostring(made, encoding="unicode"))  # noqa: S704 (escaped by ElementTree)


def _append_text(made: Element, text: str) -> None:
    if len(made):
        made[-1].tail = (made[-1].tail or "") + text
    else:
        made.text = (made.text or "") + text


def _text(value: object) -> str:
    """Return an attribute's value; a tenth of a unit is finer than anybody sees."""
    if isinstance(value, float):
        return f"{round(value, 1):g}"
    return str(value)
