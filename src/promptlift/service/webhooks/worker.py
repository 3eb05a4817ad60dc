"""Deliver events in the background: one webhook is one row of work, so that one worker at a time sends to it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from promptlift.service import clock
from promptlift.service.background.kind import Kind
from promptlift.service.store import webhooks
from promptlift.service.webhooks.deliveries import Sender

if TYPE_CHECKING:
    from collections.abc import Sequence

    from promptlift.service.net.client import GuardedClient
    from promptlift.service.store.database import Database
    from promptlift.service.webhooks.signing import Secrets

__all__ = ["Deliveries", "trim_outbox"]

_TRIMMED_AT_ONCE: Final = 500
_TRIMMED_A_TIME: Final = 100


class Deliveries(Kind):
    """Deliver to webhooks that have something due.

    Parameters
    ----------
    database
        Where webhooks and deliveries are kept.
    net
        Sends the requests.
    secrets
        Secrets of the webhooks.
    worker
        Name of the worker in the rows.
    """

    name = "deliveries"
    # They wait for answers most of the time. A receiver that hangs has one for ten seconds.
    threads = 96
    watches_leases = True
    grace = 2.0
    # A turn of a webhook costs transactions of its own, for one event or for hundreds.
    gather = 0.5

    def __init__(self, database: Database, net: GuardedClient, secrets: Secrets, *, worker: str) -> None:
        super().__init__()
        self.leases = webhooks.leases(key_id=secrets.key_id)
        self._database = database
        self._sender = Sender(database, net, secrets)
        self._worker = worker
        self._ending = threading.Event()

    def work(self, ids: Sequence[str]) -> None:
        """Deliver what is due to these webhooks, and release them."""
        for webhook_id in ids:
            self._sender.send_due(webhook_id, self._worker, is_ending=self._ending.is_set)
        with self._database.write() as connection:
            self.leases.release(connection, self._worker, ids)

    def start(self) -> None:
        """Prepare for work."""
        self._ending.clear()

    def stop(self) -> None:
        """Begin no more attempts."""
        self._ending.set()


def trim_outbox(database: Database, *, now: int | None = None) -> int:
    """Delete events that nobody needs any more and return how many; the rest of very many waits for the next time."""
    at, trimmed = clock.now() if now is None else now, 0
    for _ in range(_TRIMMED_A_TIME):
        with database.read() as connection:
            ids = webhooks.trimmable_events(connection, now=at, limit=_TRIMMED_AT_ONCE)
        if not ids:
            break
        with database.write() as connection:
            webhooks.drop_events(connection, ids)
        trimmed += len(ids)
    with database.write() as connection:
        webhooks.drop_orphans(connection)
    return trimmed
