"""Read one page of a website: guarded, within limits, and only where its robots.txt allows it."""

from __future__ import annotations

import codecs
import re
import time
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin
from urllib.robotparser import RobotFileParser

from promptlift.service.llm.hostile_text import storable_line
from promptlift.service.net import GuardedRequest, NoAnswer, RefusedAddress, UnusableUrl, read_url

if TYPE_CHECKING:
    from promptlift.service.net import GuardedClient, GuardedReply, Target

PAGE_BYTES: Final = 1024 * 1024
AGENT: Final = "promptlift"
# The minimum that RFC 9309 requires a reader to read.
ROBOTS_BYTES: Final = 500 * 1024
_ROBOTS_FIELDS: Final = ("user-agent", "allow", "disallow")
VISIT_SECONDS: Final = 15.0
REDIRECTS_MAX: Final = 5
_SCHEMES: Final = ("https", "http")
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_HTML: Final = frozenset({"text/html", "application/xhtml+xml", ""})
_HAS_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d+(?:/|$))")
_CHARSET: Final = re.compile(
    rb"""<meta[^>]{0,200}?charset\s{0,5}=\s{0,5}["']?\s{0,5}([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE
)
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# The WHATWG encodings, which Python reads in linear time; others (idna, punycode) are not encodings of pages.
_ENCODINGS: Final = re.compile(
    r"utf-8|utf-16(-le|-be)?|ascii|iso8859-\d+|cp(125\d|866|874|932|936|949|950)|koi8-[ru]|mac-roman|"
    r"gb2312|gbk|gb18030|big5(hkscs)?|euc_jp|euc_kr|shift_jis|iso2022_jp"
)


class UnreadableWebsite(ValueError):
    """A website that could not be read. The message explains why, as the end of a sentence about its address."""


@dataclass(frozen=True, slots=True)
class VisitedPage:
    """A visited page.

    Attributes
    ----------
    url
        Its address after redirects.
    html
        At most ``PAGE_BYTES`` of the page.
    """

    url: str
    html: str


def full_url(text: str) -> str:
    """Return a website's address as a URL, with ``https://`` if it was omitted."""
    # unspecified: whether an address without a scheme is valid. It is, as in every browser.
    text = text.strip()
    return text if _HAS_SCHEME.match(text) or text.startswith("/") else f"https://{text}"


def visit(net: GuardedClient, url: str, *, seconds: float = VISIT_SECONDS) -> VisitedPage:
    """Read a page, following redirects; each address is checked again, also against its robots.txt.

    Raises
    ------
    UnreadableWebsite
        The message explains why.
    """
    return _Visit(net, time.monotonic() + seconds).read(url)


class _Visit:
    def __init__(self, net: GuardedClient, deadline: float) -> None:
        self._net = net
        self._deadline = deadline
        self._robots: dict[tuple[str, str, int], RobotFileParser] = {}

    def read(self, url: str) -> VisitedPage:
        for _ in range(REDIRECTS_MAX + 1):
            target = self._target(url)
            if not self._rules(target).can_fetch(AGENT, str(target.url)):
                raise UnreadableWebsite(f"does not want to be read: its robots.txt excludes {AGENT}")
            reply = self._get(str(target.url), PAGE_BYTES)
            location = reply.headers.get("location")
            if reply.status in _REDIRECTS and location:
                url = urljoin(str(target.url), location)
                continue
            return VisitedPage(str(target.url), _html(reply))
        raise UnreadableWebsite(f"redirects more than {REDIRECTS_MAX} times")

    @staticmethod
    def _target(url: str) -> Target:
        try:
            return read_url(url, schemes=_SCHEMES)
        except UnusableUrl as error:
            raise UnreadableWebsite(str(error)) from None

    def _rules(self, target: Target) -> RobotFileParser:
        """Return the rules of an origin.

        According to RFC 9309, a site without such a file allows everything, and a site that fails to serve it
        allows nothing.
        """
        if target.origin not in self._robots:
            self._robots[target.origin] = self._read_rules(target)
        return self._robots[target.origin]

    def _read_rules(self, target: Target) -> RobotFileParser:
        url = urljoin(str(target.url), "/robots.txt")
        for _ in range(REDIRECTS_MAX + 1):
            reply = self._get(url, ROBOTS_BYTES)
            location = reply.headers.get("location")
            if reply.status not in _REDIRECTS or not location:
                break
            url = str(self._target(urljoin(url, location)).url)
        if reply.status >= 500:
            raise UnreadableWebsite(
                f"may not be read: its robots.txt is unavailable (the server answered {reply.status})"
            )
        return _robots(reply.content.decode("utf-8", "replace") if 200 <= reply.status < 300 else "")

    def _get(self, url: str, max_bytes: int) -> GuardedReply:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise UnreadableWebsite("took too long to read")
        request = GuardedRequest(
            "GET",
            url,
            headers={"Accept": "text/html, text/plain;q=0.5", "Accept-Language": "en, *;q=0.5"},
            seconds=left,
            max_bytes=max_bytes,
            schemes=_SCHEMES,
        )
        try:
            return self._net.send(request)
        except RefusedAddress:
            raise UnreadableWebsite("is a private, loopback, link-local or reserved address") from None
        except NoAnswer as error:
            raise UnreadableWebsite(f"cannot be read: {error}") from None
        except UnusableUrl as error:
            raise UnreadableWebsite(str(error)) from None


def _robots(text: str) -> RobotFileParser:
    rules = RobotFileParser()
    lines = text.removeprefix("\ufeff").splitlines()
    try:
        # Other fields are irrelevant here, and some of their values break the parser.
        rules.parse([line for line in lines if line.lstrip().lower().startswith(_ROBOTS_FIELDS)])
    except ValueError:
        raise UnreadableWebsite("may not be read: its robots.txt cannot be understood") from None
    return rules


def _html(reply: GuardedReply) -> str:
    if reply.status != 200:
        raise UnreadableWebsite(f"cannot be read: the server answered {reply.status}")
    kind, _, parameters = reply.headers.get("content-type", "").partition(";")
    if kind.strip().lower() not in _HTML:
        raise UnreadableWebsite("is not a web page (HTML)")
    if reply.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnreadableWebsite("cannot be read: it was sent compressed although that was not requested")
    return reply.content.decode(_encoding(reply.content, parameters), "replace").replace("\x00", "")


def _encoding(content: bytes, parameters: str) -> str:
    """Return the encoding of a page: from its byte order mark, or else the header, or else the page."""
    for mark, name in _MARKS.items():
        if content.startswith(mark):
            return name
    declared = re.search(r"charset\s*=\s*\"?([A-Za-z0-9_.:-]{1,40})", parameters)
    in_page = _CHARSET.search(content[:4_096])
    name = declared.group(1) if declared else in_page.group(1).decode() if in_page else "utf-8"
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return "utf-8"
    return known if _ENCODINGS.fullmatch(known) else "utf-8"


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
