"""A service that knows the truth and says something else: one lie at a time, over a real socket."""

from __future__ import annotations

import copy
import gzip
import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.foreign_service import ForeignService, _insights

if TYPE_CHECKING:
    from collections.abc import Callable

Page = dict[str, Any]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@dataclass
class Asked:
    """A request for a page, with what an honest service would make of it."""

    offset: int
    limit: int
    number: int
    truth: list[dict[str, Any]]
    service: LyingService

    def honest(self, offset: int, limit: int) -> list[dict[str, Any]]:
        return copy.deepcopy(self.truth[offset : offset + limit])


@dataclass
class LyingService(ForeignService):
    """``lie(page, asked)`` changes the answer for a page of a list, or gives the bytes of a whole HTTP answer."""

    lie: Callable[[Page, Asked], Any] = lambda page, _asked: page
    detail: Callable[[Page, str], Any] = lambda answer, _path: answer
    prompts: list[dict[str, Any]] = field(default_factory=list)
    asked: int = 0
    chance: Any = field(default_factory=lambda: random.Random(7))

    def answer(self, method, path, params, body):
        if path == "/prompts" and method == "GET":
            if not self.prompts:  # the lie is about conversations
                return super().page([{"id": "p1", "name": "n"}], params, ())
            return self.page(self.prompts, params, ())
        status, answer = super().answer(method, path, params, body)
        return (status, self.detail(answer, path)) if path.count("/") > 1 else (status, answer)

    def page(self, rows, params, honours):
        status, page = super().page(rows, params, honours)
        self.asked += 1
        names = ("id", "promptId", "status", "hasInsights", "createdAt")
        truth = [{name: row[name] for name in names if name in row} for row in rows]
        limit = page["pagination"]["limit"]
        lied = self.lie(page, Asked(page["pagination"]["offset"], limit, self.asked, truth, self))
        return status, lied

    def send(self, handler, status, answer, headers=None):
        if isinstance(answer, bytes) and answer.startswith(b"HTTP/"):
            handler.wfile.write(answer)
            handler.wfile.flush()
            handler.close_connection = b"Connection: keep-alive" not in answer
            return
        super().send(handler, status, answer, headers)


def total(value: Any) -> Callable[[Page, Asked], Page]:
    """Say this, or what a function of the request gives, as the total."""

    def lie(page: Page, asked: Asked) -> Page:
        page["pagination"]["total"] = value(page, asked) if callable(value) else value
        return page

    return lie


def rows(change: Callable[[list[Any], Asked], Any], *, first: int = 2, last: int = 10**9):
    """Change the rows of some requests, counted from 1."""

    def lie(page: Page, asked: Asked) -> Page:
        if first <= asked.number <= last:
            page["data"] = change(page["data"], asked)
        return page

    return lie


def pagination(**fields: Any):
    def lie(page: Page, _asked: Asked) -> Page:
        page["pagination"] |= fields
        return page

    return lie


def without(*names: str):
    def lie(page: Page, _asked: Asked) -> Page:
        for name in names:
            (page if name in page else page["pagination"]).pop(name)
        return page

    return lie


def both(*lies: Callable[[Page, Asked], Page]):
    def lie(page: Page, asked: Asked) -> Page:
        for one in lies:
            page = one(page, asked)
        return page

    return lie


def raw(make: Callable[[bytes], bytes], *, first: int = 2):
    """Answer with these bytes instead, made of the honest body."""

    def lie(page: Page, asked: Asked) -> Any:
        return page if asked.number < first else make(json.dumps(page).encode())

    return lie


def cut_total(page: Page, asked: Asked) -> Page:
    """Say once, in the middle, that the list ends with this short page."""
    if asked.number == 3:
        page["data"] = page["data"][:50]
        page["pagination"]["total"] = asked.offset + 50
    return page


def hidden(page: Page, asked: Asked) -> Page:
    """Leave a row out and say so in the total, but only where somebody looks a second time at the top."""
    page["data"] = [row for row in page["data"] if row["id"] != asked.truth[200]["id"]]
    if asked.offset == 0 and asked.number > 1:
        page["pagination"]["total"] -= 1
    return page


def repeated(page: Page, asked: Asked) -> Page:
    if asked.number == 2:
        page["data"] = asked.honest(0, 100)
    return page


def shuffled(page: Page, asked: Asked) -> Page:
    mixed = asked.truth[:]
    asked.service.chance.shuffle(mixed)
    page["data"] = mixed[asked.offset : asked.offset + asked.limit]
    return page


def endless(page: Page, asked: Asked) -> Page:
    """Make rows up for as long as somebody asks."""
    page["data"] = [{"id": f"r{asked.offset + place}", "promptId": "p1"} for place in range(asked.limit)]
    page["pagination"]["total"] = asked.offset + 2 * asked.limit
    return page


def everything(page: Page, asked: Asked) -> Page:
    page["data"] = asked.honest(0, 10**9)
    return page


def cap(count: int):
    """Give fewer rows at once than the answer says."""

    def lie(page: Page, _asked: Asked) -> Page:
        page["data"] = page["data"][:count]
        return page

    return lie


def with_length(body: bytes, length: int, more: bytes = b"") -> bytes:
    return OK + b"Content-Length: %d\r\n%s\r\n" % (length, more) + body


def answered_twice(page: Page, asked: Asked) -> Any:
    """Send the answer of this request, and behind it the same again, as if the next request had been made."""
    if asked.number != 2:
        return page
    body = json.dumps(page).encode()
    return 2 * with_length(body, len(body), b"Connection: keep-alive\r\n")


def half_gzip(body: bytes) -> bytes:
    packed = gzip.compress(body)[:-40]
    return with_length(packed, len(packed), b"Content-Encoding: gzip\r\n")


insights_of = _insights
