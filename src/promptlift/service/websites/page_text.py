"""The words of a web page: its title, descriptions, headings and paragraphs, without what is not shown.

Read in one pass in time proportional to the page. The parser of the standard library takes hours for a megabyte that
was made to hurt it; here, markup that is wrong costs some words and nothing else.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from promptlift.schema.transcript import json_depth
from promptlift.service.llm.hostile_text import storable_line

__all__ = ["TEXT_CHARS", "PageText", "read_page"]

TEXT_CHARS: Final = 40_000
LINE_CHARS: Final = 2_000
_TAG: Final = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9-]{0,40})")
# A part of a tag that is longer than this has no attribute of interest.
_ATTRIBUTES_CHARS: Final = 4_000
_ATTRIBUTE: Final = re.compile(
    r"""([a-zA-Z_:@][a-zA-Z0-9_:.-]{0,40})(?:\s{0,5}=\s{0,5}("[^"]*"|'[^']*'|[^\s"'>]+))?"""
)
_INVISIBLE: Final = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0|opacity\s{0,3}:\s{0,3}0(?![.\d])"
    r"|(?:left|top|text-indent)\s{0,3}:\s{0,3}-\d{3}",
    re.IGNORECASE,
)
# The names of numbers that no character has: the standard library stumbles over them.
_LONG_REFERENCE: Final = re.compile(r"&#[0-9a-fA-FxX]{9,};?")
_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_RAW: Final = frozenset({"script", "style", "title", "textarea"})
_NOT_READ: Final = frozenset(
    {
        "button",
        "canvas",
        "datalist",
        "dialog",
        "footer",
        "form",
        "iframe",
        "math",
        "nav",
        "noscript",
        "object",
        "select",
        "svg",
        "template",
    }
)
_INLINE: Final = frozenset(
    {
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "code",
        "em",
        "font",
        "i",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "u",
    }
)
_HEADINGS: Final = frozenset({"h1", "h2", "h3"})
_JSON_LD_BYTES: Final = 100_000
_DESCRIPTIONS: Final = ("description", "og:description", "twitter:description")


@dataclass(slots=True)
class PageText:
    """What a page says. All of it is hostile.

    Attributes
    ----------
    descriptions
        What the page says of itself to search engines, without repetitions.
    paragraphs
        The shown text; headings are in it too.
    """

    title: str = ""
    descriptions: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)


def read_page(page: str) -> PageText:
    """Read the words of a page."""
    return _Reader().read(page)


class _Reader:
    def __init__(self) -> None:
        self.found = PageText()
        self._words: list[str] = []
        self._heading = False
        self._chars = 0
        # The element whose content is not read, and how many of its name are open inside.
        self._hidden: tuple[str, int] | None = None
        self._raw = ""
        self._raw_parts: list[str] = []
        self._is_json_ld = False

    def read(self, page: str) -> PageText:
        first, *pieces = page.split("<")
        self._text(first)
        in_comment = False
        for piece in pieces:
            if in_comment or piece.startswith("!--"):
                _, end, text = piece.partition("-->")
                in_comment = not end
                self._text(text)
            elif self._raw and not self._closes_raw(piece):
                self._raw_parts.append(piece)
            else:
                self._piece(piece)
            if self._chars > TEXT_CHARS:
                break
        self._end_block()
        return self.found

    def _piece(self, piece: str) -> None:
        """Read a tag and the text after it; what is no tag is text."""
        named = _TAG.match(piece)
        if named is None:
            self._text(piece.partition(">")[2] if piece[:1] in ("!", "?", "/") else f"<{piece}")
            return
        name = named.group(2).lower()
        inside, _, text = piece[named.end() :].partition(">")
        if named.group(1):
            self._close(name)
        else:
            self._open(name, inside[:_ATTRIBUTES_CHARS])
        if self._raw:
            self._raw_parts.append(text)
        else:
            self._text(text)

    def _open(self, name: str, inside: str) -> None:
        if name not in _INLINE:
            self._end_block()
        if name in _RAW:
            self._raw, self._raw_parts = name, []
        if self._hidden is not None:
            if name == self._hidden[0]:
                self._hidden = (name, self._hidden[1] + 1)
            return
        attributes = {
            key.lower(): html.unescape(_LONG_REFERENCE.sub("", value.strip("\"'")))
            for key, value in _ATTRIBUTE.findall(inside)
        }
        if name == "meta":
            self._describe(attributes)
        elif name in _RAW:
            self._is_json_ld = attributes.get("type", "").strip().lower() == "application/ld+json"
        elif name not in _VOID and not inside.rstrip().endswith("/") and _is_hidden(name, attributes):
            self._hidden = (name, 1)
        elif name in _HEADINGS:
            self._heading = True

    def _close(self, name: str) -> None:
        if name not in _INLINE:
            self._end_block()
        if self._raw == name:
            self._end_raw()
        elif self._hidden is not None and self._hidden[0] == name:
            self._hidden = (name, self._hidden[1] - 1) if self._hidden[1] > 1 else None
        elif name in _HEADINGS:
            self._heading = False

    def _closes_raw(self, piece: str) -> bool:
        return piece[: len(self._raw) + 1].lower() == f"/{self._raw}"

    def _end_raw(self) -> None:
        name, self._raw = self._raw, ""
        content = "<".join(self._raw_parts)
        if self._hidden is not None:
            return
        if name == "title" and not self.found.title:
            self.found.title = storable_line(html.unescape(_LONG_REFERENCE.sub("", content)), LINE_CHARS)
        elif self._is_json_ld and len(content) <= _JSON_LD_BYTES:
            self._add_description(_of_json_ld(content))

    def _describe(self, attributes: dict[str, str]) -> None:
        name = (attributes.get("name") or attributes.get("property") or "").strip().lower()
        if name in _DESCRIPTIONS:
            self._add_description(attributes.get("content", ""))

    def _add_description(self, text: str) -> None:
        line = storable_line(text, LINE_CHARS)
        if line and line not in self.found.descriptions and len(self.found.descriptions) < 5:
            self.found.descriptions.append(line)

    def _text(self, text: str) -> None:
        if text and self._hidden is None:
            self._words.append(text)

    def _end_block(self) -> None:
        if not self._words:
            return
        text = html.unescape(_LONG_REFERENCE.sub("", "".join(self._words)))
        self._words.clear()
        line = storable_line(text, LINE_CHARS)
        if line:
            self._chars += len(line)
            self.found.paragraphs.append(line)
            if self._heading:
                self.found.headings.append(line)


def _is_hidden(name: str, attributes: dict[str, str]) -> bool:
    return (
        name in _NOT_READ
        or "hidden" in attributes
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or _INVISIBLE.search(attributes.get("style", "")) is not None
    )


def _of_json_ld(text: str) -> str:
    """Return the first description in linked data about an organization or a site."""
    raw = text.encode("utf-8", "replace")
    try:
        found: Any = orjson.loads(raw) if json_depth(raw) <= 50 else None
    except orjson.JSONDecodeError:
        return ""
    if isinstance(found, dict):
        found = found.get("@graph", [found])
    things = found if isinstance(found, list) else []
    said = (one.get("description") for one in things if isinstance(one, dict))
    return next((one for one in said if isinstance(one, str) and one.strip()), "")
