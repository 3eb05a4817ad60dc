"""Send events to webhooks in the background, each until it is accepted or has failed five times.

A webhook is one row of work, so one worker at a time sends to it, one event at a time. A failed event waits
for its next attempt while later events are sent; `sequence` in its envelope shows its position.

The secret of a webhook is derived from its id with a key outside the database, so no secret is stored
anywhere: somebody who reads the database, or a copy of it, cannot sign anything.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import logging
import secrets
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.atomic_write import create_private
from promptlift.schema.limits import WEBHOOK_ATTEMPTS, WEBHOOK_DELAYS_SECONDS
from promptlift.schema.webhooks import HEADER, sign
from promptlift.service import clock
from promptlift.service.background.kind import Kind
from promptlift.service.background.runs import LeaseLost
from promptlift.service.errors import ApiException
from promptlift.service.net import GuardedRequest, NoAnswer, Sent, UnusableUrl
from promptlift.service.store import events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from promptlift.service.net import GuardedClient
    from promptlift.service.settings import ServiceSettings
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables.events import DeliveryRow, WebhookRow

_LOG = logging.getLogger(__name__)
KEY_FILE: Final = "webhooks.key"
_PREFIX: Final = "whsec_"


class Secrets:
    """The secrets of all webhooks.

    Parameters
    ----------
    key
        The key from which they are derived.

    Attributes
    ----------
    key_id
        Identifies the key without revealing it.
    """

    def __init__(self, key: str) -> None:
        self._key = key.encode()
        self.key_id = self._derive("key id").hex()[:16]

    def secret(self, webhook_id: str) -> str:
        """Return the secret of a webhook: 256 bits that cannot be derived without the key."""
        derived = base64.urlsafe_b64encode(self._derive(f"webhook {webhook_id}")).decode().rstrip("=")
        return _PREFIX + derived

    def _derive(self, what: str) -> bytes:
        return hmac.new(self._key, f"promptlift {what}".encode(), hashlib.sha256).digest()


def load_secrets(settings: ServiceSettings) -> Secrets | None:
    """Return the secrets of this service; ``None`` if no key is given and none can be stored.

    The key is ``PROMPTLIFT_SECRET_KEY``, or else that in a file readable only by its owner: next to an SQLite
    database, or else in the data folder. The file is created if missing.
    """
    if settings.secret_key is not None:
        return Secrets(settings.secret_key)
    database = settings.sqlite_file()
    folder = settings.data.expanduser() if database is None else database.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Secrets(_read_or_make(folder / KEY_FILE))
    except (OSError, UnicodeDecodeError) as error:
        _LOG.warning(
            "webhooks cannot be used: their key cannot be stored in %s (%s); set PROMPTLIFT_SECRET_KEY",
            folder,
            error,
        )
        return None


def _read_or_make(path: Path) -> str:
    """Return the key in a file. If several processes find none, one of them creates it."""
    with contextlib.suppress(FileNotFoundError):
        return path.read_text(encoding="ascii").strip()
    create_private(path, secrets.token_urlsafe(48).encode() + b"\n")
    return path.read_text(encoding="ascii").strip()


def signed(envelope: Mapping[str, Any], secret: str) -> tuple[bytes, dict[str, str]]:
    """Return the body of a delivery, and its headers with the signature of exactly these bytes."""
    body = orjson.dumps(envelope)
    return body, {"Content-Type": "application/json", HEADER: sign(body, secret)}


ATTEMPT_SECONDS: Final = 10.0
# Deliveries to read at once, and how long one webhook is served before others get their turn.
_AT_ONCE: Final = 200
_TURN_SECONDS: Final = 10.0
# Maximum events that a killed process may send twice: more transactions would wait for those that log and
# judge.
_KEEP_SECONDS: Final = 0.25
# Events sent without checking again that the webhook still exists and is held by this worker.
_MOMENT_SECONDS: Final = 0.05
_TRIMMED_AT_ONCE: Final = 500
_TRIMMED_A_TIME: Final = 100


def next_attempt(attempts: int, *, failed_at: int) -> int | None:
    """Return when the next attempt is due after ``attempts`` failures; ``None`` after the last.

    Retry policy: attempt 2 one minute after the first failed, then five minutes, thirty minutes and two hours.

    Examples
    --------
    >>> [next_attempt(failed, failed_at=0) for failed in (1, 2, 3, 4, 5)]
    [60000, 300000, 1800000, 7200000, None]
    """
    # unspecified: whether a delay runs from the start or the end of the previous attempt. Its end.
    if attempts >= WEBHOOK_ATTEMPTS:
        return None
    return failed_at + WEBHOOK_DELAYS_SECONDS[attempts] * clock.SECOND


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of sending an event once.

    Attributes
    ----------
    status_code
        HTTP status; ``None`` without an answer.
    problem
        Why it failed; ``None`` if the receiver accepted it.
    seconds
        How long it took.
    """

    status_code: int | None
    problem: str | None
    seconds: float


