"""The words that a web page shows: its title, descriptions and paragraphs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

from promptlift.service.llm.hostile_text import storable_line

TEXT_CHARS: Final = 40_000
LINE_CHARS: Final = 2_000
_DESCRIPTIONS: Final = ("description", "og:description", "twitter:description")
_VOID: Final = re.compile("area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr")
_NOT_READ: Final = re.compile(
    "button|canvas|datalist|dialog|footer|form|iframe|math|nav|noscript|object|script|select|style|svg|template|textarea"
)
_INLINE: Final = re.compile(
    "a|abbr|b|bdi|bdo|cite|code|em|font|i|kbd|label|mark|q|s|small|span|strong|sub|sup|time|u"
)
_INVISIBLE: Final = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0|opacity\s{0,3}:\s{0,3}0(?![.\d])"
    r"|(?:left|top|text-indent)\s{0,3}:\s{0,3}-\d{3}",
    re.IGNORECASE,
)
# Invalid numeric character references; the standard library refuses to read the longest of them.
_NO_CHARACTER: Final = re.compile(r"&#[0-9a-fA-FxX]{9,};?")


@dataclass(slots=True)
class PageText:
    """The visible text of a page. All of it is hostile.

    Attributes
    ----------
    descriptions
        The page's descriptions for search engines, without repetitions.
    """

    title: str = ""
    descriptions: list[str] = field(default_factory=list)
    paragraphs: list[str] = field(default_factory=list)


def read_page(page: str) -> PageText:
    """Read the words of a page; invalid markup costs at most some words."""
    reader = _Reader()
    try:
        # Never closed: html.parser takes hours to close a maliciously crafted page of a megabyte.
        reader.feed(f"{_NO_CHARACTER.sub('', page)}<p>")
    except (_Enough, AssertionError):  # html.parser fails an assertion at a declaration that it does not know
        reader.end_block("p")
    return reader.found


class _Enough(Exception):
    """Enough text has been read."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = PageText()
        self._words: list[str] = []
        self._room = TEXT_CHARS
        # The element whose content is skipped, and how many of its name are open.
        self._hidden, self._open = "", 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.end_block(tag)
        if self._hidden:
            self._open += tag == self._hidden
            return
        attributes = {name: value or "" for name, value in attrs}
        if tag == "meta":
            self._describe(attributes)
        elif not _VOID.fullmatch(tag) and (_NOT_READ.fullmatch(tag) or _is_hidden(attributes)):
            self._hidden, self._open = tag, 1

    def handle_endtag(self, tag: str) -> None:
        self.end_block(tag, is_title=tag == "title")
        if tag == self._hidden:
            self._open -= 1
            self._hidden = tag if self._open else ""

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._words.append(data)
            self._room -= len(data)
            if self._room < 0:
                raise _Enough

    def _describe(self, attributes: dict[str, str]) -> None:
        name = (attributes.get("name") or attributes.get("property") or "").strip().lower()
        line = storable_line(attributes.get("content", ""), LINE_CHARS)
        if name in _DESCRIPTIONS and line and line not in self.found.descriptions:
            self.found.descriptions = [*self.found.descriptions, line][: len(_DESCRIPTIONS)]

    def end_block(self, tag: str, *, is_title: bool = False) -> None:
        """Store the text since the last block."""
        if _INLINE.fullmatch(tag):
            return
        line = storable_line("".join(self._words), LINE_CHARS)
        self._words.clear()
        if is_title:
            self.found.title = self.found.title or line
        elif line:
            self.found.paragraphs.append(line)


def _is_hidden(attributes: dict[str, str]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or _INVISIBLE.search(attributes.get("style", "")) is not None
    )
