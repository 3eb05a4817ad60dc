"""A database with an account whose webhooks subscribe to events, a clock that is handed in, and a scripted network."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost
from promptlift.service.identifiers import new_id
from promptlift.service.net import GuardedReply, NoAnswer, Sent
from promptlift.service.store import accounts, events, leases, tables
from promptlift.service.webhooks import Deliveries, Secrets, Sender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from promptlift.service.net import GuardedRequest
    from promptlift.service.store.database import Database

START = 1_800_000_000_000
WORKER = "wrk_test"


class ScriptedNet:
    """Answers what a test says; a text is why there is no answer."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.sent: list[tuple[int, str]] = []
        self.sequences: list[int] = []
        self.answer: Callable[[GuardedRequest], int | str] = lambda _request: 204
        self._now = now

    def send_in_order(self, requests: Iterable[GuardedRequest], *, seconds: float) -> list[Sent]:  # noqa: ARG002
        """Answer the first request; a moment has passed then."""
        request = next(iter(requests))
        envelope = json.loads(request.content)
        self.sent.append((self._now(), envelope["id"]))
        self.sequences.append(envelope["sequence"])
        answer = self.answer(request)
        return [
            Sent(
                NoAnswer(answer) if isinstance(answer, str) else GuardedReply(answer, {}, b""),
                0.0,
            )
        ]


@dataclass
class Subscribed:
    """Events are recorded and sent when a test says so, at a time that it sets."""

    database: Database
    now: int = START
    account: str = ""
    secrets: Secrets = field(default_factory=lambda: Secrets("k" * 32))

    def __post_init__(self) -> None:
        self.net = ScriptedNet(lambda: self.now)
        sender = Sender(self.database, self.net, self.secrets, now=lambda: self.now)
        self.deliveries = Deliveries(self.database, sender, worker=WORKER)
        with self.database.write() as connection:
            self.account = accounts.create(connection, name="n", email="e", plan="enterprise")
            leases.renew(connection, WORKER, seconds=3600)

    def subscribe(self, *kinds: str, account: str | None = None) -> str:
        webhook_id = new_id("whk")
        values = {
            "id": webhook_id,
            "account_id": account or self.account,
            "url": "https://hooks.invalid/",
            "events": list(kinds) or ["prompt.deleted"],
            "status": "active",
            "key_id": self.secrets.key_id,
            "created_at": self.now,
        }
        with self.database.write() as connection:
            connection.execute(insert(tables.metadata.tables["webhooks"]).values(values))
        return webhook_id

    def record(self, kind: str = "prompt.deleted", *, count: int = 1) -> list[str]:
        """Record events, and give their ids."""
        rows = [
            events.row(kind, self.account, f"prm_{n}", {"promptId": f"prm_{n}"}, now=self.now)
            for n in range(count)
        ]
        with self.database.write() as connection:
            events.write(connection, rows)
        return [row["id"] for row in rows]

    def work(self) -> list[str]:
        """Claim what is due now and send it, as the worker does; gives the ids of the events that were sent."""
        before = len(self.net.sent)
        with self.database.write() as connection:
            ids = self.deliveries.leases.claim(connection, WORKER, limit=100, now=self.now)
        for webhook_id in ids:
            with suppress(LeaseLost):
                self.deliveries.work([webhook_id])
        return [event_id for _, event_id in self.net.sent[before:]]

    def rows(self, table: str) -> list[Any]:
        found = tables.metadata.tables[table]
        with self.database.read() as connection:
            return list(connection.execute(select(found).order_by(found.c.seq)))

    def pass_days(self, days: float) -> None:
        self.now += round(days * clock.DAY)