class Sender:
    """Sends events to webhooks.

    Parameters
    ----------
    database
        The database with webhooks and deliveries.
    net
        Checks addresses and sends the requests.
    secrets
        Secrets of the webhooks; ``None`` without a key for them.
    now
        Clock for retries.
    """

    def __init__(
        self,
        database: Database,
        net: GuardedClient,
        secrets: Secrets | None,
        *,
        now: Callable[[], int] = clock.now,
    ) -> None:
        self._database = database
        self.net = net
        self._secrets = secrets
        self._now = now

    @property
    def secrets(self) -> Secrets:
        """The secrets of the webhooks.

        Raises
        ------
        ApiException
            ``INVALID_STATE`` without a key.
        """
        if self._secrets is None:
            raise ApiException(
                "INVALID_STATE",
                "The service has no key for the secrets of webhooks: set PROMPTLIFT_SECRET_KEY where it runs",
            )
        return self._secrets

    def attempt(self, webhook: WebhookRow, envelope: Mapping[str, Any]) -> Attempt:
        """Send an event once."""
        return self._attempts(webhook, [envelope])[0]

    def _attempts(self, webhook: WebhookRow, envelopes: Iterable[Mapping[str, Any]]) -> list[Attempt]:
        """Send events in order, until one fails or a short time has passed; at least the first."""
        secret = self.secrets.secret(webhook.id)
        requests = (_request(webhook.url, envelope, secret) for envelope in envelopes)
        try:
            return list(map(_attempt_of, self.net.send_in_order(requests, seconds=_MOMENT_SECONDS)))
        except NoAnswer as error:
            return [Attempt(None, f"No answer: {error}", 0.0)]

    def send_due(self, webhook_id: str, worker: str, *, is_ending: Callable[[], bool]) -> None:
        """Send the due events of a webhook that this worker holds, until all are sent or it is the others' turn.

        Raises
        ------
        LeaseLost
            The webhook was deleted or taken away, or is no longer active.
        """
        turn_ends = time.monotonic() + _TURN_SECONDS
        while not is_ending() and time.monotonic() < turn_ends:
            with self._database.read() as connection:
                webhook = events.webhook_of_worker(connection, webhook_id, worker)
                rows = events.due_deliveries(connection, webhook_id, now=self._now(), limit=_AT_ONCE)
            if webhook is None:
                raise LeaseLost
            if not rows:
                return
            self._number(webhook, worker, [row for row in rows if row.sequence is None])
            count = self._send(webhook, worker, rows, is_ending)
            if count == len(rows) < _AT_ONCE:
                return  # newer events are sent with those still to come

    def _number(self, webhook: WebhookRow, worker: str, new: Sequence[DeliveryRow]) -> None:
        """Assign the next `sequence` to each delivery that was never attempted; it keeps it."""
        if new:
            with self._database.write() as connection:
                events.number_deliveries(connection, self._locked(connection, webhook, worker), new)

    @staticmethod
    def _locked(connection: Connection, webhook: WebhookRow, worker: str) -> WebhookRow:
        # The work of another worker must not be overwritten; the receiver recognizes events by their ids.
        mine = events.webhook_of_worker(connection, webhook.id, worker, lock=True)
        if mine is None:
            raise LeaseLost
        return mine

    def _send(
        self,
        webhook: WebhookRow,
        worker: str,
        rows: Sequence[DeliveryRow],
        is_ending: Callable[[], bool],
    ) -> int:
        """Send deliveries and record the outcomes: those of quick successes together, a failure immediately.

        Returns the number of deliveries sent.
        """
        attempts: list[tuple[DeliveryRow, Attempt, int]] = []
        keep_at = time.monotonic() + _KEEP_SECONDS
        while len(attempts) < len(rows):
            left = rows[len(attempts) :]
            # unspecified: how a receiver learns that an event was overtaken. `sequence` counts the events of
            # its webhook.
            sent = self._attempts(
                webhook, ({**events.record(row.event).to_wire(), "sequence": row.sequence} for row in left)
            )
            ended_at = self._now()
            attempts += [(row, attempt, ended_at) for row, attempt in zip(left, sent, strict=False)]
            if sent[-1].problem is not None or time.monotonic() > keep_at or is_ending():
                break
            with self._database.read() as connection:
                if events.webhook_of_worker(connection, webhook.id, worker) is None:
                    break
        with self._database.write() as connection:
            self._locked(connection, webhook, worker)
            self._record(connection, attempts)
        return len(attempts)

    @staticmethod
    def _record(connection: Connection, attempts: Sequence[tuple[DeliveryRow, Attempt, int]]) -> None:
        events.record_delivered(
            connection,
            [
                (row.id, attempt.status_code, ended_at)
                for row, attempt, ended_at in attempts
                if attempt.problem is None
            ],
        )
        row, attempt, ended_at = attempts[-1]  # only the last may have failed
        if attempt.problem is not None:
            events.record_failed(
                connection,
                row,
                at=ended_at,
                status_code=attempt.status_code,
                problem=attempt.problem,
                due_at=next_attempt(row.attempts + 1, failed_at=ended_at),
            )


