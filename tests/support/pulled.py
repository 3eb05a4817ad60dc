"""Workspaces for pulls from a foreign service, and a service where rows come and go and answers fail."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

import promptlift
from promptlift.client import Client, configure
from promptlift.client.retry import RetryPolicy
from promptlift.client.transport import Clock, Transport
from promptlift.workspace import Workspace
from support.foreign_service import KEY, ForeignService, hang_up

LISTED = ("includeInsights", "includeContent")
QUICK = RetryPolicy(first_pause=0.01, longest_pause=0.05, timeout=2.0, first_timeout=0.2)


class SkippingClock(Clock):
    """A clock that goes on at once by what is to be waited for."""

    skipped = 0.0

    def now(self):
        return super().now() + self.skipped

    def wait(self, seconds, stop):
        self.skipped += seconds
        return stop.is_set()


def workspace(service, *, clock=None, snapshot=None, storage_options=None):
    """A workspace that does not try for long; on a snapshot where one is given, as for ``promptlift.connect``."""
    config = configure(service.base_url, KEY)
    transport = Transport(config, policy=None if clock else QUICK, clock=clock)
    lift = Workspace(config, progress=False, client=Client(config, transport=transport))
    lift._use_snapshot(snapshot, storage_options)
    return lift


@dataclass
class TroubledService(ForeignService):
    """Between any two requests for a page rows come, go, or both; some answers fail; the count may be wrong."""

    seed: int = 0
    troubled: bool = True
    stable: set[str] = field(default_factory=set)
    _chance: Any = None

    def trouble(self) -> None:
        """Begin; what is there now is stable."""
        self._chance = random.Random(self.seed)
        self.stable = {row["id"] for row in self.rows}
        # Those in between may be deleted.
        self.stable -= {row["id"] for row in self._chance.sample(self.rows, len(self.rows) // 4)}
        self.before, self.fault = self._change, self._fail

    def _change(self, _method, path, _count):
        if path != "/conversations" or not self.troubled or self._chance.random() > 0.5:
            return
        kind = self.seed % 3
        if kind != 1:
            self.insert(insights=self._chance.random() > 0.3)
        if kind != 0:
            mortal = [row for row in self.rows if row["id"] not in self.stable]
            if mortal:
                self.rows.remove(self._chance.choice(mortal))

    def _fail(self, _method, path, _count):
        if not self.troubled:
            return None
        if path == "/account" and self.seed % 5 == 0:
            return answer(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\n{}")
        return self._chance.choice(FAILURES) if self._chance.random() < 0.05 else None

    def page(self, rows, params, honours):
        status, page = super().page(rows, params, honours)
        if self.troubled and self.seed % 4 == 0 and self._chance.random() < 0.05:
            page["pagination"]["total"] += self._chance.choice((-7, -1, 1, 7))
        return status, page


@dataclass
class StampingService(ForeignService):
    """A service that knows when rows changed and were deleted, as the embedded one does."""

    time: int = 1
    gone: list[tuple[int, str]] = field(default_factory=list)

    def change(self, row: dict[str, Any], **fields: Any) -> None:
        row |= fields
        row["at"] = self.time

    def delete(self, row: dict[str, Any]) -> None:
        self.rows.remove(row)
        self.gone.append((self.time, row["id"]))

    def insert(self, **fields: Any) -> dict[str, Any]:
        return super().insert(**fields, at=self.time)

    def answer(self, method, path, params, body):
        if path != "/conversations/deleted":
            return super().answer(method, path, params, body)
        after = _number(params["deletedSince"])
        rows = [{"id": one} for at, one in self.gone if at >= after]
        return 200, {"data": rows, "pagination": {"total": len(rows), "limit": 100, "offset": 0}}

    def page(self, rows, params, honours):
        since = params.get("updatedSince")
        if since is not None:
            rows = [row for row in rows if row.get("at", 0) >= _number(since)]
        status, page = super().page(rows, params, honours)
        if since is not None:
            self.time += 1
            page["asOf"] = f"2026-01-01T00:00:00.{self.time:06d}Z"
        return status, page


def _number(time: str) -> int:
    return 0 if time.startswith("1970") else int(time[20:-1])


def answer(text):
    """Answer with raw bytes and hang up."""

    def send(handler):
        handler.wfile.write(text)
        hang_up(handler)

    return send


FAILURES = [
    hang_up,
    answer(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"data": ['),
    answer(b"HTTP/1.1 500 Oops\r\nContent-Length: 6\r\n\r\n<html>"),
    answer(b"HTTP/1.1 429 Slow\r\nRetry-After: 2\r\nContent-Length: 2\r\n\r\n{}"),
    answer(b"HTTP/1.1 429 Slow\r\nContent-Length: 2\r\n\r\n{}"),
]


def tables(folder):
    """What a snapshot has, as tables."""
    lift = promptlift.open_snapshot(folder)
    found = {
        "conversations": lift.conversations(insights=True),
        "prompts": lift.prompts(),
    }
    if lift.snapshot.manifest.content:
        found |= {"messages": lift.messages(), "content": lift.conversations(content=True)}
    return found


def assert_same(folder, other):
    """Two snapshots have the same rows."""
    here, there = tables(folder), tables(other)
    assert here.keys() == there.keys()
    for name, table in here.items():
        key = [column for column in ("conversation_id", "turn", "topic", "prompt_id") if column in table]
        sides = (one.sort_values(key, ignore_index=True) for one in (table, there[name]))
        pd.testing.assert_frame_equal(*sides, obj=name)
