"""Send events to one webhook, one at a time, each until it is accepted or has failed five times.

An event that failed waits for its next attempt while later events are sent; `sequence` in its envelope shows its place.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost
from promptlift.service.net.addresses import UnusableUrl
from promptlift.service.net.client import NoAnswer, Request, Sent
from promptlift.service.store import events, webhooks
from promptlift.service.webhooks.schedule import next_attempt
from promptlift.service.webhooks.signing import signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.net.client import GuardedClient
    from promptlift.service.store.database import Database
    from promptlift.service.store.tables import AnyRow
    from promptlift.service.webhooks.signing import Secrets

__all__ = ["ATTEMPT_SECONDS", "Attempt", "Sender"]

ATTEMPT_SECONDS: Final = 10.0
# Deliveries that are read at once, and how long one webhook is served before others have their turn.
_AT_ONCE: Final = 200
_TURN_SECONDS: Final = 10.0
# What a killed process may send twice: every transaction waits for those that log and judge.
_KEEP_SECONDS: Final = 0.25
# What is sent without another look whether the webhook is still there and this worker's.
_MOMENT_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of sending an event once.

    Attributes
    ----------
    status_code
        HTTP status; ``None`` without an answer.
    problem
        Why it failed; ``None`` when the receiver accepted it.
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
        Where webhooks and deliveries are kept.
    net
        Sends the requests.
    secrets
        Secrets of the webhooks.
    now
        The clock that retries go by.
    """

    def __init__(
        self,
        database: Database,
        net: GuardedClient,
        secrets: Secrets,
        *,
        now: Callable[[], int] = clock.now,
    ) -> None:
        self._database = database
        self._net = net
        self._secrets = secrets
        self._now = now

    def attempt(self, webhook: AnyRow, envelope: Mapping[str, Any]) -> Attempt:
        """Send an event once."""
        return self._attempts(webhook, [envelope])[0]

    def _attempts(self, webhook: AnyRow, envelopes: Iterable[Mapping[str, Any]]) -> list[Attempt]:
        """Send events in their order, until one fails or a moment has passed; at least the first."""
        secret = self._secrets.secret(webhook.id)
        requests = (_request(webhook.url, envelope, secret) for envelope in envelopes)
        try:
            return list(map(_attempt_of, self._net.send_in_order(requests, seconds=_MOMENT_SECONDS)))
        except NoAnswer as error:
            return [Attempt(None, f"No answer: {error}", 0.0)]

    def send_due(self, webhook_id: str, worker: str, *, is_ending: Callable[[], bool]) -> None:
        """Send what is due to a webhook that this worker has, until what is due is sent or others have their turn.

        Raises
        ------
        LeaseLost
            The webhook was deleted or taken away, or is not active any more.
        """
        turn_ends = time.monotonic() + _TURN_SECONDS
        while not is_ending() and time.monotonic() < turn_ends:
            with self._database.read() as connection:
                webhook = webhooks.of_worker(connection, webhook_id, worker)
                rows = webhooks.due(connection, webhook_id, now=self._now(), limit=_AT_ONCE)
            if webhook is None:
                raise LeaseLost
            if not rows:
                return
            count = self._send(webhook, worker, rows, self._numbers(webhook, worker, rows), is_ending)
            if count == len(rows) < _AT_ONCE:
                return  # what came meanwhile is sent with what is still to come

    def _numbers(self, webhook: AnyRow, worker: str, rows: Sequence[AnyRow]) -> dict[str, int]:
        """Return the `sequence` of each delivery; one that was never attempted gets the next, which it keeps."""
        numbers = {row.id: row.sequence for row in rows if row.sequence is not None}
        new = [row.id for row in rows if row.sequence is None]
        if new:
            with self._database.write() as connection:
                mine = webhooks.of_worker(connection, webhook.id, worker, keep=True)
                if mine is None:
                    raise LeaseLost
                numbers |= webhooks.number(connection, mine, new)
        return numbers

    def _send(
        self,
        webhook: AnyRow,
        worker: str,
        rows: Sequence[AnyRow],
        numbers: Mapping[str, int],
        is_ending: Callable[[], bool],
    ) -> int:
        """Send deliveries and keep what came of them: of many that are quick together, of a failure at once.

        Returns the number of those that were sent.
        """
        attempts: list[tuple[AnyRow, Attempt, int]] = []
        keep_at = time.monotonic() + _KEEP_SECONDS
        while len(attempts) < len(rows):
            left = rows[len(attempts) :]
            # unspecified: how a receiver knows that an event was overtaken. `sequence` counts the events of its webhook.
            sent = self._attempts(
                webhook, ({**events.envelope(row), "sequence": numbers[row.id]} for row in left)
            )
            ended_at = self._now()
            attempts += [(row, attempt, ended_at) for row, attempt in zip(left, sent, strict=False)]
            if sent[-1].problem is not None or time.monotonic() > keep_at or is_ending():
                break
            if not self._is_mine(webhook, worker):
                break
        with self._database.write() as connection:
            if webhooks.of_worker(connection, webhook.id, worker, keep=True) is None:
                # Nobody may write over what another worker does; the receiver knows the events by their ids.
                raise LeaseLost
            self._record(connection, webhook, attempts)
        return len(attempts)

    def _is_mine(self, webhook: AnyRow, worker: str) -> bool:
        with self._database.read() as connection:
            return webhooks.of_worker(connection, webhook.id, worker) is not None

    @staticmethod
    def _record(
        connection: Connection, webhook: AnyRow, attempts: Sequence[tuple[AnyRow, Attempt, int]]
    ) -> None:
        webhooks.record_delivered(
            connection,
            [
                (row.id, attempt.status_code, ended_at)
                for row, attempt, ended_at in attempts
                if attempt.problem is None
            ],
        )
        row, attempt, ended_at = attempts[-1]  # only the last may have failed
        if attempt.problem is None:
            return
        values: dict[str, Any] = {
            "attempts": row.attempts + 1,
            "attempted_at": ended_at,
            "status_code": attempt.status_code,
            "problem": attempt.problem,
        }
        due_at = next_attempt(row.attempts + 1, failed_at=ended_at)
        if due_at is not None:
            webhooks.record(connection, row.id, due_at=due_at, **values)
            return
        webhooks.record(connection, row.id, status="failed", **values)
        webhooks.set_status(connection, webhook.id, "failing")


def _request(url: str, envelope: Mapping[str, Any], secret: str) -> Request:
    body, headers = signed(envelope, secret)
    return Request("POST", url, headers=headers, content=body, seconds=ATTEMPT_SECONDS)


def _attempt_of(sent: Sent) -> Attempt:
    # unspecified: what response counts as a success. Any 2xx whose headers came in time; its body is of no interest.
    outcome = sent.outcome
    if isinstance(outcome, UnusableUrl):
        return Attempt(None, f"The URL {outcome}", sent.seconds)
    if isinstance(outcome, NoAnswer):
        return Attempt(None, f"No answer: {outcome}", sent.seconds)
    problem = None if sent.is_success else f"The receiver answered {outcome.status}"
    if 300 <= outcome.status < 400:
        problem = f"The receiver answered {outcome.status}: redirects are not followed"
    return Attempt(outcome.status, problem, sent.seconds)
