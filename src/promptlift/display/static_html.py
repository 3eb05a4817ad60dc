"""Static HTML of messages, tables and small bars, for output that runs no script.

A widget's static fallback is built from these elements. They keep their meaning when inline styles are
removed (GitHub), when JavaScript is off, and when a page typesets mathematics (exported notebooks).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from markupsafe import Markup, escape

from promptlift.schema.inert import shorten, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from promptlift.display.turn import Turn

Tone = Literal["plain", "good", "bad", "warn", "accent"]

# Dark enough for white paper and light enough for dark themes; the same hues as the plots.
_TONES: Final[dict[str, str]] = {
    "plain": "#6b7683",
    "good": "#00896a",
    "bad": "#c85200",
    "warn": "#a87900",
    "accent": "#2b83ba",
}
_LINE: Final = "rgba(128,128,128,.35)"
_CELL: Final = f"text-align:left;vertical-align:top;padding:4px 12px 4px 0;border-bottom:1px solid {_LINE}"
_NUMBER: Final = _CELL.replace("left", "right", 1) + ";white-space:nowrap;font-variant-numeric:tabular-nums"
_TEXT: Final = "unicode-bidi:isolate;overflow-wrap:anywhere"
_TAG: Final = re.compile(r"[a-z][a-z0-9]*")
_ATTRIBUTES: Final = {"style", "class", "open", "title", "lang", "dir", "colspan", "rowspan", "scope"}
_REFUSED: Final = frozenset(("script", "style", "iframe", "object", "embed", "link", "meta", "base"))
_MATHEMATICS: Final = re.compile(r"[$\\]")
_SPACE: Final = Markup(" ")
_BREAK: Final = Markup("<br>")


def text(value: Any, limit: int | None = None) -> Markup:
    """Escape any text from outside, so that HTML shows it verbatim.

    Line breaks become ``<br>``. Dollar signs and backslashes get elements of their own, because notebooks
    typeset the text between them, and typeset mathematics may contain links that run a script.

    Parameters
    ----------
    value
        The text; None is empty.
    limit
        Number of characters after which it is cut.
    """
    if isinstance(value, Markup):
        return value
    raw = "" if value is None else str(value)
    shown = visible(raw)
    if limit is not None:
        shown = shorten(shown, limit)[0]
    # One space at either end belongs to a sentence that is assembled from pieces.
    shown = f"{' ' * raw[:1].isspace()}{shown}{' ' * (bool(shown) and raw[-1:].isspace())}"
    safe = _MATHEMATICS.sub(r"<span>\g<0></span>", str(escape(shown)))
    return Markup(safe.replace("\n", "<br>"))  # noqa: S704  escaped in the line above


def element(tag: str, *children: Any, **attributes: str | bool | None) -> Markup:
    """Return an element; children that are not Markup are text.

    Parameters
    ----------
    tag
        Name of the element.
    children
        Its content, in order.
    attributes
        Attributes that style or describe (``class_`` for class). None and False omit one. Attributes that could load
        or run something are refused.

    Raises
    ------
    ValueError
        The tag or an attribute is not allowed on a static page.
    """
    if not _TAG.fullmatch(tag) or tag in _REFUSED:
        raise ValueError(f"Static HTML has no element {tag!r}.")
    written = []
    for name, value in attributes.items():
        plain = name.rstrip("_")
        if plain not in _ATTRIBUTES:
            raise ValueError(f"Static HTML has no attribute {plain!r}.")
        if value is True:
            written.append(f" {plain}")
        elif value not in (None, False):
            written.append(f' {plain}="{escape(visible(value))}"')
    inner = "".join(text(child) for child in children)
    end = "" if tag in {"br", "col", "hr"} else f"</{tag}>"
    return Markup(f"<{tag}{''.join(written)}>{inner}{end}")  # noqa: S704  every part was escaped above


def root(*children: Any) -> Markup:
    """Return the outermost element of a static fallback; nothing inside can be drawn outside it.

    Its classes keep both versions of MathJax away from its content.
    """
    style = (
        "max-width:72rem;overflow-x:auto;overflow-wrap:anywhere;contain:content;font-size:14px;line-height:1.45;"
        "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
    )
    return element("div", *children, style=style, class_="promptlift-static tex2jax_ignore mathjax_ignore")


def paragraph(*children: Any, soft: bool = False) -> Markup:
    """Return a paragraph, in small print when ``soft``."""
    # Not opacity, which would make a badge inside too dark on dark pages.
    style = f"margin:.4em 0;{'color:color-mix(in srgb,currentColor 75%,transparent);font-size:12px' if soft else ''}"
    return element(
        "p", element("small", *children) if soft else Markup("").join(map(text, children)), style=style
    )


def badge(label: Any, tone: Tone = "plain") -> Markup:
    """Return a short label; its colour only repeats what its words say."""
    color = _TONES[tone]
    style = f"color:{color};border:1px solid {color};border-radius:1em;padding:0 .5em;white-space:nowrap"
    return element("strong", text(label, 60), style=style)


def table(
    headers: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    numbers: Sequence[int] = (),
    caption: Any = None,
) -> Markup:
    """Return a table.

    Parameters
    ----------
    headers
        One per column.
    rows
        Cells as text or Markup, one per header.
    numbers
        Positions of numeric columns, which are aligned right.
    caption
        Text above the table.
    """
    styles = [_NUMBER if place in numbers else _CELL for place in range(len(headers))]
    head = [
        element("th", header, style=f"{style};overflow-wrap:break-word", scope="col")
        for header, style in zip(headers, styles, strict=True)
    ]
    body = [
        element("tr", *(element("td", cell, style=style) for cell, style in zip(row, styles, strict=True)))
        for row in rows
    ]
    parts = [element("thead", element("tr", *head)), element("tbody", *body)]
    if caption is not None:
        style = "text-align:left;font-weight:600;padding:.4em 0"
        parts.insert(0, element("caption", caption, style=style))
    return element("table", *parts, style="border-collapse:collapse;margin:.6em 0;font-size:13px")


def facts(pairs: Iterable[tuple[Any, Any]]) -> Markup:
    """Return one line of names and values, without pairs whose value is missing or empty."""
    shown = [
        element("span", element("small", name), _SPACE, element("b", value), style="margin-right:1.2em")
        for name, value in pairs
        if value is not None and value != ""
    ]
    return element("p", _SPACE.join(shown), style="margin:.4em 0")


def transcript(turns: Iterable[Turn]) -> Markup:
    """Return the messages of a conversation, each with its role, in order."""
    return Markup("").join(map(_turn, turns))


def _turn(turn: Turn) -> Markup:
    omitted = f"{turn.cut:,} characters omitted" if turn.cut else ""
    small = " · ".join(part for part in (visible(turn.detail), omitted) if part)
    tone = {"user": "accent", "assistant": "good"}.get(turn.role, "plain")
    style = f"border-left:3px solid {_TONES[tone]};padding:.1em 0 .1em .7em;margin:.5em 0;{_TEXT}"
    head = [element("b", text(turn.role, 30)), *([_SPACE, element("small", small)] if small else [])]
    return element("div", *head, _BREAK, turn.content or "(empty message)", style=style)


_HEIGHT: Final = 28
# A zero still counts as a value.
_LEAST: Final = 3.0


class Bar(NamedTuple):
    """One pass or week: the start and height of its bar, in percent of the picture; no height if unknown."""

    bottom: float
    height: float


def bars(values: Sequence[float | None], *, low: float | None = None, high: float | None = None) -> list[Bar]:
    """Draw one bar per value, up or down from 0.

    Parameters
    ----------
    values
        By pass or week; None if there is none.
    low, high
        Ends of the axis; by default those of the values and 0.
    """
    known = [one for one in values if one is not None and math.isfinite(one)]
    start = min([0.0, *known]) if low is None else low
    end = max([0.0, *known]) if high is None else high
    spread = (end - start) or 1.0
    drawn = []
    for value in values:
        if value is None or not math.isfinite(value):
            drawn.append(Bar(0.0, 0.0))
            continue
        bottom = 100 * (min(value, 0.0) - start) / spread
        height = max(_LEAST, 100 * abs(value) / spread)
        drawn.append(Bar(round(min(bottom, 100 - _LEAST), 2), round(min(height, 100 - max(bottom, 0.0)), 2)))
    return drawn


def last_values(words: Sequence[str], most: int = 12) -> str:
    """Describe the bars in words: the last values, with an ellipsis if there are more."""
    return ("… " if len(words) > most else "") + ", ".join(words[-most:])


def bars_html(drawn: Sequence[Bar], *, label: str) -> Markup:
    """Return the bars as HTML; ``label`` describes them in words, for those who cannot see them."""
    if not drawn:
        return Markup("")
    boxes = [
        element(
            "span",
            style=(
                f"display:inline-block;width:7px;margin:0 1px {bar.bottom * _HEIGHT / 100:.1f}px;vertical-align:bottom;"
                f"height:{bar.height * _HEIGHT / 100:.1f}px;background:#2b83ba"
            ),
        )
        for bar in drawn
    ]
    style = f"display:inline-block;height:{_HEIGHT}px;line-height:{_HEIGHT}px;font-size:0;white-space:nowrap;vertical-align:middle"
    return element("span", *boxes, style=style, title=label)