def _request(url: str, envelope: Mapping[str, Any], secret: str) -> GuardedRequest:
    body, headers = signed(envelope, secret)
    return GuardedRequest("POST", url, headers=headers, content=body, seconds=ATTEMPT_SECONDS)


def _attempt_of(sent: Sent) -> Attempt:
    # unspecified: what response counts as a success. Any 2xx whose headers arrive in time; the body is
    # ignored.
    outcome = sent.outcome
    if isinstance(outcome, UnusableUrl):
        return Attempt(None, f"The URL {outcome}", sent.seconds)
    if isinstance(outcome, NoAnswer):
        return Attempt(None, f"No answer: {outcome}", sent.seconds)
    problem = None if sent.is_success else f"The receiver answered {outcome.status}"
    if 300 <= outcome.status < 400:
        problem = f"The receiver answered {outcome.status}: redirects are not followed"
    return Attempt(outcome.status, problem, sent.seconds)


class Deliveries(Kind):
    """Deliver due events to webhooks.

    Parameters
    ----------
    database
        The database with webhooks and deliveries.
    sender
        Sends the events, and has a key for the secrets of the webhooks.
    worker
        Name of the worker in the rows.
    """

    name = "deliveries"
    # Threads wait for answers most of the time. A hanging receiver occupies one for ten seconds.
    threads = 96
    watches_leases = True
    grace = 2.0
    # Each turn of a webhook costs its own transactions, for one event or for hundreds.
    gather = 0.5

    def __init__(self, database: Database, sender: Sender, *, worker: str) -> None:
        super().__init__()
        self.leases = events.webhook_leases(key_id=sender.secrets.key_id)
        self._database = database
        self._sender = sender
        self._worker = worker
        self._ending = threading.Event()

    def work(self, ids: Sequence[str]) -> None:
        """Deliver due events to these webhooks, and release them."""
        for webhook_id in ids:
            self._sender.send_due(webhook_id, self._worker, is_ending=self._ending.is_set)
        with self._database.write() as connection:
            self.leases.release(connection, self._worker, ids)

    def start(self) -> None:
        """Prepare for work."""
        self._ending.clear()

    def stop(self) -> None:
        """Start no more attempts."""
        self._ending.set()


def trim_outbox(database: Database, *, now: int | None = None) -> int:
    """Delete events that are no longer needed and return how many; a large rest waits for the next time."""
    at, trimmed = clock.now() if now is None else now, 0
    for _ in range(_TRIMMED_A_TIME):
        with database.read() as connection:
            ids = events.trimmable_events(connection, now=at, limit=_TRIMMED_AT_ONCE)
        if not ids:
            break
        with database.write() as connection:
            events.drop_events(connection, ids)
        trimmed += len(ids)
    with database.write() as connection:
        events.drop_orphans(connection)
    return trimmed
